"""What the parser makes of a command line, whatever the commands are."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from agent.cli.arguments import Command, Option, parse
from agent.cli.failure import BadUsage

PIN = Option("--pin", "a hash", placeholder="H", repeated=True)
NAME = Option("--name", "of it", placeholder="N")
COMMANDS = (
    Command("join", "go in", run="nowhere:join", options=(PIN, NAME), operand="HOST:PORT"),
    Command("join phase", "a part of it", run="nowhere:phase", operand="PHASE"),
    Command("leave", "go out", run="nowhere:leave"),
)


class Line(NamedTuple):
    name: str
    words: tuple[str, ...]
    command: str
    operand: str = ""
    pins: str = ""


LINES = [
    Line("an operand left out", ("join",), "join"),
    Line("an operand", ("join", "10.0.0.1:6443"), "join", "10.0.0.1:6443"),
    Line("options before it", ("join", "--name", "a", "10.0.0.1:6443"), "join", "10.0.0.1:6443"),
    Line("a longer command goes before an operand", ("join", "phase"), "join phase"),
    Line("and takes its own", ("join", "phase", "preflight"), "join phase", "preflight"),
    Line("an option that may come again", ("join", "--pin=a", "--pin", "b,c"), "join", "", "a,b,c"),
]  # fmt: skip


@pytest.mark.parametrize("case", LINES, ids=lambda case: case.name)
def test_it_is_understood(case: Line) -> None:
    request = parse(case.words, COMMANDS)
    assert request.command is not None
    assert request.command.name == case.command
    assert request.operand == case.operand
    assert request.value(PIN, "") == case.pins


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("leave", "10.0.0.1:6443"), "leave takes options only: 10.0.0.1:6443 is too much"),
        (("join", "10.0.0.1:6443", "too"), "join takes one HOST:PORT only: what follows is too much"),
        (("join", "--name=a", "--name=b"), "--name is given twice"),
    ],
    ids=["no operand is wanted", "two operands", "an option that may not come again"],
)
def test_it_is_refused(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(BadUsage) as refused:
        parse(words, COMMANDS)
    assert str(refused.value).startswith(says)


def test_a_token_without_its_option_is_not_told() -> None:
    with pytest.raises(BadUsage) as refused:
        parse(("join", "10.0.0.1:6443", "abcdef.0123456789abcdef"), COMMANDS)
    assert "abcdef" not in str(refused.value)
