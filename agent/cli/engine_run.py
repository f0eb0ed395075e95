"""A run of the engine as a command: what is told meanwhile, what is kept of it, how it ends.

On standard error as much is shown as somebody at a console, or reading a pipe, wants to see. What was taken
back is told by results and not by steps: what the machine is again.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.cli.arguments import VERBOSE, Request
from agent.cli.failure import Failure, Interrupted, Unexpected
from agent.cli.run_log import EventId, RunLog
from agent.cli.streams import COUNTED, counted, tell
from agent.engine.journal import Deed, Step
from agent.engine.machine_lock import Busy
from agent.engine.planning import Change, Plan
from agent.engine.progress import Progress
from agent.engine.run import TakenBack, Unfinished
from agent.engine.target import Target
from agent.engine.undoing import Undone
from agent.host.errors import AccessDenied, HostError
from agent.host.port import EventLevel, Host
from agent.host.services import ServiceState
from agent.redaction import redacted
from agent.resources.kind import CannotBeSo, NotWell, State
from agent.spec import Key
from service.program import SERVICE

Foresight = Callable[[Host, Plan], "Foreseen"]
Before = Mapping[Key, State | None]

WARNING = "warning: "
"""How a line begins that tells of more than what is done: as all of wmcb's own it is told with its name."""
ELEVATE = "start this from an elevated prompt, to see what administrators may"
_NAMED_AT_MOST = 3
_USUAL_COLUMNS = 80
_SECONDS_FOR_VERSION = 10.0
_KUBELET = "kubelet.exe"
_TOLD_OTHERWISE = ("directory", "file", "service", "windows_feature")
"""A feature stays as it is, which the run itself tells."""


class Display:
    """Shows nothing: for commands whose callers take a word on standard error for a failure."""

    def expect(self, steps: int) -> None:
        """So many will come."""

    def step(self, verb: str, kind: str, name: str) -> None: ...
    def undo(self, kind: str, name: str) -> None:
        """A step back; what comes of it is told at the end."""

    def meanwhile(self, line: str) -> None:
        """What a long step is at, for somebody who looks on."""

    def remark(self, line: str) -> None: ...
    def end(self) -> None:
        """Nothing more comes, and other words follow."""


def display(request: Request) -> Display:
    """On a console one line that is overwritten, in a pipe a few plain ones, and each step if wanted."""
    if request.has(VERBOSE):
        return EachStep()
    return OneLine() if _is_console() else FewLines()


class _Lines(Display):
    def remark(self, line: str) -> None:
        self.end()
        tell(line)


class EachStep(_Lines):
    def step(self, verb: str, kind: str, name: str) -> None:
        tell(f"{verb} {kind} {name}")

    def undo(self, kind: str, name: str) -> None:
        self.step("take back", kind, name)


class FewLines(_Lines):
    """Files and folders in a row are counted: there may be hundreds."""

    def __init__(self) -> None:
        self._verb = ""
        self._waiting: list[tuple[str, str]] = []

    def step(self, verb: str, kind: str, name: str) -> None:
        if verb != self._verb:
            self.end()
        self._verb = verb
        if kind in COUNTED:
            self._waiting.append((kind, name))
        else:
            self.remark(f"{verb} {kind} {name}")

    def end(self) -> None:
        if len(self._waiting) <= _NAMED_AT_MOST:
            for kind, name in self._waiting:
                tell(f"{self._verb} {kind} {name}")
        else:
            tell(f"{self._verb} {' and '.join(counted(kind for kind, _ in self._waiting))}")
        self._waiting = []


class OneLine(_Lines):
    def __init__(self) -> None:
        self._expected = 0
        self._done = 0
        self._width = 0

    def expect(self, steps: int) -> None:
        self._expected, self._done = steps, 0

    def step(self, verb: str, kind: str, name: str) -> None:
        self._done += 1
        counted = f"[{self._done}/{self._expected}] " if self._done <= self._expected else ""
        self._show(f"{counted}{verb} {kind} {name}")

    def undo(self, kind: str, name: str) -> None:
        self._show(f"take back {kind} {name}")

    def meanwhile(self, line: str) -> None:
        self._show(line)

    def end(self) -> None:
        if self._width:
            self._show("")
            self._width = 0

    def _show(self, line: str) -> None:
        # One column stays free: a line that fills a console's last one goes on in the next.
        most = _columns() - 1
        line = redacted(line)  # before it is cut: half a secret looks like none
        line = line if len(line) <= most else f"{line[: most - 3]}..."
        tell(f"\r{line:<{self._width}}" + "\r" * (not line), end="")
        self._width = len(line)


