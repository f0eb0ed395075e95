"""What packaging/cloudbase-init puts into a machine's image, run by Windows' own cmd.exe."""

from __future__ import annotations

import pytest

from lab.node import Node
from lab.repository import ROOT

_JOIN = ROOT / "packaging" / "cloudbase-init" / "local-scripts" / "join.cmd"
_USER_DATA = r"C:\ProgramData\cloudbase-init\user-data"

_PLUGINS = r"HKLM\SOFTWARE\Cloudbase Solutions\Cloudbase-Init\instance\Plugins"

ENDED = {0: 0, 1: 1002, 2: 1002, 3: 1002, 1001: 1001, 1002: 1002, 1003: 1003, 1000: 1002, 1004: 1002}
"""By what wmcb ends with, what cloudbase-init is told."""
UNREADABLE = 2
"""Then cloudbase-init is to get the user data once more."""


@pytest.fixture
def image(node: Node) -> Node:
    node.copy_in(_JOIN, r"C:\LocalScripts\join.cmd")
    # It takes no notice of our options, and ends as its input says.
    node.copy_in(node.path(r"C:\windows\system32\cmd.exe"), r"C:\k\wmcb.exe")
    _note(node, "UserDataPlugin")
    _note(node, "SetHostNamePlugin")
    return node


def _note(node: Node, plugin: str) -> None:
    """That it is done, as cloudbase-init does."""
    assert node.run("reg.exe", "add", _PLUGINS, "/v", plugin, "/t", "REG_DWORD", "/d", "1", "/f").code == 0


def _noted(node: Node) -> set[str]:
    plugins = node.registry(_PLUGINS)
    assert plugins is not None
    return {*plugins.values}


def _run(node: Node, code: int) -> int:
    return node.run("cmd.exe", "/c", r"C:\LocalScripts\join.cmd", stdin=f"exit {code}\r\n".encode()).code


def test_exit_codes(image: Node) -> None:
    user_data = image.path(_USER_DATA)
    user_data.parent.mkdir(parents=True)
    for code, expected in ENDED.items():
        user_data.write_text("#cloud-config\n")
        assert _run(image, code) == expected
        assert user_data.exists() == (expected in (1002, 1003)), code
        assert ("UserDataPlugin" in _noted(image)) == (code != UNREADABLE), code
        if code == UNREADABLE:
            assert "SetHostNamePlugin" in _noted(image)
            _note(image, "UserDataPlugin")


def test_a_machine_without_user_data_is_done(image: Node) -> None:
    assert _run(image, 1) == 0


def test_user_data_that_was_not_had_is_waited_for(image: Node) -> None:
    assert image.run("reg.exe", "delete", _PLUGINS, "/v", "UserDataPlugin", "/f").code == 0
    assert _run(image, 0) == 1002
    half = image.path(_USER_DATA)
    half.parent.mkdir(parents=True)
    half.write_text("#cloud-config\n")
    assert _run(image, 0) == 1002
    assert half.exists()


def test_where_nothing_is_noted_user_data_is_carried_out(image: Node) -> None:
    """By a cloud that gives no instance id."""
    assert image.run("reg.exe", "delete", _PLUGINS, "/f").code == 0
    user_data = image.path(_USER_DATA)
    user_data.parent.mkdir(parents=True)
    user_data.write_text("#cloud-config\n")
    assert _run(image, 0) == 0
    assert not user_data.exists()
