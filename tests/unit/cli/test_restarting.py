"""What a command that goes on after a restart reads again, and where that lies."""

from __future__ import annotations

import ntpath
from pathlib import Path, PureWindowsPath

import pytest

from agent.cli import restarting
from agent.cli.arguments import Request
from agent.host.sandbox import open_sandbox

GIVEN = {
    "of the current folder": ("worker.ign", PureWindowsPath(r"C:\work\worker.ign")),
    "by its path": (r"D:\given\worker.ign", PureWindowsPath(r"D:\given\worker.ign")),
    "nothing": ("", None),
    "on a share": (r"\\server\share\worker.ign", PureWindowsPath(r"\\server\share\worker.ign")),
    "on a server": ("https://example.com/discovery.conf", None),
}


@pytest.mark.parametrize(("name", "place"), GIVEN.values(), ids=GIVEN)
def test_where_windows_reads_it(
    monkeypatch: pytest.MonkeyPatch, name: str, place: PureWindowsPath | None
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("os.path.abspath", lambda path: ntpath.normpath(ntpath.join(r"C:\work", path)))
    assert restarting._as_windows_reads(Request((), None, {}), name) == place


def test_a_share_is_said_to_be_read_as_another_account(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    share = r"\\server\share\worker.ign"
    values = {"--sandbox": str(tmp_path), "--allow-reboot": "", "--ignition": share}
    restarting.check_restart(Request((), None, values), open_sandbox(tmp_path))
    assert capsys.readouterr().err == (
        f"wmcb: warning: --allow-reboot: {share} is on a share, read as the computer's account then,"
        " not yours\n"
    )
