"""What is different from what is wanted, and in which order it is to be made so. Changes nothing."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.engine.target import Target
from agent.resources.kind import CannotBeSo, pausable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent.engine.target import Record
    from agent.host.port import Host
    from agent.resources.kind import State, Value
    from agent.spec import Key, Note, Specification, Want


class Action(enum.Enum):
    CREATE = "create"
    CHANGE = "change"
    RESTART = "restart"
    """It is as wanted, but something that it uses is not."""
    REMOVE = "remove"
    """It is no longer wanted, and was not there before wmcb."""
    GIVE_BACK = "give back"
    """It is no longer wanted, and was otherwise before wmcb."""


@dataclass(frozen=True, slots=True)
class Difference:
    field: str
    found: Value
    wanted: Value


@dataclass(frozen=True, slots=True)
class Change:
    action: Action
    target: Target
    found: State | None
    differences: tuple[Difference, ...] = ()
    before: State | None = None
    """Of one that is no longer wanted: how it was before wmcb."""


@dataclass(frozen=True, slots=True)
class Match:
    """As wanted."""

    target: Target
    found: State


@dataclass(frozen=True, slots=True)
class Plan:
    pauses: tuple[Target, ...]
    """What runs and has to be stopped first, in this order."""
    changes: tuple[Change, ...]
    """In this order. What is no longer wanted comes first: something else may be wanted in its place."""
    resumes: tuple[Target, ...]
    """What is given back and ran before wmcb: started last, when all that it uses is given back too."""
    unchanged: tuple[Match, ...]
    notes: tuple[Note, ...] = ()


def differences(target: Target, found: State | None, remembered: Record | None) -> tuple[Difference, ...]:
    """Of the wanted fields, those that are otherwise."""
    if found is None:
        return tuple(Difference(field, None, value) for field, value in target.wanted.items())
    return tuple(
        Difference(field, found.get(field), value)
        for field, value in target.wanted.items()
        if not _is_so(target, field, value, found, remembered)
    )


def _is_so(target: Target, field: str, value: Value, found: State, remembered: Record | None) -> bool:
    kind = target.kind
    now = found.get(field)
    if kind.same(field, value, now):
        return True
    if remembered is None or field in kind.firm or not kind.same(field, value, _asked(remembered, field)):
        return False
    return kind.same(field, remembered.settled.get(field), now)


def _asked(remembered: Record, field: str) -> Value:
    return remembered.target.wanted.get(field)


def plan(host: Host, specification: Specification, remembered: Mapping[Key, Record]) -> Plan:
    """Raises CannotBeSo for what stands in the way."""
    removals = list(_removals(host, specification, remembered))
    wanted = [_compared(host, want, remembered) for want in specification.wants]
    moving = {each.target.key for each in [*removals, *wanted] if isinstance(each, Change)}
    pauses = list(_pauses(wanted, remembered, moving))
    restarted = {target.key for target in pauses}
    wanted = [
        Change(Action.RESTART, each.target, each.found)
        if isinstance(each, Match) and each.target.key in restarted
        else each
        for each in wanted
    ]
    return Plan(
        (*_active(removals, lambda change: change.found), *reversed(pauses)),
        (*removals, *(each for each in wanted if isinstance(each, Change))),
        tuple(_active(removals, lambda change: change.before)),
        tuple(each for each in wanted if isinstance(each, Match)),
        specification.notes,
    )


def _compared(host: Host, want: Want, remembered: Mapping[Key, Record]) -> Change | Match:
    target = Target.of(want)
    found = target.observe(host)
    if obstacle := target.kind.obstacle(want, found):
        raise CannotBeSo(obstacle)
    different = differences(target, found, remembered.get(target.key))
    if found is None:
        return Change(Action.CREATE, target, None, different)
    return Change(Action.CHANGE, target, found, different) if different else Match(target, found)


def _removals(host: Host, specification: Specification, remembered: Mapping[Key, Record]) -> Iterator[Change]:
    wanted = specification.by_key()
    for key, record in reversed(list(remembered.items())):
        if key not in wanted:
            action = Action.REMOVE if record.before is None else Action.GIVE_BACK
            yield Change(action, record.target, record.target.observe(host), before=record.before)


def _active(changes: Sequence[Change], state: Callable[[Change], State | None]) -> Iterator[Target]:
    for change in changes:
        kind, of = pausable(change.target.kind), state(change)
        if kind is not None and of is not None and kind.is_active(of):
            yield change.target


def _pauses(
    wanted: Sequence[Change | Match], remembered: Mapping[Key, Record], moving: set[Key]
) -> Iterator[Target]:
    """What runs and would notice. Each comes after what it uses, and what pauses is noticed in turn."""
    moving = set(moving)
    for each in wanted:
        kind = pausable(each.target.kind)
        if kind is None or each.found is None or not kind.is_active(each.found):
            continue
        key = each.target.key
        uses = {*each.target.uses, *(remembered[key].target.uses if key in remembered else ())}
        fields = [] if isinstance(each, Match) else [one.field for one in each.differences]
        if kind.disturbed(fields) or not uses.isdisjoint(moving):
            moving.add(key)
            yield each.target
