"""Numbers of things, in words."""

from __future__ import annotations

from collections.abc import Iterable

_SEVERAL = {"directory": "directories"}
COUNTED = ("directory", "file")
"""Kinds of which there may be hundreds."""


def many(number: int, one: str) -> str:
    several = _SEVERAL.get(one, f"{one}s")
    return f"{number} {one if number == 1 else several}"


def counted(kinds: Iterable[str]) -> list[str]:
    """How many of each, the first first."""
    numbers: dict[str, int] = {}
    for kind in kinds:
        numbers[kind] = numbers.get(kind, 0) + 1
    return [many(number, kind) for kind, number in numbers.items()]
