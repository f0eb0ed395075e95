"""The resident service from install to uninstall, its program really running."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PureWindowsPath

import pytest

from agent.cli import daemon
from agent.cli.main import run
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.sandbox import open_sandbox
from agent.host.services import ServiceState
from agent.release import RELEASE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there the exe itself is installed")

LIMIT_SECONDS = 30
C = PureWindowsPath("C:\\")


def everything(host: Host, folder: PureWindowsPath) -> Iterator[PureWindowsPath]:
    for name in host.files.list(folder):
        path = folder / name
        yield path
        state = host.files.observe(path)
        if state is not None and state.kind is FileKind.DIRECTORY:
            yield from everything(host, path)


@pytest.fixture
def wmcb(tmp_path: pathlib.Path) -> list[str]:
    return ["--sandbox", str(tmp_path), "--sandbox-run"]


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    return open_sandbox(tmp_path, run_services=True)


def test_it_runs_until_it_is_stopped(wmcb: list[str], host: Host) -> None:
    assert run([*wmcb, "daemon", "install"]) == 0
    host.services.start("wmcb")
    assert host.services.wait("wmcb", ServiceState.RUNNING, LIMIT_SECONDS).pid
    host.services.stop("wmcb")
    stopped = host.services.wait("wmcb", ServiceState.STOPPED, LIMIT_SECONDS)
    assert (stopped.exit_code, stopped.service_exit_code) == (0, 0)


def test_told_to_it_runs_when_the_command_has_ended_and_goes_on_where_it_does(
    wmcb: list[str], host: Host
) -> None:
    pids = set()
    for _ in range(2):
        assert run([*wmcb, "daemon", "install", "--start"]) == 0
        status = host.services.status("wmcb")
        assert status.state is ServiceState.RUNNING
        pids.add(status.pid)
    assert len(pids) == 1
    assert run([*wmcb, "daemon", "uninstall"]) == 0


def test_what_install_put_there_uninstall_takes_away(wmcb: list[str], host: Host) -> None:
    before = list(everything(host, C))
    assert run([*wmcb, "daemon", "install", "--kubeadm"]) == 0
    host.services.start("wmcb")
    assert PureWindowsPath(rf"C:\Program Files\wmcb\{RELEASE}\wmcb.exe") in set(everything(host, C))
    assert run([*wmcb, "daemon", "uninstall"]) == 0
    assert list(everything(host, C)) == before
    assert host.services.read("wmcb") is None


def test_install_leaves_nothing_where_it_unpacked(wmcb: list[str], host: Host) -> None:
    before = host.files.list(C / "Windows" / "Temp")
    assert run([*wmcb, "daemon", "install"]) == 0
    assert host.files.list(C / "Windows" / "Temp") == before


def test_installed_from_where_it_is_installed_it_says_that_nothing_newer_came(
    wmcb: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"this is the installed program itself, release {RELEASE}: nothing newer was laid out"
    assert run([*wmcb, "daemon", "install"]) == 0
    assert line not in capsys.readouterr().out.splitlines()

    @contextmanager
    def installed_one(*_: object) -> Iterator[PureWindowsPath]:
        yield PureWindowsPath(rf"C:\Program Files\wmcb\{RELEASE}\wmcb.exe")

    monkeypatch.setattr(daemon, "running_program", installed_one)
    assert run([*wmcb, "daemon", "install"]) == 0
    assert line in capsys.readouterr().out.splitlines()


def test_running_services_needs_a_sandbox(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["daemon", "install", "--sandbox-run"]) == 2
    assert capsys.readouterr().err == "wmcb: --sandbox-run goes with --sandbox DIR\n"


def test_a_sandbox_that_cannot_be_made_is_one_line(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert run(["--sandbox", str(file), "daemon", "install"]) == 2
    assert capsys.readouterr().err.startswith(f"wmcb: --sandbox {file}: ")
