"""What is different from what is wanted, and in which order it is to be made so. Changes nothing."""

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from agent.engine.target import Record, Target, seen_at_once
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources.kind import CannotBeSo, State, Value, pausable
from agent.spec import Key, Note, Specification, Want

_MOST_TOLD = 10


class Action(enum.Enum):
    CREATE = "create"
    CHANGE = "change"
    RESTART = "restart"
    """It is as wanted, but something that it uses is not."""
    REMOVE = "remove"
    """It is no longer wanted, and was not there before wmcb; or it has done its duty."""
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

    @property
    def is_over(self) -> bool:
        """Asked for, but it has done its duty."""
        return self.action is Action.REMOVE and self.target.want is not None


@dataclass(frozen=True, slots=True)
class Match:
    """As wanted."""

    target: Target
    found: State | None
    """None where it has done its duty and is gone."""

    @property
    def is_over(self) -> bool:
        return self.found is None


@dataclass(frozen=True, slots=True)
class Plan:
    pauses: tuple[Target, ...]
    """What must not run meanwhile, in the order in which it is stopped, should it run."""
    changes: tuple[Change, ...]
    """In this order. What is no longer wanted comes first: something else may be wanted in its place."""
    resumes: tuple[Change, ...]
    """Started last, when all that it uses is as it is to be: what is given back and ran before wmcb, and what
    is another part's and lives by what changes."""
    unchanged: tuple[Match, ...]
    notes: tuple[Note, ...] = ()
    stays: Mapping[Key, str] = field(default_factory=dict)
    """Of what was to go: what nobody can look at just now, or could not take back, and why. It stays
    remembered."""


def together(plans: Sequence[Plan]) -> Plan:
    """Of several runs, one after the other. What one changes is not told as unchanged by another."""
    changes = [change for plan in plans for change in plan.changes]
    changed = {change.target.key for change in changes}
    same = {match.target.key: match for plan in plans for match in plan.unchanged}
    # Seen from here, each would create a folder that several want.
    created = {each.target.key: each for each in reversed(changes) if each.action is Action.CREATE}
    return Plan(
        tuple(target for plan in plans for target in plan.pauses),
        tuple(each for each in changes if created.get(each.target.key, each) is each),
        tuple(change for plan in plans for change in plan.resumes),
        tuple(match for key, match in same.items() if key not in changed),
        tuple(note for plan in plans for note in plan.notes),
        {key: why for plan in plans for key, why in plan.stays.items()},
    )


def differences(target: Target, found: State | None, remembered: Record | None) -> tuple[Difference, ...]:
    """Of the wanted fields, those that are seen to be otherwise."""
    if found is None:
        return tuple(Difference(field, None, value) for field, value in target.wanted.items())
    hidden = target.kind.hidden(found)
    return tuple(each for each in _apparent(target, found, remembered) if each.field not in hidden)


def hidden_fields(target: Target, found: State, remembered: Record | None) -> Sequence[str]:
    """Those that seem to be otherwise to whoever may not see them."""
    hidden = target.kind.hidden(found)
    return [each.field for each in _apparent(target, found, remembered) if each.field in hidden]


def _apparent(target: Target, found: State, remembered: Record | None) -> Iterator[Difference]:
    for name, value in target.wanted.items():
        if not _is_so(target, name, value, found, remembered):
            yield Difference(name, found.get(name), value)


def _is_so(target: Target, field: str, value: Value, found: State, remembered: Record | None) -> bool:
    kind = target.kind
    now = found.get(field)
    if kind.same(field, value, now):
        return True
    if remembered is None or field in kind.firm:
        return False
    asked, settled = remembered.target.wanted.get(field), (remembered.settled or {}).get(field)
    return kind.same(field, value, asked) and kind.same(field, settled, now)


def plan(
    host: Host,
    specification: Specification,
    remembered: Mapping[Key, Record],
    seen: Mapping[Key, State | None] = {},
    others: Mapping[Key, Record] = {},
    stopped: Collection[Key] = (),
) -> Plan:
    """`seen` has been looked at just now, and is not again. Raises CannotBeSo for what stands in the way.

    Of the `others` nothing is changed; what runs of them and uses what changes is stopped meanwhile.
    `stopped` has been already, by the run that this one goes on from.
    """
    seen = {**seen_at_once(host, {*specification.by_key(), *remembered}), **seen}
    comparing = _Comparing(host, specification, remembered, seen)
    removals = list(comparing.removals())
    wanted = list(comparing.all_compared({removal.target.key.name.upper() for removal in removals}))
    moving = {each.target.key for each in [*removals, *wanted] if _moves(each, remembered)}
    disturbed = list(disturbed_by(wanted, remembered, moving))
    restarted = {each.target.key for each in disturbed if _is_active(each.target, each.found)}
    going = [removal.target for removal in removals if _is_active(removal.target, removal.found)]
    moving.update(each.target.key for each in disturbed)
    meanwhile = list(_users_beside(host, others, moving, stopped))
    pauses = [
        *(each.target for each in reversed(meanwhile)),
        *going,
        *(each.target for each in reversed(disturbed)),
    ]
    wanted = [
        Change(Action.RESTART, each.target, each.found)
        if isinstance(each, Match) and each.target.key in restarted
        else each
        for each in wanted
    ]
    return Plan(
        tuple(users_first(pauses, remembered)),
        (*removals, *(each for each in wanted if isinstance(each, Change))),
        (*(removal for removal in removals if _is_active(removal.target, removal.before)), *meanwhile),
        tuple(each for each in wanted if isinstance(each, Match)),
        specification.notes,
    )


