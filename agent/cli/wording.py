"""Numbers of things, and what a wrong word may have been, in words."""

from collections.abc import Iterable

_SEVERAL = {"directory": "directories"}
COUNTED = ("directory", "file")
"""Kinds of which there may be hundreds."""


def many(number: int, one: str) -> str:
    several = _SEVERAL.get(one, f"{one}s")
    return f"{number} {one if number == 1 else several}"


def did_you_mean(wrong: str, known: Iterable[str], otherwise: str) -> str:
    """The end of a line about a word that is unknown; `otherwise` where none is like it."""
    import difflib  # noqa: PLC0415 - difflib, 1 ms of each start

    near = difflib.get_close_matches(wrong, list(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise


def counted(kinds: Iterable[str]) -> list[str]:
    """How many of each, the first first."""
    numbers: dict[str, int] = {}
    for kind in kinds:
        numbers[kind] = numbers.get(kind, 0) + 1
    return [many(number, kind) for kind, number in numbers.items()]
