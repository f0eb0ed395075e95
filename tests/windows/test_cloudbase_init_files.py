"""What packaging/cloudbase-init puts into a machine's image, run by Windows' own cmd.exe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab.repository import ROOT

if TYPE_CHECKING:
    from lab.node import Node

_JOIN = ROOT / "packaging" / "cloudbase-init" / "local-scripts" / "join.cmd"
_USER_DATA = r"C:\ProgramData\cloudbase-init\user-data"

ENDED = {0: 0, 1: 1002, 2: 1002, 3: 1002, 1001: 1001, 1002: 1002, 1003: 1003, 1000: 1002, 1004: 1002}
"""By what wmcb ends with, what cloudbase-init is told."""


@pytest.fixture
def image(node: Node) -> Node:
    node.copy_in(_JOIN, r"C:\LocalScripts\join.cmd")
    # It takes no notice of our options, and ends as its input says.
    node.copy_in(node.path(r"C:\windows\system32\cmd.exe"), r"C:\k\wmcb.exe")
    return node


def _run(node: Node, code: int) -> int:
    return node.run("cmd.exe", "/c", r"C:\LocalScripts\join.cmd", stdin=f"exit {code}\r\n".encode()).code


def test_exit_codes(image: Node) -> None:
    user_data = image.path(_USER_DATA)
    user_data.parent.mkdir(parents=True)
    for code, expected in ENDED.items():
        user_data.write_text("#cloud-config\n")
        assert _run(image, code) == expected
        assert user_data.exists() == (expected in (1002, 1003)), code


def test_a_machine_without_user_data_is_done(image: Node) -> None:
    assert _run(image, 1) == 0
