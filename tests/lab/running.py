"""A program run on a node: how it is to be run, and how it went."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from lab import trace, wine
from lab.waiting import until

STREAMS = ("stdin", "stdout", "stderr")
LASTING_SECONDS = 86_400.0
"""For a program that is to run for as long as its node is on."""
_LIMIT_SECONDS = 240.0
"""Less than a whole test has: only what hangs takes so long, also on a machine that does other things."""


class Circumstances(TypedDict, total=False):
    """All that a caller may say of how a program is to be run; what is left out is ordinary.

    folder: the current folder, a Windows path (C:\\ if not given).
    environment: variables to set or, where None, to take away.
    stdin: what can be read there (nothing, if not given: the NUL device).
    closed: the streams of STREAMS that are not there at all, as for a service's program.
    as_user: without an administrator's rights: the group is there for denying only.
    console: with a console of this code page; all three streams are then the console.
    traced: write down the calls of trace.FUNCTIONS.
    locale: as of a user with this Unix locale (the node's own, if not given).
    seconds: after this time it is ended (four minutes, if not given), and that is an error.
    """

    folder: str
    environment: Mapping[str, str | None]
    stdin: bytes
    closed: Collection[str]
    as_user: bool
    console: int
    traced: bool
    locale: str
    seconds: float


@dataclass(frozen=True)
class Result:
    """How it ended: the whole 32-bit exit code, what it wrote, and how long it took from creation to exit."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    calls: tuple[trace.Call, ...] = ()

    @property
    def out(self) -> str:
        return _text(self.stdout)

    @property
    def err(self) -> str:
        return _text(self.stderr)


class TimedOut(AssertionError):
    """A program that took longer than it was given."""


def _text(written: bytes) -> str:
    return written.decode(errors="replace").replace("\r\n", "\n")


class Running:
    """A program that has been started. Its folder keeps the request, its streams and the trace."""

    def __init__(
        self, line: str, place: Path, process: subprocess.Popen[bytes], terminal: int | None
    ) -> None:
        self.line = line
        self._place = place
        self._process = process
        self._terminal = terminal
        self._screen = _Screen(terminal) if terminal is not None else None

    @property
    def windows_pid(self) -> int:
        """The process id that Windows programs see."""
        started = self._place / "started"
        told = until(lambda: started.read_text() if started.exists() else "", f"started: {self.line}")
        return int(told)

    @property
    def stdout(self) -> bytes:
        """What it has written so far."""
        return self._screen.text() if self._screen else (self._place / "stdout").read_bytes()

    @property
    def stderr(self) -> bytes:
        return (self._place / "stderr").read_bytes()

    def press_control_c(self) -> None:
        """As somebody at its console does: all programs of that console are told."""
        assert self._terminal is not None, "it was started without a console"
        os.write(self._terminal, b"\x03")

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> Result:
        """Its result; TimedOut if it had to be ended."""
        self._process.wait()
        if self._screen:
            self._screen.finish()
        written = self._place / "ended"
        if not written.exists():
            raise AssertionError(f"could not be run: {self.line}: {self._unix_stderr()}")
        ended = written.read_text()
        if ended == "timed out":
            raise TimedOut(f"{self.line} did not end in time; it wrote: {self.stdout!r} {self.stderr!r}")
        code, microseconds = map(int, ended.split())
        return Result(code, self.stdout, self.stderr, microseconds / 1e6, self.calls)

    @property
    def calls(self) -> tuple[trace.Call, ...]:
        """What it and its children have asked of Windows so far, where that is traced."""
        with (self._place / "trace").open(errors="replace") as lines:
            return tuple(trace.calls(lines))

    def _unix_stderr(self) -> str:
        return (self._place / "trace").read_text(errors="replace")[-2000:]


class _Screen:
    """What a program writes to its console, without the console's own control sequences."""

    def __init__(self, terminal: int) -> None:
        self._written = bytearray()
        self._reader = threading.Thread(target=self._read, args=(terminal,), daemon=True)
        self._reader.start()

    def _read(self, terminal: int) -> None:
        while True:
            try:
                some = os.read(terminal, 65536)
            except OSError:  # all who could write have ended
                break
            if not some:
                break
            self._written += some
        os.close(terminal)

    def finish(self) -> None:
        self._reader.join()

    def text(self) -> bytes:
        return re.sub(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])", b"", bytes(self._written))


def start(line: str, place: Path, environment: Mapping[str, str], circumstances: Circumstances) -> Running:
    """Starts a command line by way of run.exe, whose request and results are files in `place`."""
    (place / "request").write_text("\0".join(_request(line, place, circumstances)), encoding="utf-16-le")
    command = wine.command(
        [wine.LOADER, r"Z:\lab\programs\run.exe", wine.on_windows(place / "request")], environment
    )
    with (place / "trace").open("wb") as unix_stderr:
        if "console" not in circumstances:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=unix_stderr
            )
            return Running(line, place, process, None)
        ours, its = pty.openpty()
        # Wine takes errors there only where they are not asked for its trace.
        errors = unix_stderr if circumstances.get("traced") else its
        process = subprocess.Popen(command, stdin=its, stdout=its, stderr=errors, start_new_session=True)
        os.close(its)
        return Running(line, place, process, ours)


def _request(line: str, place: Path, circumstances: Circumstances) -> list[str]:
    request = [f"command={line}", f"folder={circumstances.get('folder', 'C:' + chr(92))}"]
    closed = circumstances.get("closed", ())
    for stream in STREAMS:
        (place / stream).write_bytes(circumstances.get("stdin", b"") if stream == "stdin" else b"")
        if stream not in closed:
            nothing_to_read = stream == "stdin" and "stdin" not in circumstances
            request.append(f"{stream}={'NUL' if nothing_to_read else wine.on_windows(place / stream)}")
    for name, value in circumstances.get("environment", {}).items():
        request.append(f"unset={name}" if value is None else f"set={name}={value}")
    if circumstances.get("as_user"):
        request.append("as=user")
    if "console" in circumstances:
        request.append(f"console={circumstances['console']}")
    request.append(f"limit={int(circumstances.get('seconds', _LIMIT_SECONDS) * 1000)}")
    return request
