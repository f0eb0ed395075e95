"""The lab itself: a node shows what happens on it, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.node import Node

ECHO = "import sys, json; sys.stdout.write(json.dumps(sys.argv[1:]))"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["plain"], id="plain"),
        pytest.param(["with space", ""], id="a space and nothing"),
        pytest.param(['quote"d', "end\\"], id="a quote, a backslash at the end"),
        pytest.param([r"C:\a b\\", r'\\"'], id="backslashes before quotes"),
        pytest.param(["Größe", "日本"], id="letters of other languages"),
    ],
)
def test_arguments_arrive_as_they_were_given(node: Node, arguments: list[str]) -> None:
    import json

    assert json.loads(node.python("-c", ECHO, *arguments).out) == arguments


@pytest.mark.parametrize("code", [0, 3, 256, 1001, 3221225477])
def test_the_whole_exit_code_is_seen(node: Node, code: int) -> None:
    assert node.python("-c", f"import ctypes; ctypes.windll.kernel32.ExitProcess({code})").code == code
