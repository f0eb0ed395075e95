"""What a command that goes on after a restart reads again, and where that lies."""

from __future__ import annotations

import ntpath
from pathlib import PureWindowsPath

import pytest

from agent.cli import restarting
from agent.cli.arguments import Request

GIVEN = {
    "of the current folder": ("worker.ign", PureWindowsPath(r"C:\work\worker.ign")),
    "by its path": (r"D:\given\worker.ign", PureWindowsPath(r"D:\given\worker.ign")),
    "nothing": ("", None),
    "on a share": (r"\\server\share\worker.ign", None),
    "on a server": ("https://example.com/discovery.conf", None),
}


@pytest.mark.parametrize(("name", "place"), GIVEN.values(), ids=GIVEN)
def test_what_of_it_lies_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, name: str, place: PureWindowsPath | None
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("os.path.abspath", lambda path: ntpath.normpath(ntpath.join(r"C:\work", path)))
    assert restarting._on_machine(Request((), None, {}), name) == place
