"""What was made, made so again where somebody has changed it: by memory, not by the documents it came from.

The steps are those of any run, and stand in the same journal while they are done. Nothing of them is taken
back: they lead to how things were when a run had ended well. What cannot be repaired stays, and is told.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent.engine.inventory import Inventory, read_state
from agent.engine.journal import Journal, unfinished
from agent.engine.machine_lock import give_way, held_by_service, is_awaited
from agent.engine.making import Making
from agent.engine.planning import (
    Action,
    Change,
    Difference,
    Match,
    Plan,
    differences,
    disturbed_by,
    users_first,
)
from agent.engine.progress import Progress
from agent.engine.run import Unfinished
from agent.engine.state_folder import StateFolder
from agent.engine.target import Record, Target, seen_at_once
from agent.engine.undoing import clean_up, secured_state
from agent.hashing import new_sha256
from agent.host.errors import AlreadyExists, HostError, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo, NotWell, State, pausable
from agent.spec import Key

_OF_HEALTH = frozenset({"well", "makes"})
"""What a program has to show in its own time: whoever supervises it asks for that."""
_STATE = "state"
_CONTENT = "sha256"
_ON_THE_WAY = ("START_PENDING", "STOP_PENDING", "CONTINUE_PENDING", "PAUSE_PENDING")
"""Somebody's start or stop, Windows' own recovery among them: how it ends is still to be seen."""

_LARGEST_MADE = 1 << 20
_BATCH = 8


@dataclass(frozen=True, slots=True)
class Drift:
    """A resource that is not as it was made."""

    key: Key
    fields: tuple[str, ...]
    """In which; never their values, which may be secret."""
    is_missing: bool = False

    @property
    def has_stopped(self) -> bool:
        """And nothing else is the matter with it."""
        return self.fields == (_STATE,)


@dataclass(frozen=True, slots=True)
class Found:
    drifts: tuple[Drift, ...] = ()
    unseen: Mapping[Key, str] = field(default_factory=dict)
    """What could not be looked at, and why."""


@dataclass(frozen=True, slots=True)
class Repaired:
    left: tuple[Drift, ...] = ()
    """What still is not as it was made."""
    trouble: tuple[str, ...] = ()
    """A line for each step that failed."""
    restarted: Collection[Key] = frozenset()
    """What was stopped and has been started again."""
    postponed: Collection[Key] = frozenset()
    """What had no step, since the repair was to end before."""


def drifted(host: Host, keys: Collection[Key] | None = None) -> Found:
    """What is not as it was made, of all or of these. Changes nothing. Raises CannotBeSo, HostError."""
    look = _Look(host, read_state(host)[1].records, keys)
    return Found(tuple(look.drifts()), look.unseen)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a repair would do now."""

    plan: Plan
    left: tuple[Drift, ...]
    """What it could not put right."""


def outlook(host: Host, keys: Collection[Key] | None = None) -> Outlook:
    """Of all or of these. Changes nothing. Raises CannotBeSo, HostError."""
    folder, inventory = read_state(host)
    records = inventory.records
    drifts = tuple(_Look(host, records, keys).drifts())
    planned = _planned(host, folder, records, {drift.key for drift in drifts}, (), gives_way=False)
    reached = {change.target.key for change in (*planned.changes, *planned.resumes)}
    return Outlook(planned, tuple(drift for drift in drifts if drift.key not in reached))


