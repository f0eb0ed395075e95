"""A journal walked backwards, so that what a run had done is undone, and put away when its run is over."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

from agent.engine.inventory import Inventory, needed_contents
from agent.engine.journal import Deed, Journal, Step
from agent.engine.progress import Progress
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo, pausable
from agent.spec import Key


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of the steps of a run that was taken back."""

    part: str
    """What it was about."""
    trouble: tuple[str, ...] = ()
    """What could not be undone. The next run, or one that is asked to take back, tries again."""
    left: tuple[str, ...] = ()
    """What had to stay, for good reason."""


def _undone(host: Host, folder: StateFolder, journal: Journal, progress: Progress) -> Undone:
    """From the last step to the first."""
    undoing = _Undoing(host, folder, journal.run)
    tidy(host, (step.key for step in journal.steps))
    firsts = _first_pauses(journal)
    for step in firsts.values():
        # Windows may have started it since: at a reboot, say, with half of what it uses changed.
        undoing.attempt(f"{step.key}", lambda step=step: _stop_again(host, step))  # type: ignore[misc]
    for number, step in reversed([*enumerate(journal.steps, 1)]):
        if step.deed is Deed.PAUSE and step is not firsts[step.key]:
            continue
        progress.taking_back(step)
        undoing.undo(number, step)
    return Undone(journal.part, tuple(undoing.trouble), tuple(undoing.left))


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

    def __init__(self, host: Host, folder: StateFolder, run: str) -> None:
        self._host = host
        self._folder = folder
        self._run = run
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
        kept = self._folder.at_step(self._run, number)
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


def tidy(host: Host, keys: Iterable[Key]) -> None:
    """What interrupted writes left, of whatever run, can stand in the way of removing a folder."""
    ordered = sorted(set(keys), key=lambda key: key.kind)
    with suppress(HostError):
        for kind, group in groupby(ordered, key=lambda key: key.kind):
            kind_named(kind).tidy(host, {key.name for key in group})


def undo(
    host: Host, folder: StateFolder, inventory: Inventory, journal: Journal, progress: Progress
) -> Undone:
    """Take back the run of this journal, and put it away where all of it could be taken back."""
    outcome = _undone(host, folder, journal, progress)
    if not outcome.trouble:
        flush(host)
        clean_up(host, folder, inventory, journal)
    return outcome


def flush(host: Host) -> None:
    """Before anything is forgotten: our files are on the disk at once, but Windows takes its time with the
    registry. After a power cut a service could be there again of which nobody knows any more.
    """
    with suppress(HostError):
        host.registry.flush()


def is_saved(folder: StateFolder, journal: Journal) -> bool:
    """Return whether the inventory is the one that this run was to write."""
    try:
        return Inventory.load(folder).run == journal.run
    except (HostError, CannotBeSo):
        return False


def secured_state(host: Host, *, but_given: bool = True) -> tuple[StateFolder, Inventory]:
    """Return what is remembered, for those who change it: once a run that had done everything, and was cut
    off while it put its things away, has come to its end. Raises CannotBeSo.
    """
    folder = StateFolder.of(host)
    folder.secure()
    inventory = Inventory.load(folder)
    journal = Journal.unfinished(folder)
    if journal is not None and journal.is_over(inventory):
        clean_up(host, folder, inventory, journal)
    elif journal is None and not inventory.records:
        with suppress(HostError):
            folder.dissolve(but_given=but_given)
    return folder, inventory


def clean_up(host: Host, folder: StateFolder, inventory: Inventory, journal: Journal) -> None:
    """The run has come to its end, or is taken back, whatever still holds one of these files.

    `inventory` is what is remembered now.
    """
    tidy(host, (step.key for step in journal.steps))
    with suppress(HostError):
        folder.copy_inventory()
    with suppress(HostError):
        _end(folder, inventory, journal)
    with suppress(HostError):
        folder.forget_but(needed_contents(inventory.records))
    if inventory.records:
        with suppress(HostError):
            folder.keep_reserve()
    else:
        with suppress(HostError):
            folder.dissolve()


def _end(folder: StateFolder, inventory: Inventory, journal: Journal) -> None:
    """A journal that somebody holds open stays, and would seem to be of a run that is still to be taken back:
    the inventory says that it is not.
    """
    try:
        journal.end()
    except HostError:
        if not journal.is_over(inventory):
            replace(inventory, run=journal.run).save(folder)
            folder.copy_inventory()
