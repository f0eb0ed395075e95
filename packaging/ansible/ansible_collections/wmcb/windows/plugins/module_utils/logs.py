"""Which line of which log tells of a failure."""

from __future__ import annotations

import re
from pathlib import Path

WMCB_LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"
KUBELET_LOG = r"C:\var\log\kubelet\kubelet.log"
_TROUBLE = re.compile(r"[EF]\d{4} [\d:.]+ +\d+ (\S+)\]")
"""What a program of Kubernetes' could not do, and where in its source it says so."""
_MOST = 4


def place_of(text: str, log: Path) -> str:
    """Where a text stands last in a log of wmcb's: its number, and the line. Empty where it does not."""
    wanted = text.splitlines()[0]
    lines = _lines(log)
    for number in range(len(lines), 0, -1):
        if wanted in lines[number - 1]:
            return f"{WMCB_LOG} line {number}: {lines[number - 1]}"
    return ""


def last_troubles(log: Path) -> list[str]:
    """In the same way what a kubelet could not do: of each kind the last, as the one that comes ten times a
    second is seldom the reason.
    """
    found: dict[str, str] = {}
    lines = _lines(log)
    for number in range(len(lines), 0, -1):
        trouble = _TROUBLE.match(lines[number - 1])
        if trouble and len(found) < _MOST:
            found.setdefault(trouble[1], f"{KUBELET_LOG} line {number}: {lines[number - 1]}")
    return [*found.values()][::-1]


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()
