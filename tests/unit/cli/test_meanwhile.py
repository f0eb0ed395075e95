"""Work in a thread of its own, and what it has to say."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import pytest

from agent.cli.failure import Failure
from agent.cli.meanwhile import begun_quietly

if TYPE_CHECKING:
    from collections.abc import Callable

_SOON = 10.0


def test_what_is_said_meanwhile_waits_for_whoever_waits_for_the_rest() -> None:
    has_spoken, may_go_on = Event(), Event()
    said: list[str] = []

    def work(notice: Callable[[str], None]) -> str:
        notice("first")
        notice("second")
        has_spoken.set()
        assert may_go_on.wait(_SOON)
        notice("third")
        return "the answer"

    def listen(line: str) -> None:
        said.append(line)
        may_go_on.set()

    result = begun_quietly(work)
    assert has_spoken.wait(_SOON)
    assert said == []
    assert result(listen) == "the answer"
    assert said == ["first", "second", "third"]


def test_what_went_wrong_meanwhile_comes_after_what_was_said_of_it() -> None:
    said: list[str] = []

    def work(notice: Callable[[str], None]) -> None:
        notice("no answer; asking again")
        raise Failure("no cluster is there")

    result = begun_quietly(work)
    with pytest.raises(Failure, match="no cluster is there"):
        result(said.append)
    assert said == ["no answer; asking again"]
