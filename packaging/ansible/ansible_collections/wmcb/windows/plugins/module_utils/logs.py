"""Which line of which log tells of a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WMCB_LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"


def place_of(text: str, log: Path) -> str:
    """Where a text stands last in a log of wmcb's: its number, and the line. Empty where it does not."""
    wanted = text.splitlines()[0]
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for number in range(len(lines), 0, -1):
        if wanted in lines[number - 1]:
            return f"{WMCB_LOG} line {number}: {lines[number - 1]}"
    return ""
