"""Each command of README and docs that needs no Windows is run, and prints what the page shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from documentation import blocks, output, shell
from documentation.blocks import SHELL, Command, Place

RUN = {page: blocks.steps(blocks.of_page(page), Place.HERE) for page in blocks.pages_for(Place.HERE)}


@pytest.mark.skipif(sys.platform == "win32", reason="the pages' shell is that of the other systems")
@pytest.mark.parametrize("page", RUN)
def test_a_page_shows_what_is_printed(page: str, tmp_path: Path) -> None:
    commands = [each for each in RUN[page] if isinstance(each, Command)]
    assert {each.prompt for each in commands} == {SHELL}
    results = shell.run(RUN[page], shell.readers_folder(tmp_path / "repository"))
    for command, following, (code, printed) in zip(commands, [*commands[1:], None], results, strict=True):
        told = output.complaint(command, code, printed)
        assert code == 0 or output.expects_a_code(following), told
        assert output.is_as_shown(command.shown, printed), told


COMPARED = {
    "the same": (["a", "b"], "a\nb\n", True),
    "another": (["a"], "b\n", False),
    "more than is shown": (["a"], "a\nb\n", False),
    "less than is shown": (["a", "b"], "a\n", False),
    "nothing is shown, and something printed": ([], "a\n", False),
    "lines are left out": (["a", "...", "d"], "a\nb\nc\nd\n", True),
    "no line need be left out": (["a", "...", "b"], "a\nb\n", True),
    "text is left out": (["it took ... s"], "it took 1.2 s\n", True),
    "a dot is a dot": (["a.b"], "axb\n", False),
    "what nobody sees": (["a"], "a  \n\n", True),
}


@pytest.mark.parametrize(("shown", "printed", "same"), COMPARED.values(), ids=COMPARED)
def test_shown_and_printed(shown: list[str], printed: str, same: bool) -> None:
    assert output.is_as_shown(shown, printed) is same
