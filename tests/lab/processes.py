"""The processes of a node, as Linux has them: /proc."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath


@dataclass(frozen=True)
class Process:
    """A process of a Windows program. `pid` is Linux's, and not the one that Windows programs see."""

    pid: int
    command: tuple[str, ...]
    resident_bytes: int
    threads: int
    started: int
    """When, in ticks since Linux' own start."""

    @property
    def name(self) -> str:
        """The program's file name in small letters."""
        return PureWindowsPath(self.command[0]).name.lower()


class Ends:
    """In which order processes end, from when this is made."""

    def __init__(self, running: Iterable[Process]) -> None:
        self._waiting = {os.pidfd_open(process.pid): process for process in running}
        self._ended: list[str] = []
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def names(self, seconds: float = 60.0) -> list[str]:
        """Of their programs, when the last has ended."""
        self._watching.join(seconds)
        assert not self._watching.is_alive(), f"only these have ended: {self._ended}"
        return self._ended

    def _watch(self) -> None:
        poll = select.poll()
        for descriptor in self._waiting:
            poll.register(descriptor, select.POLLIN)
        while self._waiting:
            for descriptor, _ in poll.poll():
                poll.unregister(descriptor)
                os.close(descriptor)
                self._ended.append(self._waiting.pop(descriptor).name)


def of_prefix(prefix: str) -> list[Process]:
    """The processes whose Wine prefix this is, but for the wineserver and for those that have just ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            if f"WINEPREFIX={prefix}".encode() in environment:
                found.append(_described(entry))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [process for process in found if process is not None and process.name != "wineserver64"]


def _described(entry: Path) -> Process | None:
    command = (entry / "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
    status = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines())
    if "VmRSS" not in status or not command[0]:  # a zombie, or one that is on its way to be one
        return None
    kilobytes = int(status["VmRSS"].split()[0])
    # Its name comes before, in brackets, and may have blanks in it.
    started = int((entry / "stat").read_text().rpartition(")")[2].split()[19])
    return Process(int(entry.name), tuple(command), kilobytes * 1024, int(status["Threads"]), started)
