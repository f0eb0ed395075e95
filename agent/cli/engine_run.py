"""A run of the engine as a command: what is told meanwhile, what is kept of it, how it ends."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from agent.cli import undoing
from agent.cli.failure import Failure, Interrupted, Unexpected
from agent.cli.progress import Display
from agent.cli.resident_service import tell_of_change
from agent.cli.run_log import EventId, RunLog
from agent.engine.journal import Step
from agent.engine.machine_lock import Busy
from agent.engine.planning import Change, Plan
from agent.engine.progress import Progress
from agent.engine.run import TakenBack, Unfinished
from agent.engine.target import Target
from agent.engine.undoing import Undone
from agent.host.errors import HostError
from agent.host.port import EventLevel, Host
from agent.resources.kind import CannotBeSo, NotWell
from agent.spec import Key

Foresight = Callable[[Host, Plan], "Foreseen"]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Of a plan, before it is carried out."""

    remarks: Sequence[str] = ()
    staying: Collection[Key] = ()
    """What is to go and cannot: no step that is told."""


def _nothing(host: Host, plan: Plan) -> Foreseen:  # noqa: ARG001 - there is nothing to say of it
    return Foreseen()


WARNING = "warning: "
"""How a line begins that tells of more than what is done: as all of wmcb's own it is told with its name."""


class Told(Progress):
    """Each step is kept in the log, and shown as far as somebody wants to see it."""

    def __init__(self, host: Host, log: RunLog, shown: Display, foresight: Foresight) -> None:
        self.log = log
        self._host = host
        self._shown = shown
        self._foresight = foresight
        self._taken_back: list[Step] = []
        self.foreseen = Foreseen()

    def meanwhile(self, line: str) -> None:
        """Of what takes long, to somebody who looks on."""
        self._shown.meanwhile(line)

    def waiting(self, line: str) -> None:
        """Takes a line about the process that holds the machine; nothing follows it for minutes, perhaps."""
        self.remark(line)

    def found(self, lines: Iterable[str]) -> None:
        """Before the run began; whoever has to see it has seen it."""
        for line in lines:
            self.log.write(line)

    def planned(self, plan: Plan) -> None:
        self.foreseen = self._foresight(self._host, plan)
        for line in self.foreseen.remarks:
            self.remark(line)
        if plan.changes:
            self.log.write(f"{len(plan.changes)} to change, {len(plan.unchanged)} as they are to be")
            self._shown.expect(len(plan.pauses) + len(plan.changes))

    def resuming(self, steps: int) -> None:
        self.remark(f"a run was interrupted after {steps} steps; going on from there")

    def pausing(self, target: Target) -> None:
        self._step("stop", target.key)

    def changing(self, change: Change) -> None:
        if change.target.key not in self.foreseen.staying:
            self._step(change.action.value, change.target.key)

    def taking_back(self, step: Step) -> None:
        if not self._taken_back:
            self.remark("taking back what was done")
        self._taken_back.append(step)
        self._shown.undo(step.key.kind.replace("_", " "), step.key.shown)
        self.log.write(f"take back: {step.deed.value} {step.key}")

    def taken_back(self) -> list[str]:
        """What came of it."""
        lines = list(undoing.results(self._host, self._taken_back))
        for line in lines:
            self.log.write(line)
        return lines

    def remark(self, line: str) -> None:
        """Takes a line for a person."""
        self._shown.remark(f"wmcb: {line}" if line.startswith(WARNING) else line)
        self.log.write(line)

    def _step(self, verb: str, key: Key) -> None:
        self._shown.step(verb, key.kind.replace("_", " "), key.shown)
        self.log.write(f"{verb} {key}")


@contextmanager
def recorded(host: Host, what: str, shown: Display, foresight: Foresight = _nothing) -> Iterator[Told]:
    """Starts, results and failures go to the log and to Windows' own; failures end the command.

    What the `foresight` of a plan remarks is told before anything of it is done.
    """
    log = RunLog(host)
    log.event(EventLevel.INFORMATION, EventId.STARTED, f"{what}: started")
    told = Told(host, log, shown, foresight)
    try:
        yield told
    except BaseException as failure:
        if isinstance(failure, TakenBack) and not failure.undone.trouble:
            for line in told.taken_back():
                shown.remark(line)
        ending = _ending(failure)
        log.event(EventLevel.ERROR, EventId.FAILED, f"{what}: {(ending or _of_cause(failure)).whole()}")
        if ending is None:
            raise
        raise ending from failure
    else:
        log.event(EventLevel.INFORMATION, EventId.DONE, f"{what}: done")
        tell_of_change(host)
    finally:
        shown.end()


def _ending(failure: BaseException) -> Failure | None:
    """How the command ends; None for what is not the engine's to tell."""
    if isinstance(failure, TakenBack):
        return _of_cause(failure.__cause__, _undone(failure.undone))
    if isinstance(failure, Busy | CannotBeSo | HostError | Unfinished):
        return _of_cause(failure)
    return None


def _of_cause(cause: BaseException | None, then: str = "") -> Failure:
    """`then` is what was done about it."""
    if isinstance(cause, KeyboardInterrupt):
        return Interrupted(f"interrupted{then}")
    if isinstance(cause, Failure):
        return type(cause)(f"{cause}{then}", where=cause.where, others=cause.others, details=cause.details)
    if isinstance(cause, HostError):
        return Failure(f"{cause}{then}", where=cause.subject)
    if isinstance(cause, NotWell):
        return Failure(f"{cause}{then}", details=cause.details)
    if isinstance(cause, Busy | CannotBeSo | Unfinished):
        return Failure(f"{cause}{then}")
    text = f"unexpected {type(cause).__name__}: {' '.join(str(cause).split())}"
    return Unexpected(f"{text} (please report it){then}")


def _undone(undone: Undone) -> str:
    if undone.trouble:
        return f"; not all of it could be taken back: {'; '.join(undone.trouble)}"
    left = "".join(f"; {line}" for line in undone.left)
    return f"; the machine is as it was before{left}"