def repair(
    host: Host,
    progress: Progress,
    keys: Collection[Key],
    *,
    restart: Collection[Key] = (),
    is_ending: Callable[[], bool] = lambda: False,
) -> Repaired:
    """Makes these as they were made, and starts what was to run; what must not run meanwhile is stopped.

    `restart` are services that are stopped and started whatever their state. Starts are not waited for: how
    they go is seen by whoever watches. Once `is_ending`, or a command waits for the machine, no more is begun
    than to start what was stopped.

    Raises Busy, Unfinished, CannotBeSo and HostError before anything is changed.
    """
    with held_by_service(host):
        folder, inventory = secured_state(host)
        if unfinished(folder, inventory) is not None:
            raise Unfinished(f"a run was interrupted: run it again to finish it, or {host.called} --rollback")
        planned = _planned(host, folder, inventory.records, keys, restart, gives_way=True)
        if not (planned.changes or planned.resumes):
            return Repaired(tuple(_Look(host, inventory.records, keys).drifts()))
        folder.ensure()
        journal = Journal.begin(folder, repairs=True)
        making = Making(host, folder, journal, progress)
        repairing = _Repairing(host, folder, making, lambda: is_ending() or is_awaited(host))
        try:
            repairing.carry_out(planned)
            postponed = frozenset(repairing.postponed)
            again = _Look(host, inventory.records, {*keys} - postponed)
            trouble = (*repairing.trouble, *(f"{key}: {why}" for key, why in again.unseen.items()))
            return Repaired(tuple(again.drifts()), trouble, frozenset(repairing.restarted), postponed)
        finally:
            clean_up(host, folder, inventory, journal)


class _Look:
    """At resources of ours, in the order in which they were made."""

    def __init__(
        self,
        host: Host,
        records: Mapping[Key, Record],
        keys: Collection[Key] | None = None,
        *,
        gives_way: bool = False,
    ) -> None:
        """`gives_way`: raise Busy as soon as a command waits, since each answer may take Windows long."""
        self._host = host
        self._gives_way = gives_way
        self.unseen: dict[Key, str] = {}
        chosen = [
            record
            for key, record in records.items()
            if (keys is None or key in keys) and not record.is_leaving
        ]
        self._seen = seen_at_once(host, [record.target.key for record in chosen])
        self.compared = list(self._compared(chosen))

    def drifts(self) -> Iterator[Drift]:
        for each in self.compared:
            if isinstance(each, Change):
                fields = tuple(one.field for one in each.differences)
                yield Drift(each.target.key, fields, each.found is None)

    def _compared(self, records: Sequence[Record]) -> Iterator[Change | Match]:
        for record in map(_without_health, records):
            if record.settled is None or not record.target.wanted:
                continue  # it has done its duty, or is a program's own
            if self._gives_way:
                give_way(self._host)
            try:
                each = self._compare(record, record.settled)
            except (HostError, CannotBeSo) as fault:
                self.unseen[record.target.key] = str(fault)
            else:
                if each is not None:
                    yield each

    def _compare(self, record: Record, settled: State) -> Change | Match | None:
        target, goal = record.target, {**settled, **record.target.wanted}
        key = target.key
        found = self._seen[key] if key in self._seen else target.observe(self._host)
        if found is None and target.kind.is_over(self._host, target.manner):
            return None
        different = tuple(one for one in differences(target, found, record) if not _is_on_the_way(one))
        if found is None:
            return Change(Action.CREATE, target, None, different, before=goal)
        if different:
            return Change(Action.CHANGE, target, found, different, before=goal)
        return Match(target, found)


def _without_health(record: Record) -> Record:
    target = replace(record.target, wanted=_but_health(record.target.wanted))
    return replace(record, target=target, settled=record.settled and _but_health(record.settled))


def _but_health(state: State) -> State:
    return {field: value for field, value in state.items() if field not in _OF_HEALTH}


def _is_on_the_way(different: Difference) -> bool:
    return different.field == _STATE and different.found in _ON_THE_WAY


