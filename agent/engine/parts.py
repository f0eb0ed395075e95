"""Whose is what of all that wmcb put on a machine.

Bootstrap, join and user data make the node's own part; what else says how a machine is to be, as a ConfigMap
does, has a part of its own. A run is about one of them: what that wanted before and does not want now goes,
and all else stays.

Two parts may want the same resource, but not the same otherwise: the one that wanted it first has the say.
When that wants it no more it is left to the next, as it is, so that nothing that runs notices.

What a machine was prepared with before it was a node yields: it is a beginning, and whoever knows the node
may want it otherwise. A kubelet.exe is upgraded; a ConfigMap changes what a file on the machine said first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent.engine.inventory import Inventory, Origin
from agent.engine.journal import Journal
from agent.engine.planning import Action, Change, Match, Plan, differences
from agent.engine.target import NODE, Record, Target
from agent.host.port import Host
from agent.resources.directory import ClosedFolder, closed_folder, confined, confined_state
from agent.resources.kind import CannotBeSo, State, field_in_words
from agent.spec import Directory, File, Key, Specification, Want

PREPARED = "prepared"
"""What every node needs, put on a machine or an image."""
CONFIGURED = "configured"
"""What a NodeConfiguration says that somebody gave on the machine."""
OF_OPERATOR = "services"
"""What the ConfigMap of OpenShift's operator wants."""
FOLLOWED = "followed"
"""What the ConfigMap wants that the resident service follows."""
ROUTED = "routed"
"""What comes of the cluster's Nodes: the pods' network, and the routes to those of other nodes."""
AUDITED = "audit"
"""What an audit put right that nobody here had made."""
LASTING = (PREPARED, CONFIGURED)
"""They are of a machine, and stay when it is no node any more."""
_YIELDING = (AUDITED, *LASTING)
"""Each to those after it, and to all others."""


_DESCRIPTOR = "descriptor"
_SAY_WHAT_IS_IN_FILES = frozenset({"credentials", "certificates", "containerd_configuration"})
"""By their names, so that none is loaded for this. A file's content beside one of them would be no other
resource: what the kubelet was admitted with would be gone, or two would change one file for ever.
"""


def is_somebodys(part: str) -> bool:
    """Whether a person makes it, who finishes what was cut off, or has it taken back."""
    return part in (NODE, *LASTING)


class Taken(CannotBeSo):
    """Another part wanted it first, and otherwise."""

    def __init__(self, key: Key, holder: str, fields: tuple[str, ...]) -> None:
        otherwise = f" ({', '.join(fields)})" if fields else ""
        text = (
            f"{key} is wanted otherwise{otherwise} than by {holder}, which made it; only that can change it"
        )
        super().__init__(text, {key: text})


@dataclass(frozen=True, slots=True)
class Scope:
    """Which parts a run is about."""

    part: str | None
    """None for all parts."""
    beside: bool
    """What is not wanted of the part's own stays, too."""
    but: Collection[str]
    """Of a run about all parts: these stay."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a run is about."""

    specification: Specification
    """To be made so: without what is another part's already."""
    remembered: Mapping[Key, Record]
    """Of these, what is not wanted goes."""
    others: Mapping[Key, Record]
    """These stay."""
    confined: Mapping[Key, Record] = field(default_factory=dict)
    """Of the others, files that a folder of this run closes further than they asked for."""


def remembered(inventory: Inventory, journal: Journal | None) -> Mapping[Key, Record]:
    """Ours, with what an interrupted run may have made: it is wanted, or it goes."""
    records = dict(inventory.records)
    manners = {step.key: step.manner for step in journal.steps} if journal else {}
    for key, before in journal.first_before().items() if journal else ():
        target = Target(key, {}, manners[key], ())
        records.setdefault(key, Record(target, before, {}, (journal.part,) if journal else (NODE,)))
    return records


