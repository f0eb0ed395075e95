"""What the pages call commands and options within their text, where nothing is run."""

from __future__ import annotations

import re

import pytest

from agent.cli.arguments import COMMON
from agent.cli.commands import COMMANDS
from documentation import blocks
from documentation.blocks import ROOT

CALLED = re.compile(r"`wmcb(?:\.exe)? (?P<words>[^`]+)`")
BY_NAME = {command.name: command for command in COMMANDS}
SHARED = {name for option in COMMON for name in (option.name, option.short)}


def calls(page: str) -> list[str]:
    return [" ".join(found["words"].split()) for found in CALLED.finditer((ROOT / page).read_text("utf-8"))]


def unknown(words: list[str]) -> set[str]:
    """Of one call; `... --option` is one of any command's."""
    plain = [word.rstrip(",") for word in words if not word.startswith("-")]
    named = next((name for name in (" ".join(plain[:2]), *plain[:1]) if name in BY_NAME), "")
    command = BY_NAME[named]
    known = {name for option in (*command.options, *command.unlisted) for name in (option.name, option.short)}
    return {word.split("=")[0] for word in words if word.startswith("-")} - known - SHARED


@pytest.mark.parametrize("page", blocks.pages())
def test_each_option_is_one_of_the_command(page: str) -> None:
    wrong = {call: found for call in calls(page) if (found := unknown(call.split()))}
    assert wrong == {}


def test_there_are_calls_to_look_at() -> None:
    assert sum(len(calls(page)) for page in blocks.pages()) > 50
    assert unknown(["plan", "--no-such-option"]) == {"--no-such-option"}