def _planned(
    host: Host,
    folder: StateFolder,
    records: Mapping[Key, Record],
    keys: Collection[Key],
    restart: Collection[Key],
    *,
    gives_way: bool,
) -> Plan:
    services = {key for key in records if pausable(kind_named(key.kind))}
    compared = _Look(host, records, {*keys, *restart, *services}, gives_way=gives_way).compared
    # What has changed of others is not to be repaired now, as far as anybody has said.
    compared = [
        _within_reach(host, folder, each) if each.target.key in keys else Match(each.target, each.found)
        for each in compared
    ]
    drifted = [each for each in compared if isinstance(each, Change)]
    disturbed = {each.target.key for each in disturbed_by(compared, records, set(_moving(drifted)))}
    stopped_first = [
        each.target
        for each in reversed(compared)
        if each.target.key in disturbed or each.target.key in restart or _is_stuck(each)
    ]
    in_order = users_first(stopped_first, records)
    pauses = tuple(_hurried(target) if target.key in restart else target for target in in_order)
    touched = {target.key for target in pauses}
    changes = [
        each
        if isinstance(each, Change)
        # What would not stop was ended, and had to lose its settings for failures first.
        else Change(Action.RESTART, each.target, each.found, before=each.found)
        for each in compared
        if each.target.key in touched or (isinstance(each, Change) and _has_changed(each))
    ]
    starts = tuple(
        Change(Action.RESTART, each.target, each.found)
        for each in compared
        if each.target.key in services and (each.target.key in touched or isinstance(each, Change))
    )
    return Plan(pauses, tuple(changes), starts, ())


def _within_reach(host: Host, folder: StateFolder, each: Change | Match) -> Change | Match:
    """As much of it as can be done: a content that is not at hand stays as it is, and stops nobody."""
    if isinstance(each, Match) or each.before is None or (content := each.before.get(_CONTENT)) is None:
        return each
    now = (each.found or {}).get(_CONTENT)
    if content == now or _is_at_hand(host, folder, str(content)):
        return each
    left = tuple(one for one in each.differences if one.field != _CONTENT)
    if now is None or not left:
        return Match(each.target, each.found)
    return replace(each, differences=left, before={**each.before, _CONTENT: now})


def _hurried(target: Target) -> Target:
    kind = pausable(target.kind)
    return target if kind is None else replace(target, manner=kind.hurried(target.manner))


def _has_changed(change: Change) -> bool:
    return change.found is None or any(one.field != _STATE for one in change.differences)


def _moving(changes: Sequence[Change]) -> Iterator[Key]:
    """What its users would notice: not a mere descriptor, nor that a service stopped."""
    for change in changes:
        firm = change.target.kind.firm - {_STATE}
        if change.found is None or any(one.field in firm for one in change.differences):
            yield change.target.key


def _is_stuck(each: Change | Match) -> bool:
    """It is to run, and is neither up nor down: paused, say."""
    kind = pausable(each.target.kind)
    is_other = isinstance(each, Change) and any(one.field == _STATE for one in each.differences)
    return is_other and kind is not None and each.found is not None and kind.is_active(each.found)


class _Repairing:
    """Trouble with one step keeps no other from being done."""

    def __init__(
        self, host: Host, folder: StateFolder, making: Making, is_to_end: Callable[[], bool]
    ) -> None:
        self._host = host
        self._folder = folder
        self._making = making
        self._is_to_end = is_to_end
        self._has_ended = False
        self._trouble: list[str] = []
        self._stopped: set[Key] = set()
        """What may have been stopped here, also where that had to be forced."""
        self.restarted: set[Key] = set()
        self.postponed: set[Key] = set()

    @property
    def trouble(self) -> Sequence[str]:
        return (*self._trouble, *self._making.left)

    def carry_out(self, planned: Plan) -> None:
        for target in planned.pauses:
            if self._may_begin(target):
                self._stopped.add(target.key)
                if self._attempt(target, Plan((target,), (), (), ())):
                    self.restarted.add(target.key)
        for change in planned.changes:
            if self._may_begin(change.target) and (possible := self._possible(change)) is not None:
                self._attempt(change.target, Plan((), (possible,), (), ()))
        for start in planned.resumes:
            if start.target.key in self._stopped or self._may_begin(start.target):
                self._start(start.target)

    def _may_begin(self, target: Target) -> bool:
        """Once it is to end it stays so: nothing may be changed that was not stopped for it."""
        self._has_ended = self._has_ended or self._is_to_end()
        if self._has_ended:
            self.postponed.add(target.key)
        return not self._has_ended

    def _attempt(self, target: Target, plan: Plan) -> bool:
        remarks = len(self._making.left)
        try:
            self._making.carry_out(plan)
        except (HostError, CannotBeSo, NotWell) as fault:
            self._trouble.append(f"{target.key}: {fault}")
            return False
        return len(self._making.left) == remarks

    def _start(self, target: Target) -> None:
        kind, found = pausable(target.kind), target.observe(self._host)
        if kind is not None and found is not None and target.wanted.get(_STATE) and not kind.is_active(found):
            # As it is found: a start that was not running before is not waited for.
            start = Change(Action.RESTART, target, found, before=found)
            if not self._attempt(target, Plan((), (), (start,), ())):
                self.restarted.discard(target.key)

    def _possible(self, change: Change) -> Change | None:
        """None where the content that was at hand cannot be lent any more."""
        assert change.before is not None
        content, now = change.before.get(_CONTENT), (change.found or {}).get(_CONTENT)
        if content in (None, now) or self._lend(str(content)):
            return change
        self._trouble.append(f"{change.target.key}: what it held is not at hand")
        return None

    def _lend(self, sha256: str) -> bool:
        """To where a run finds what has to come back."""
        if self._folder.has(sha256):
            return True
        with suppress(NotFound, CannotBeSo):
            self._folder.keep(sha256, self._host.files.blocks(self._folder.made / sha256))
            return True
        with suppress(NotFound, CannotBeSo):
            return self._folder.take(sha256, self._folder.mending / sha256)
        return False