def share(
    host: Host,
    specification: Specification,
    inventory: Inventory,
    records: Mapping[Key, Record],
    scope: Scope,
) -> Share:
    """A run's, out of all `records`. Raises Taken."""
    part, beside = scope.part, scope.beside
    lefts = {
        key: tuple(each for each in record.parts if (each in scope.but if part is None else each != part))
        for key, record in records.items()
    }
    wanted = specification.by_key()
    staying = [
        record
        for key, record in records.items()
        if (beside or lefts[key]) and not _is_replaced(wanted.get(key), record, scope)
    ]
    folders = _closed_folders(specification, staying)
    if folders:
        wants = tuple(confined(want, folders) for want in specification.wants)
        specification = replace(specification, wants=wants)
        wanted = specification.by_key()
    mine, others, met = {}, {}, set()
    for key, record in records.items():
        want, left = wanted.get(key), lefts[key]
        if want is None and (beside or left):
            others[key] = record if beside else replace(record, parts=left)
        elif want is None or _is_replaced(want, record, scope):
            mine[key] = record
        elif _gives_way(want, record, scope):
            others[key] = record if part in record.parts else replace(record, parts=(*left, str(part)))
            met.add(key)
        else:
            _check(host, want, record, inventory, str(part))
            others[key] = replace(record, parts=(*left, str(part)))
            met.add(key)
    if part is not None:
        _refuse_anothers_files(specification, others, inventory, part)
    wants = tuple(want for want in specification.wants if want.key not in met)
    changed = dict(_confined(others, folders))
    return Share(replace(specification, wants=wants), mine, {**others, **changed}, changed)


def _closed_folders(specification: Specification, staying: Iterable[Record]) -> Sequence[ClosedFolder]:
    """Return those that there are when this has been made: its own, and those that stay."""
    own = (Target.of(want) for want in specification.wants if isinstance(want, Directory))
    targets = (*own, *(record.target for record in staying))
    found = (closed_folder(target.key, target.wanted) for target in targets)
    return [folder for folder in found if folder is not None]


def _is_replaced(want: Want | None, record: Record, scope: Scope) -> bool:
    """Return whether a run of this scope makes it in place of what is remembered."""
    if want is None or _gives_way(want, record, scope):
        return False
    return scope.part in (None, record.parts[0]) or _yields(record.parts[0], str(scope.part))


def _gives_way(want: Want, record: Record, scope: Scope) -> bool:
    """Return whether it goes by what is there, as a shared folder, and another run has made that its own."""
    if not scope.beside and record.parts[0] == scope.part:
        return False
    target = Target.of(want)
    return target.kind.is_content(target.manner) and not target.kind.is_content(record.target.manner)


def _confined(others: Mapping[Key, Record], folders: Sequence[ClosedFolder]) -> Iterator[tuple[Key, Record]]:
    for key, record in others.items():
        wanted = confined_state(key, record.target.wanted, folders)
        if wanted != record.target.wanted:
            yield key, replace(record, target=replace(record.target, wanted=wanted))


def confining(host: Host, mine: Share) -> Iterator[Change]:
    """Of other parts' files the descriptor alone: what a folder of this run makes of it."""
    for record in mine.confined.values():
        target, found = record.target, record.target.observe(host)
        different = differences(target, found, None) if found else ()
        if found is not None and (mere := tuple(one for one in different if one.field == _DESCRIPTOR)):
            before = {**found, _DESCRIPTOR: target.wanted[_DESCRIPTOR]}
            yield Change(Action.CHANGE, target, found, mere, before=before)


def as_confined(host: Host, mine: Share) -> Share:
    """Remember these files as this run has left them."""
    found = {key: record.target.observe(host) or {} for key, record in mine.confined.items()}
    settled = {
        key: replace(record, settled={**(record.settled or {}), _DESCRIPTOR: found[key].get(_DESCRIPTOR)})
        for key, record in mine.confined.items()
        if record.settled is not None
    }
    return replace(mine, others={**mine.others, **settled})


def _refuse_anothers_files(
    specification: Specification, others: Mapping[Key, Record], inventory: Inventory, part: str
) -> None:
    foreign = {key: record for key, record in others.items() if part not in record.parts}
    inside = {PureWindowsPath(key.name): key for key in foreign if key.kind in _SAY_WHAT_IS_IN_FILES}
    files = {
        PureWindowsPath(key.name): key
        for key, record in foreign.items()
        if key.kind == File.kind and "sha256" in record.target.wanted
    }
    for want in specification.wants:
        # One whose content nobody gives, as an audit's, is only closed to others.
        if inside and isinstance(want, File) and want.content is not None:
            there = next((inside[each] for each in (want.path, *want.path.parents) if each in inside), None)
        elif files and want.key.kind in _SAY_WHAT_IS_IN_FILES:
            path = PureWindowsPath(want.key.name)
            there = next((key for each, key in files.items() if path in (each, *each.parents)), None)
        else:
            continue
        if there is not None:
            raise Taken(want.key, _holder(inventory, foreign[there].parts[0]), ())


