"""What is told while the engine works: as much as somebody at a console, or reading a pipe, wants to see."""

import os
import sys
from contextlib import suppress

from agent.cli.arguments import VERBOSE, Request
from agent.cli.streams import overwrite, tell
from agent.cli.wording import COUNTED, counted
from agent.redaction import redacted

_NAMED_AT_MOST = 3
_USUAL_COLUMNS = 80


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


class EachStep(Display):
    def step(self, verb: str, kind: str, name: str) -> None:
        tell(f"{verb} {kind} {name}")

    def undo(self, kind: str, name: str) -> None:
        self.step("take back", kind, name)

    def remark(self, line: str) -> None:
        tell(line)


class FewLines(Display):
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

    def remark(self, line: str) -> None:
        self.end()
        tell(line)

    def end(self) -> None:
        if len(self._waiting) <= _NAMED_AT_MOST:
            for kind, name in self._waiting:
                tell(f"{self._verb} {kind} {name}")
        else:
            tell(f"{self._verb} {' and '.join(counted(kind for kind, _ in self._waiting))}")
        self._waiting = []


class OneLine(Display):
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

    def remark(self, line: str) -> None:
        self.end()
        tell(line)

    def end(self) -> None:
        if self._width:
            self._show("")
            self._width = 0

    def _show(self, line: str) -> None:
        # One column stays free: a line that fills a console's last one goes on in the next.
        most = _columns() - 1
        line = redacted(line)  # before it is cut: half a secret looks like none
        line = line if len(line) <= most else f"{line[: most - 3]}..."
        overwrite(f"\r{line:<{self._width}}" + "\r" * (not line))
        self._width = len(line)


def _is_console() -> bool:
    console = sys.stderr is not None and sys.stderr.isatty()
    return console and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    return _USUAL_COLUMNS