def _is_console() -> bool:
    console = sys.stderr is not None and sys.stderr.isatty()
    return console and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    return _USUAL_COLUMNS


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Of a plan, before it is carried out."""

    remarks: Sequence[str] = ()
    staying: Collection[Key] = ()
    """What is to go and cannot: no step that is told."""


def _nothing(host: Host, plan: Plan) -> Foreseen:  # noqa: ARG001 - there is nothing to say of it
    return Foreseen()


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
        lines = list(results(self._host, self._taken_back))
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
        _tell_of_change(host)
    finally:
        shown.end()


def _tell_of_change(host: Host) -> None:
    """To the resident service, which may not be there, or not look at this machine yet."""
    with suppress(HostError):
        host.services.tell_of_parameters(SERVICE)


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


def results(host: Host, steps: Sequence[Step]) -> Iterator[str]:
    """Of all steps that were taken back, in the order in which that was done."""
    before: dict[Key, State | None] = {}
    for step in reversed(steps):
        if step.deed is not Deed.RESUME:
            before.setdefault(step.key, step.before)
    yield from _files(host, before)
    for key, state in before.items():
        if key.kind == "service" and state is not None:
            yield _service(host, key)
        elif key.kind not in _TOLD_OTHERWISE and state is not None:
            yield f"{key} is again as it was"
    yield from _gone(before)


def _files(host: Host, before: Before) -> Iterator[str]:
    files = [key for key, state in before.items() if key.kind == "file" and state is not None]
    named = [key for key in files if PureWindowsPath(key.name).name.lower() == _KUBELET]
    running = set(_programs_of_running_services(host, before))
    for key in named:
        # Only what Windows has just started anyhow: anybody may have put a program there.
        release = _release(host, key.name) if key.name.upper() in running else ""
        yield f"{key.name} is again {release or 'the one of before'}"
    others = [key for key in files if key not in named]
    if len(others) > _NAMED_AT_MOST:
        yield f"{len(others)} files are again what they were"
    else:
        yield from (f"{key.shown} is again what it was" for key in others)


def _programs_of_running_services(host: Host, before: Before) -> Iterator[str]:
    """And the words that they are given."""
    for key, state in before.items():
        if key.kind == "service" and state is not None and _runs(host, key.name):
            command = state["command"]
            yield from (str(word).upper() for word in command) if isinstance(command, list | tuple) else ()


def _runs(host: Host, service: str) -> bool:
    there = host.services.read(service) is not None
    return there and host.services.status(service).state is ServiceState.RUNNING


def _release(host: Host, program: str) -> str:
    """As it says itself; empty where it cannot be asked."""
    can_run = sys.platform == "win32"
    with suppress(HostError):
        if can_run:
            answer = host.processes.run((program, "--version"), seconds=_SECONDS_FOR_VERSION)
            return answer.output.decode(errors="replace").strip().partition("\n")[0][:100]
    return ""


def _service(host: Host, key: Key) -> str:
    if _runs(host, key.name):
        return f"{key} runs again"
    if host.services.read(key.name) is None:
        return f"{key} is gone"
    return f"{key} is as it was set up before, and {host.services.status(key.name).state.name.lower()}"


def _gone(before: Before) -> Iterator[str]:
    """What the run had made."""
    made = [key for key, state in before.items() if state is None]
    told = counted(key.kind for key in made if key.kind in COUNTED)
    told += [str(key) for key in made if key.kind not in COUNTED]
    if told:
        yield f"gone again: {', '.join(told)}"


@contextmanager
def looking(host: Host) -> Iterator[None]:
    """What stands in the way ends the command."""
    try:
        yield
    except CannotBeSo as obstacle:
        raise Failure(str(obstacle)) from obstacle
    except AccessDenied as fault:
        if host.access.is_administrator():
            raise
        raise Failure(f"{fault}; {ELEVATE}", where=fault.subject) from fault
