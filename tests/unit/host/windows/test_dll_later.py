"""A part of the host that is made when something is asked of it first."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import pytest

from agent.host.errors import Unsupported
from agent.host.windows.machine import later


class Part:
    name = "part"

    def __init__(self, made: list[Part]) -> None:
        made.append(self)

    def refuse(self) -> None:
        raise Unsupported("ask", "a part", 50)


def test_it_is_made_once_and_only_when_it_is_asked() -> None:
    made: list[Part] = []
    part = later(lambda: Part(made))
    assert made == []
    assert (part.name, part.name) == ("part", "part")
    assert len(made) == 1


def test_it_raises_what_the_part_raises() -> None:
    part = later(lambda: Part([]))
    with pytest.raises(Unsupported):
        part.refuse()


def test_a_part_that_cannot_be_made_is_tried_again() -> None:
    made: list[Part] = []
    failures = [OSError("no such library")]

    def make() -> Part:
        if failures:
            raise failures.pop()
        return Part(made)

    part = later(make)
    with pytest.raises(OSError, match="no such library"):
        part.refuse()
    assert part.name == "part"


def test_what_a_part_lacks_while_it_is_made_is_named() -> None:
    def make() -> Part:
        raise AttributeError("function 'X' not found")

    with pytest.raises(AttributeError, match="function 'X' not found"):
        later(make).refuse()
