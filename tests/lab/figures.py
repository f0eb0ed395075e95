"""Figures for reading: a table of what was measured, beside what is wanted."""

from __future__ import annotations

import sys
from collections.abc import Sequence

MEGABYTE = 1_000_000


def megabytes(size: int) -> str:
    return f"{size / MEGABYTE:.1f} MB"


def judged(value: float, goal: float, goal_text: str) -> tuple[str, str]:
    return goal_text, "met" if value <= goal else "NOT MET"


def show(rows: Sequence[Sequence[str]]) -> None:
    """The first row is the head; the first column is words, the others are figures."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        first, *others = (
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        sys.stdout.write("  ".join([first, *others]).rstrip() + "\n")
    sys.stdout.write("\n")