def wanting(target: Target, known: Record | None, part: str) -> tuple[str, ...]:
    """The parts of what a run about `part` has made as that wants it."""
    if known is None:
        return (part,)
    if part in known.parts and target.wanted == known.target.wanted:
        return known.parts
    # Who wanted it as well, as it was, learns in a run of his own that it is another now; who gave way has it
    # again when nobody else does.
    return (part, *(each for each in known.parts if each != part and _yields(each, part)))


def _yields(part: str, other: str) -> bool:
    return part in _YIELDING and other not in _YIELDING[: _YIELDING.index(part) + 1]


def _is_content(host: Host, target: Target, known: Target, part: str) -> bool:
    """Also with what the other does not care about, and is found so."""
    if target.kind.is_content(target.manner):
        return True
    # How it goes one day is the node's matter, for what was there before it.
    if part != PREPARED and _besides(target.manner, target) != _besides(known.manner, target):
        return False
    found = target.observe(host) or {} if set(target.wanted) - set(known.wanted) else {}
    there = {**found, **known.wanted}
    return all(target.kind.same(field, value, there.get(field)) for field, value in target.wanted.items())


def _besides(manner: State, target: Target) -> State:
    return {name: value for name, value in manner.items() if name not in target.wanted}


def _check(host: Host, want: Want, record: Record, inventory: Inventory, part: str) -> None:
    target, known = Target.of(want), record.target
    if _is_content(host, target, known, part):
        return
    fields = {*target.wanted, *known.wanted}
    different = sorted(field for field in fields if target.wanted.get(field) != known.wanted.get(field))
    holder = _holder(inventory, record.parts[0])
    raise Taken(want.key, holder, tuple(map(field_in_words, different)))


def _holder(inventory: Inventory, part: str) -> str:
    return inventory.origin_of(part).title or "what made this machine a node"


def origins_of_run(
    inventory: Inventory, specification: Specification, recipe: str, command: str, scope: Scope
) -> Mapping[str, Origin]:
    """Of what is on the machine when this has been made so."""
    part = scope.part
    if part is None:
        return {name: origin for name, origin in inventory.origins.items() if name in scope.but}
    before = inventory.origin_of(part) if scope.beside else Origin()
    title, command = specification.title or before.title, command or (before.command if part == NODE else "")
    others = {name: origin for name, origin in inventory.origins.items() if name != part}
    return {**others, part: Origin(title, recipe, command)} if part == NODE or title or recipe else others


def are_known(origins: Mapping[str, Origin], inventory: Inventory) -> bool:
    """As far as they say something."""
    return len(origins) >= len(inventory.origins) and all(
        origin.title in ("", inventory.origin_of(part).title)
        and origin.recipe in ("", inventory.recipe_of(part))
        and origin.command in ("", inventory.origin_of(part).command)
        for part, origin in origins.items()
    )


def with_others(
    mine: Share, records: Mapping[Key, Record], remembered: Mapping[Key, Record]
) -> dict[Key, Record]:
    """In the order in which they were made first: what is used comes before what uses it."""
    together = {**mine.others, **records}
    return {key: together[key] for key in (*remembered, *records) if key in together}


def records_of_run(
    host: Host,
    mine: Share,
    planned: Plan,
    settled: Mapping[Key, State | None],
    inventory: Inventory,
    first_before: Mapping[Key, State | None],
    part: str | None,
) -> dict[Key, Record]:
    """What is remembered of a run's resources once they are made: those of other parts are not among them."""
    looked_at: dict[Key, Change | Match] = {match.target.key: match for match in planned.unchanged}
    looked_at |= {change.target.key: change for change in planned.changes}
    records = {}
    for want in mine.specification.wants:
        key = want.key
        target, found = looked_at[key].target, looked_at[key].found
        known, now = inventory.records.get(key), settled.get(key, found)
        if target.kind.comes_later:
            now = target.observe(host)
        if known and now is None and known.target.kind.is_over(host, known.target.manner):
            records[key] = known  # whatever it would have to be now, it is not needed any more
        else:
            before = known.before if known else first_before.get(key, now)
            records[key] = Record(target, before, now, wanting(target, known, part or NODE))
    return records
