"""Which line of which log tells of a failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WMCB_LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"
KUBELET_LOG = r"C:\var\log\kubelet\kubelet.log"
_TROUBLE = re.compile(r"[EF]\d{4} ")
"""How a program of Kubernetes' begins what it could not do."""


def place_of(text: str, log: Path) -> str:
    """Where a text stands last in a log of wmcb's: its number, and the line. Empty where it does not."""
    wanted = text.splitlines()[0]
    return _last(WMCB_LOG, log, lambda line: wanted in line)


def last_trouble(log: Path) -> str:
    """The same of what a kubelet could not do."""
    return _last(KUBELET_LOG, log, lambda line: _TROUBLE.match(line) is not None)


def _last(name: str, log: Path, is_it: Callable[[str], bool]) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for number in range(len(lines), 0, -1):
        if is_it(lines[number - 1]):
            return f"{name} line {number}: {lines[number - 1]}"
    return ""