def missing(host: Host, drifts: Collection[Drift]) -> Mapping[str, str]:
    """Of those that do not hold what they held, by their paths the contents that are not at hand."""
    folder = StateFolder.of(host)
    records = Inventory.load(folder).records
    held = {
        each.key.name: str(records[each.key].target.wanted.get("sha256"))
        for each in drifts
        if each.key.kind == "file" and "sha256" in each.fields
    }
    return {name: sha256 for name, sha256 in held.items() if not _is_at_hand(host, folder, sha256)}


def _is_at_hand(host: Host, folder: StateFolder, sha256: str) -> bool:
    places = (folder.place(sha256), folder.made / sha256, folder.mending / sha256)
    return any(host.files.observe(place) is not None for place in places)


def put_by(host: Host) -> None:
    """Keeps copies of small files, as long as they are as they were made, for `repair` to give back.

    Raises Busy; not for long at a time, so that others who want to begin a run need not wait.
    """
    while _put_some_by(host):
        pass


def _put_some_by(host: Host) -> bool:
    """Whether there is more to do."""
    with held_by_service(host):
        folder, inventory = secured_state(host)
        if not inventory.records or unfinished(folder, inventory) is not None:
            return False
        with suppress(AlreadyExists):
            host.files.make_directory(folder.made, PRIVATE_DIRECTORY)
        there = set(host.files.list(folder.made))
        needed = {sha256: path for path, sha256 in _contents(inventory.records.values())}
        for name in there - set(needed):
            folder.remove(folder.made / name)
        missing = [(path, sha256) for sha256, path in needed.items() if sha256 not in there]
        written = 0
        for path, sha256 in missing:
            written += _copy(host, path, sha256, folder)
            if written == _BATCH:
                return True
        return False


def _contents(records: Collection[Record]) -> Iterator[tuple[PureWindowsPath, str]]:
    """Not of what is there for a time only: a credential for one use is a secret that nobody is to keep."""
    for record in records:
        sha256 = record.target.wanted.get("sha256")
        if sha256 is not None and "until" not in record.target.manner:
            yield PureWindowsPath(record.target.key.name), str(sha256)


def _copy(host: Host, path: PureWindowsPath, sha256: str, folder: StateFolder) -> bool:
    with suppress(HostError):
        there = host.files.observe(path)
        if there is None or there.size > _LARGEST_MADE:
            return False
        content = host.files.read(path)
        if new_sha256(content).hexdigest() == sha256:
            host.files.write(folder.made / sha256, content, PRIVATE_FILE)
            return True
    return False
