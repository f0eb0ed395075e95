"""What is made of the answer that a kubelet.exe gives, or that somebody gives for it."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Any, NoReturn

import pytest

from agent.cli.arguments import SANDBOX, Request
from agent.cli.asking import Asking
from agent.cli.failure import BadUsage
from agent.cli.given import GivenFile, named_file
from agent.cli.kubelet_program import kubelet_program, release_of
from agent.cli.options import KUBELET, KUBELET_VERSION
from agent.host.errors import HostError
from agent.host.port import Completed, Host
from agent.host.sandbox import open_sandbox
from sandbox.cli.given import program

RELEASES = [("1.12", "release 1.12"), ("1.16", ""), ("v1.36.3", ""), ("1.37", "release 1.37")]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return open_sandbox(tmp_path / "machine")


@pytest.fixture
def kubelet(tmp_path: Path) -> str:
    path = tmp_path / "kubelet.exe"
    path.write_bytes(program())
    return str(path)


def request(tmp_path: Path, kubelet: str, **said: str) -> Request:
    values = {SANDBOX.name: str(tmp_path / "machine"), KUBELET.name: kubelet, **said}
    return Request((), None, values)


def file(tmp_path: Path, kubelet: str, host: Host) -> GivenFile:
    return named_file(request(tmp_path, kubelet), KUBELET.name, kubelet, host)


@pytest.mark.parametrize(("release", "warning"), RELEASES)
def test_what_is_said_is_judged_as_what_the_program_says(
    release: str, warning: str, tmp_path: Path, kubelet: str, host: Host
) -> None:
    said: list[str] = []
    asking = Asking(notice=said.append)
    kubelet_program(request(tmp_path, kubelet, **{KUBELET_VERSION.name: release}), host, asking)
    told = Completed(0, f"Kubernetes v{release.removeprefix('v')}".encode(), b"")
    release_of(lambda: told, file(tmp_path, kubelet, host), asking)
    assert len(said) == (2 if warning else 0)
    assert all(f"{warning} is none of those known here, 1.16 to 1.36" in line for line in said)


def test_one_that_windows_cannot_run_is_said_in_plain_words(tmp_path: Path, kubelet: str, host: Host) -> None:
    def damaged(*_: Any) -> NoReturn:
        raise HostError("run", str(PureWindowsPath(r"C:\kubelet.exe")), 193)

    with pytest.raises(BadUsage, match="Windows cannot run it: it is damaged, or was cut short; fetch it"):
        release_of(damaged, file(tmp_path, kubelet, host), Asking())


@pytest.mark.parametrize(
    "says",
    ["wmcb 0.1.0 (1234567)\nPython 3.14.2\n", "containerd github.com/containerd v1.7.27 05044ec\n"],
)
def test_another_program_that_knows_its_version_is_no_kubelet(
    says: str, tmp_path: Path, kubelet: str, host: Host
) -> None:
    told = Completed(0, says.encode(), b"")
    with pytest.raises(BadUsage, match="it does not answer --version as a kubelet does"):
        release_of(lambda: told, file(tmp_path, kubelet, host), Asking())
