"""A journal walked backwards: what a run had done is undone."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from agent.engine.journal import Deed, Journal, Step
from agent.engine.progress import Progress
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources import kind_named
from agent.resources.kind import pausable
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


def undone(host: Host, folder: StateFolder, journal: Journal, progress: Progress) -> Undone:
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
