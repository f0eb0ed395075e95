"""The resident service as a process of its own, beside a service's program that really runs."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import PureWindowsPath

import pytest

from agent.cli.main import run
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.sandbox import open_sandbox
from agent.host.services import ServiceState
from agent.spec import Directory, File, Inline, Protection, Service, Specification

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the exe itself is tested on Windows")

LIMIT_SECONDS = 60
K = PureWindowsPath("C:\\k")
PROGRAM, CONFIG = K / "kubelet.exe", K / "kubelet.conf"
SLEEPER = b"#!/bin/sh\nexec sleep 1000\n"


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Iterator[Host]:
    host = open_sandbox(tmp_path, run_services=True)
    config = File(CONFIG, Inline(b"{}"))
    wants = [
        Directory(K, Protection.PROGRAM),
        File(PROGRAM, Inline(SLEEPER), Protection.PROGRAM),
        config,
        Service("kubelet", PROGRAM, reads=(config.key,)),
    ]
    make_so(host, Specification.of(wants), Silent())
    yield host
    for name in ("wmcb", "kubelet"):
        with suppress(HostError):
            host.services.stop(name)
            host.services.wait(name, ServiceState.STOPPED, LIMIT_SECONDS)


@pytest.fixture
def wmcb(tmp_path: pathlib.Path, host: Host) -> list[str]:
    """The service runs, and has seen all."""
    words = ["--sandbox", str(tmp_path), "--sandbox-run"]
    assert run([*words, "daemon", "install"]) == 0
    assert run([*words, "daemon", "run"]) == 0
    made = PureWindowsPath(r"C:\ProgramData\wmcb\made")
    until(lambda: host.files.observe(made) is not None and len(host.files.list(made)) == 2)
    return words


def test_keys_that_an_ended_process_left_go_when_it_starts(
    tmp_path: pathlib.Path, host: Host, wmcb: list[str]
) -> None:
    host.services.stop("wmcb")
    host.services.wait("wmcb", ServiceState.STOPPED, LIMIT_SECONDS)
    tls = PureWindowsPath(r"C:\ProgramData\wmcb\tls")
    host.files.make_directory(tls, PRIVATE_DIRECTORY)
    host.files.write(tls / "0123456789abcdef.pem", b"a key", PRIVATE_FILE)
    os.utime(tmp_path / "ProgramData" / "wmcb" / "tls" / "0123456789abcdef.pem", (0, 0))
    assert run([*wmcb, "daemon", "run"]) == 0
    until(lambda: host.files.observe(tls) is None)


def pid(host: Host) -> int | None:
    status = host.services.status("kubelet")
    return status.pid if status.state is ServiceState.RUNNING else None


def test_killed_changed_paused_and_reset(
    wmcb: list[str], host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    former = pid(host)
    assert former
    os.kill(former, signal.SIGKILL)
    until(lambda: pid(host) not in (None, former))

    host.files.write(CONFIG, b"another", PRIVATE_FILE)
    until(lambda: host.files.read(CONFIG) == b"{}")

    until(lambda: pid(host))
    assert run([*wmcb, "daemon", "pause", "--for", "1h30m"]) == 0
    assert "repairs are paused until 2" in capsys.readouterr().out
    assert run([*wmcb, "status"]) == 0
    standing = capsys.readouterr().out
    assert "paused until 2" in standing
    assert "the resident service runs" in standing.splitlines()
    host.services.stop("kubelet")
    host.services.wait("kubelet", ServiceState.STOPPED, LIMIT_SECONDS)
    assert run([*wmcb, "daemon", "resume"]) == 0
    until(lambda: pid(host))

    assert run([*wmcb, "daemon", "install"]) == 0
    assert "the service wmcb runs, and starts with Windows" in capsys.readouterr().out.splitlines()

    assert run([*wmcb, "reset"]) == 0
    capsys.readouterr()
    assert run([*wmcb, "status"]) == 1
    nothing = ["wmcb has put nothing on this machine", "the resident service runs"]
    assert capsys.readouterr().out.splitlines() == nothing
    host.services.stop("wmcb")
    stopped = host.services.wait("wmcb", ServiceState.STOPPED, LIMIT_SECONDS)
    assert (stopped.exit_code, stopped.service_exit_code) == (0, 0)
    assert host.services.read("kubelet") is None
    assert host.files.observe(K) is None
    assert host.files.observe(PureWindowsPath(r"C:\ProgramData\wmcb")) is None


REFUSED = {
    "a run of nothing": (
        ["--sandbox-run", "run"],
        3,
        "--sandbox-run daemon install makes it",
    ),
    "a run on paper": (["run"], 2, "a sandbox starts programs with --sandbox-run alone"),
    "nothing to pause": (["pause"], 1, "there is nothing to pause"),
    "no span": (["pause", "--for", "soon"], 2, "--for soon: expected a span of time, such as 2h"),
    "no time at all": (["pause", "--for", "0s"], 2, "--for 0s: expected a span of time"),
}


@pytest.mark.parametrize(("words", "code", "told"), REFUSED.values(), ids=REFUSED)
def test_a_pause_that_cannot_be_is_one_line(
    tmp_path: pathlib.Path, words: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--sandbox", str(tmp_path), "daemon", *words]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_no_pause_no_end_of_it(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--sandbox", str(tmp_path), "daemon", "resume"]) == 0
    assert capsys.readouterr().out == "nothing to do: repairs were not paused\n"


def test_one_that_follows_nothing_loads_nothing_of_a_cluster() -> None:
    """TLS alone takes more memory than all the rest."""
    code = "import sys, service.keeping, service.program; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {part for each in done.stdout.split() for part in (each, each.rpartition(".")[0])}
    assert "agent.engine.repairing" in packages
    unneeded = {"agent.fetch", "agent.kube.client", "agent.sources", "cryptography", "http", "ssl", "yaml"}
    assert packages & unneeded == set()
