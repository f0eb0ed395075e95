"""One run: a specification made so, or nothing of it.

Whatever ends a run half-way, a failure or a power cut, its journal says how to go on. A failure is taken
back at once; what was cut off is finished by the next run, or taken back if that is asked for.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from itertools import groupby
from typing import TYPE_CHECKING

from agent.engine.inventory import Inventory, needed_contents
from agent.engine.journal import Deed, Journal, Step
from agent.engine.planning import Action, Change, Plan, differences, plan
from agent.engine.state_folder import StateFolder
from agent.engine.target import Record, Target
from agent.host.errors import HostError
from agent.records import frozen
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo, NotWell, pausable
from agent.spec import Specification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from agent.engine.planning import Difference
    from agent.engine.progress import Progress
    from agent.host.port import Host
    from agent.resources.kind import State
    from agent.spec import Key

LOCK = "wmcb"


class Busy(Exception):
    """Another run is under way on this machine."""


@frozen
class Undone:
    """What became of the steps of a run that was taken back."""

    trouble: tuple[str, ...] = ()
    """What could not be undone. The next run, or one that is asked to take back, tries again."""
    left: tuple[str, ...] = ()
    """What had to stay, for good reason."""


class TakenBack(Exception):
    """A run failed (`__cause__` says how), and what it had done was undone."""

    def __init__(self, undone: Undone) -> None:
        super().__init__("; ".join(undone.trouble))
        self.undone = undone


@frozen
class Done:
    plan: Plan
    left: tuple[str, ...] = ()
    """What of former things had to stay, a line each."""
    kept_otherwise: tuple[tuple[Key, tuple[Difference, ...]], ...] = ()
    """What this machine made its own of, where it does not keep a setting as given."""


def preview(host: Host, specification: Specification) -> Plan:
    """What `make_so` would do."""
    folder = StateFolder.of(host)
    folder.check()
    inventory = Inventory.load(folder)
    return plan(host, specification, _remembered(inventory, _unfinished(folder, inventory)))


def make_so(
    host: Host,
    specification: Specification,
    version: str,
    progress: Progress,
    confirm: Callable[[], None] | None = None,
) -> Done:
    """Raises CannotBeSo and Busy before anything is changed, TakenBack for what failed after that.

    `confirm` is called when all is made and well, unless there was nothing to make; also by the run that
    finishes an interrupted one. What it raises is a failure like any other: the run is taken back.
    """
    with _alone(host):
        folder = StateFolder.of(host)
        folder.secure()
        inventory = Inventory.load(folder)
        _end_properly(host, folder, inventory)
        journal = _unfinished(folder, inventory)
        remembered = _remembered(inventory, journal)
        if journal is not None:
            progress.resuming(len(journal.steps))
        planned = plan(host, specification, remembered)
        progress.planned(planned)
        if journal is None and not planned.changes:
            records = _records(host, specification, planned, inventory, {})
            if records == inventory.records:
                return Done(planned)
        folder.ensure()
        journal = journal or Journal.begin(folder, version)
        try:
            _tidy(host, (change.target.key for change in planned.changes))
            left = _carry_out(host, planned, journal, folder, progress)
            if confirm is not None:
                confirm()
            left += _end_what_is_over(host, specification, journal, folder, progress)
            records = _records(host, specification, planned, inventory, journal.first_before())
            Inventory(records, journal.run, specification.title).save(folder)
        except BaseException as failure:
            if _is_saved(folder, journal):
                # It came to its end, and was interrupted only then.
                _clean_up(host, folder, records, journal)
                raise
            raise TakenBack(_take_back(host, folder, inventory, journal, progress)) from failure
        _clean_up(host, folder, records, journal)
        return Done(planned, tuple(left), tuple(_kept_otherwise(planned, records)))


def take_back(host: Host, progress: Progress) -> Undone | None:
    """Undoes what an interrupted run had done; None if there is none."""
    with _alone(host):
        folder = StateFolder.of(host)
        folder.secure()
        inventory = Inventory.load(folder)
        _end_properly(host, folder, inventory)
        journal = _unfinished(folder, inventory)
        if journal is None:
            return None
        progress.resuming(len(journal.steps))
        return _take_back(host, folder, inventory, journal, progress)


def reset(host: Host, version: str, progress: Progress) -> Done:
    """Takes away what wmcb put on this machine, and gives back what it replaced."""
    return make_so(host, Specification(), version, progress)


@frozen
class Standing:
    """One resource of ours, now."""

    record: Record
    found: State | None
    differences: tuple[Difference, ...]


@frozen
class Status:
    title: str
    resources: tuple[Standing, ...]
    interrupted: bool
    """The last run did not come to its end."""

    @property
    def is_well(self) -> bool:
        """Something was made, and all of it still is as it was made."""
        as_made = all(each.found is not None and not each.differences for each in self.resources)
        return bool(self.resources) and as_made and not self.interrupted


def status(host: Host) -> Status:
    folder = StateFolder.of(host)
    folder.check()
    inventory = Inventory.load(folder)
    return Status(
        inventory.title,
        tuple(_standings(host, inventory)),
        _unfinished(folder, inventory) is not None,
    )


def _standings(host: Host, inventory: Inventory) -> Iterator[Standing]:
    for record in inventory.records.values():
        target = record.target
        found = target.observe(host)
        if found is not None or not target.kind.is_over(host, target.manner):
            yield Standing(record, found, differences(target, found, record))


@contextmanager
def _alone(host: Host) -> Iterator[None]:
    with host.processes.exclusive(LOCK) as mine:
        if not mine:
            raise Busy("another wmcb is at work on this machine; wait until it has ended")
        yield


def _unfinished(folder: StateFolder, inventory: Inventory) -> Journal | None:
    """A journal whose run wrote the inventory had come to its end: only its removal was missed."""
    journal = Journal.unfinished(folder)
    return None if journal is None or journal.run == inventory.run else journal


def _remembered(inventory: Inventory, journal: Journal | None) -> Mapping[Key, Record]:
    """Ours, with what an interrupted run may have made: it is wanted, or it goes."""
    remembered = dict(inventory.records)
    manners = {step.key: step.manner for step in journal.steps} if journal else {}
    for key, before in journal.first_before().items() if journal else ():
        remembered.setdefault(key, Record(Target(key, {}, manners[key], ()), before, {}))
    return remembered


def _carry_out(
    host: Host, planned: Plan, journal: Journal, folder: StateFolder, progress: Progress
) -> list[str]:
    for target in planned.pauses:
        progress.pausing(target)
        _pause(host, target, journal)
    left = []
    for change in planned.changes:
        if change.is_over:
            continue  # its turn comes when all is well
        progress.changing(change)
        if change.target in planned.pauses:
            # Windows may have started it anew meanwhile, with only half of what it uses changed.
            _pause(host, change.target, journal)
        if remark := _change(host, change, journal, folder):
            left.append(remark)
    for change in planned.resumes:
        if remark := _resume(host, change, journal):
            left.append(remark)
    return left


def _end_what_is_over(
    host: Host, specification: Specification, journal: Journal, folder: StateFolder, progress: Progress
) -> list[str]:
    """Here, too, what has done its duty in this very run: only now is it sure that nothing needs it."""
    left = []
    for target in map(Target.of, specification.wants):
        if not target.kind.is_over(host, target.manner):
            continue
        found = target.observe(host)
        if found is not None:
            change = Change(Action.REMOVE, target, found)
            progress.changing(change)
            if remark := _change(host, change, journal, folder):
                left.append(remark)
    return left


def _pause(host: Host, target: Target, journal: Journal) -> None:
    kind, found = pausable(target.kind), target.observe(host)
    if kind is not None and found is not None and kind.is_active(found):
        journal.add(Step(Deed.PAUSE, target.key, found, target.manner))
        kind.pause(host, target.key.name, target.manner)


def _resume(host: Host, change: Change, journal: Journal) -> str | None:
    target, kind = change.target, pausable(change.target.kind)
    assert kind is not None
    assert change.before is not None
    journal.add(Step(Deed.RESUME, target.key, target.observe(host), target.manner))
    return kind.resume(host, target.key.name, change.before)


def _change(host: Host, change: Change, journal: Journal, folder: StateFolder) -> str | None:
    target, kind, name = change.target, change.target.kind, change.target.key.name
    before = target.observe(host)  # not as it was planned: a pause, or another change, came between
    if target.want is not None and (obstacle := kind.obstacle(target.want, before)):
        raise CannotBeSo(obstacle)
    if before is not None:
        is_going = target.want is None or change.is_over
        kind.keep(host, name, before, change.before if is_going else target.wanted, folder)
    journal.add(Step(Deed.CHANGE, target.key, before, target.manner))
    if target.want is None or change.is_over:
        return kind.restore(host, name, change.before, target.manner, folder.at_step(len(journal.steps)))
    kind.apply(host, target.want, before)
    _check(target, target.observe(host))
    return None


def _check(target: Target, found: State | None) -> None:
    for different in differences(target, found, None):
        if different.field in target.kind.firm:
            # Without the values: a command line can hold a secret.
            raise NotWell(
                f"{target.key}: {different.field} reads back as something else; another program changes it"
            )


def _records(
    host: Host,
    specification: Specification,
    planned: Plan,
    inventory: Inventory,
    first_before: Mapping[Key, State | None],
) -> dict[Key, Record]:
    """Looked at when all is done: what came later (a file in a folder) may show in what came sooner."""
    matches = {match.target.key: match for match in planned.unchanged}
    targets = {change.target.key: change.target for change in planned.changes}
    records = {}
    for want in specification.wants:
        key = want.key
        match = matches.get(key)
        target = targets[key] if match is None else match.target
        settled = target.observe(host) if match is None else match.found
        if settled is None and not target.kind.is_over(host, target.manner):
            raise NotWell(f"{key} was made, and is gone; another program removes it")
        known = inventory.records.get(key)
        if known and settled is None and known.target.manner == target.manner:
            records[key] = known  # whatever it would have to be now, it is not needed any more
            continue
        records[key] = Record(target, known.before if known else first_before.get(key, settled), settled)
    return records


def _kept_otherwise(
    planned: Plan, records: Mapping[Key, Record]
) -> Iterator[tuple[Key, tuple[Difference, ...]]]:
    for change in planned.changes:
        record = records.get(change.target.key)
        if record and record.settled and (otherwise := differences(record.target, record.settled, None)):
            yield change.target.key, otherwise


def _is_saved(folder: StateFolder, journal: Journal) -> bool:
    try:
        return Inventory.load(folder).run == journal.run
    except (HostError, CannotBeSo):
        return False


def _end_properly(host: Host, folder: StateFolder, inventory: Inventory) -> None:
    """A run that had done everything, and was cut off while it put its things away."""
    journal = Journal.unfinished(folder)
    if journal is not None and journal.run == inventory.run:
        _clean_up(host, folder, inventory.records, journal)
    elif journal is None and not inventory.records:
        folder.dissolve()


def _clean_up(host: Host, folder: StateFolder, records: Mapping[Key, Record], journal: Journal) -> None:
    """The inventory is in place: the run has come to its end, whatever still holds one of these files."""
    _tidy(host, (step.key for step in journal.steps))
    with suppress(HostError):
        journal.end()
    with suppress(HostError):
        folder.forget_but(needed_contents(records))
    if not records:
        with suppress(HostError):
            folder.dissolve()


def _tidy(host: Host, keys: Iterable[Key]) -> None:
    """What interrupted writes left, of whatever run, can stand in the way of removing a folder."""
    ordered = sorted(set(keys), key=lambda key: key.kind)
    with suppress(HostError):
        for kind, group in groupby(ordered, key=lambda key: key.kind):
            kind_named(kind).tidy(host, {key.name for key in group})


def _take_back(
    host: Host, folder: StateFolder, inventory: Inventory, journal: Journal, progress: Progress
) -> Undone:
    """From the last step to the first."""
    undoing = _Undoing(host, folder)
    _tidy(host, (step.key for step in journal.steps))
    firsts = _first_pauses(journal)
    for step in firsts.values():
        # Windows may have started it since: at a reboot, say, with half of what it uses changed.
        undoing.attempt(f"{step.key}", lambda step=step: _stop_again(host, step))  # type: ignore[misc]
    for number, step in reversed([*enumerate(journal.steps, 1)]):
        if step.deed is Deed.PAUSE and step is not firsts[step.key]:
            continue
        progress.taking_back(step)
        undoing.undo(number, step)
    trouble, left = undoing.trouble, undoing.left
    if not trouble:
        _clean_up(host, folder, inventory.records, journal)
    return Undone(tuple(trouble), tuple(left))


def _first_pauses(journal: Journal) -> Mapping[Key, Step]:
    firsts: dict[Key, Step] = {}
    for step in journal.steps:
        if step.deed is Deed.PAUSE:
            firsts.setdefault(step.key, step)
    return firsts


def _stop_again(host: Host, step: Step) -> None:
    kind = pausable(kind_named(step.key.kind))
    assert kind is not None
    kind.pause(host, step.key.name, step.manner)


class _Undoing:
    """Trouble with one step keeps no other from being undone."""

    def __init__(self, host: Host, folder: StateFolder) -> None:
        self._host = host
        self._folder = folder
        self.trouble: list[str] = []
        self.left: list[str] = []

    def attempt(self, what: str, deed: Callable[[], str | None]) -> None:
        try:
            if remark := deed():
                self.left.append(remark)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the other steps are to be undone
            self.trouble.append(f"{what}: {fault}" if what else str(fault))

    def undo(self, number: int, step: Step) -> None:
        if step.deed is Deed.CHANGE:
            self.attempt(f"{step.key}", lambda: self._restore(number, step))
        elif step.deed is Deed.RESUME:
            if not _was_active(step):
                self.attempt(f"{step.key}", lambda: _stop_again(self._host, step))
        elif self.trouble:
            self.trouble.append(f"{step.key} stays stopped until that is mended")
        elif _was_active(step):
            self.attempt(f"{step.key}", lambda: self._resume(number, step))

    def _restore(self, number: int, step: Step) -> str | None:
        kind = kind_named(step.key.kind)
        kept = self._folder.at_step(number)
        return kind.restore(self._host, step.key.name, step.before, step.manner, kept)

    def _resume(self, number: int, step: Step) -> str | None:
        """What would not stop had to lose its settings for failures first: they come back, too."""
        remark = self._restore(number, step)
        running = pausable(kind_named(step.key.kind))
        assert running is not None
        assert step.before is not None
        return running.resume(self._host, step.key.name, step.before) or remark


def _was_active(step: Step) -> bool:
    kind = pausable(kind_named(step.key.kind))
    return kind is not None and step.before is not None and kind.is_active(step.before)
