"""What a process costs, as Linux counts it."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 11, 12


def cpu_seconds(pid: int) -> float:
    # The program's name, in brackets, may have spaces in it.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    return int(_told(Path(f"/proc/{pid}/status"))["VmRSS"].split()[0]) * 1024


def private_bytes(pid: int) -> int:
    """What no other process has a part in: what Windows tells as a program's private working set."""
    told = _told(Path(f"/proc/{pid}/smaps_rollup"), after=1)
    return sum(int(told[name].split()[0]) * 1024 for name in ("Private_Clean", "Private_Dirty"))


def switches(pid: int) -> int:
    """How often its present threads began to run: each was woken, or had its turn again."""
    names = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
    threads = [_told(file) for file in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(thread[name]) for thread in threads for name in names)


def connections(pid: int) -> int:
    """Over TCP, to whomever."""
    sockets = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    established = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(fields[3] == "01" and f"socket:[{fields[9]}]" in sockets for fields in established)


def _told(file: Path, after: int = 0) -> dict[str, str]:
    return dict(line.split(":", 1) for line in file.read_text().splitlines()[after:])