@dataclass(frozen=True, slots=True)
class _Comparing:
    """A specification, with what is remembered and with how the machine is."""

    host: Host
    specification: Specification
    remembered: Mapping[Key, Record]
    seen: Mapping[Key, State | None]

    def all_compared(self, freed: AbstractSet[str]) -> Iterator[Change | Match]:
        """Raises CannotBeSo for all that stands in the way at once: whoever clears it need not come again."""
        obstacles: dict[Key, str] = {}
        for want in self.specification.wants:
            try:
                compared = self._compared(want, freed)
            except CannotBeSo as obstacle:
                obstacles[want.key] = str(obstacle)
            except HostError:
                if not obstacles:
                    raise
                # It may lie below what stands in the way.
            else:
                yield compared
        if obstacles:
            more = len(obstacles) - _MOST_TOLD
            told = [*list(obstacles.values())[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else ())]
            raise CannotBeSo("; ".join(told), obstacles)

    def _compared(self, want: Want, freed: AbstractSet[str]) -> Change | Match:
        """`freed` are the names of what goes first, and with it perhaps what stands in the way."""
        target, known = Target.of(want), self.remembered.get(want.key)
        found = self._found(target)
        is_over = _was_made(known) and target.kind.is_over(self.host, target.manner)
        if (is_over and found is None) or (known is not None and known.is_to_come(found)):
            return Match(target, None)
        if obstacle := target.kind.obstacle(want, found):
            if want.key.name.upper() not in freed:
                raise CannotBeSo(obstacle)
            found = None
        if is_over and found is not None:
            return Change(Action.REMOVE, target, found)
        different = differences(target, found, known)
        if found is None:
            return Change(Action.CREATE, target, None, different)
        return Change(Action.CHANGE, target, found, different) if different else Match(target, found)

    def removals(self) -> Iterator[Change]:
        wanted = self.specification.by_key()
        for key, record in reversed(list(self.remembered.items())):
            if key in wanted:
                continue
            found = self._found(record.target)
            if found is None and record.settled is None and record.before is None:
                continue  # it has done its duty, and nobody would notice
            action = Action.REMOVE if record.before is None else Action.GIVE_BACK
            yield Change(action, record.target, found, before=record.before)

    def _found(self, target: Target) -> State | None:
        return self.seen[target.key] if target.key in self.seen else target.observe(self.host)


def _was_made(known: Record | None) -> bool:
    """In a run that came to its end.

    Before that nothing has done its duty: what says so may be a leftover of somebody else's, or of a run that
    was cut off.
    """
    return known is not None and known.settled != {}


def _moves(each: Change | Match, remembered: Mapping[Key, Record]) -> bool:
    """Whether who uses it would notice: not a mere descriptor, but also what somebody else has exchanged."""
    firm = each.target.kind.firm
    if each.is_over:
        return False
    if isinstance(each, Change):
        return (
            each.found is None or not each.differences or any(one.field in firm for one in each.differences)
        )
    known = remembered.get(each.target.key)
    return known is not None and any(
        (known.settled or {}).get(field) != (each.found or {}).get(field) for field in firm
    )


def _is_active(target: Target, state: State | None) -> bool:
    kind = pausable(target.kind)
    return kind is not None and state is not None and kind.is_active(state)


def disturbed_by(
    wanted: Sequence[Change | Match], remembered: Mapping[Key, Record], moving: AbstractSet[Key]
) -> Iterator[Change | Match]:
    """What is there, can run, and would notice. Each comes after what it uses, and is noticed in turn.

    Also what does not run just now: Windows may be about to start it again.
    """
    moving = set(moving)
    for each in wanted:
        kind = pausable(each.target.kind)
        if kind is None or each.found is None:
            continue
        fields = [] if isinstance(each, Match) else [one.field for one in each.differences]
        if kind.disturbed(fields) or not _uses(each.target, remembered).isdisjoint(moving):
            moving.add(each.target.key)
            yield each


def _users_beside(
    host: Host, others: Mapping[Key, Record], moving: AbstractSet[Key], stopped: Collection[Key]
) -> Iterator[Change]:
    """What is to run and lives by what changes, or by others that do; each after what it uses.

    Also what does not run just now, as above.
    """
    moving = {*moving, *stopped}
    left = [record for record in others.values() if pausable(record.target.kind) is not None]
    while users := [each for each in left if not moving.isdisjoint({each.target.key, *each.target.uses})]:
        for record in users:
            left.remove(record)
            moving.add(record.target.key)
            found = record.target.observe(host)
            before = found if _is_active(record.target, found) else record.settled
            if found is not None and _is_active(record.target, before):
                yield Change(Action.RESTART, record.target, found, before=before)


def _uses(target: Target, remembered: Mapping[Key, Record]) -> AbstractSet[Key]:
    """Now, and as it was made last."""
    known = remembered.get(target.key)
    return {*target.uses, *(known.target.uses if known else ())}


def users_first(targets: Sequence[Target], remembered: Mapping[Key, Record]) -> Iterator[Target]:
    """Windows stops nothing that something else needs which still runs."""
    left = list(targets)
    while left:
        needed = {key for target in left for key in _uses(target, remembered) if key != target.key}
        free = next((target for target in left if target.key not in needed), left[0])
        left.remove(free)
        yield free
