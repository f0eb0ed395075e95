"""The processes of a node, as Linux has them: /proc."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PureWindowsPath


@dataclass(frozen=True)
class Process:
    """A process of a Windows program. `pid` is Linux's, and not the one that Windows programs see."""

    pid: int
    command: tuple[str, ...]
    resident_bytes: int
    threads: int

    @property
    def name(self) -> str:
        """The program's file name in small letters."""
        return PureWindowsPath(self.command[0]).name.lower()


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
    return Process(int(entry.name), tuple(command), kilobytes * 1024, int(status["Threads"]))
