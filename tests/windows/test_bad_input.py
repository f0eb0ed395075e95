"""What cannot be meant or done, told by the exe: one line, its exit code, and a machine that is as it was."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.node import Node
from lab.running import Result
from lab.services import State
from lab.snapshot import files_below
from lab.waiting import until
from lab.web import Page, Web
from lab.windows_python import PROGRAM as PYTHON
from sandbox.cli import test_bad_input as sandboxed
from unit.fetch.authority import issue
from windows.test_bootstrap import DOCUMENT, GIVEN, Machine

OTHER = issue("other", authority=True)


@pytest.fixture
def machine(node: Node) -> Machine:
    return Machine(node)


def bootstrap(machine: Machine, *more: str) -> Result:
    return machine.bootstrap("--max-time", "1", *more)


def the_line(result: Result) -> str:
    (line,) = [line for line in result.err.splitlines() if "warning" not in line]
    return line


def test_documents(machine: Machine) -> None:
    """All that a sandbox is given, on one machine: limits of time and memory are Windows' here."""
    place = machine.node.path(DOCUMENT)
    before = machine.node.snapshot()
    usual = place.read_bytes()
    for case in sandboxed.DOCUMENTS:
        given = case.document()
        place.write_bytes(given if isinstance(given, bytes) else given.encode())
        refused = bootstrap(machine)
        assert (refused.code, refused.out) == (2, ""), case.name
        assert case.says.format(file=DOCUMENT) in the_line(refused), case.name
    place.write_bytes(usual)
    assert before.changes_until(machine.node.snapshot()) == []


def test_sources(machine: Machine, secure_web: Web) -> None:
    secure_web.pages["/worker"] = Page(machine.node.path(DOCUMENT).read_bytes())
    sources = {
        "nobody there": ("https://10.77.0.1:9/worker", "10.77.0.1:9"),
        "no such name": ("https://nowhere.test/worker", "nowhere.test"),
        "another authority": (secure_web.url("/worker"), "which is not trusted here"),
    }
    for name, (url, says) in sources.items():
        machine.node.path(DOCUMENT).write_text(sandboxed.pointer(url, OTHER.pem))
        before = files_below(machine.node.c)
        # What passes is tried again for as long as that; that nobody is trusted is told at once.
        refused = machine.bootstrap() if "trusted" in says else bootstrap(machine)
        assert (refused.code, refused.out) == (1, ""), name
        last = refused.err.splitlines()[-1]
        assert "at $.ignition.config.merge.0.source: " in last, name
        assert says in last, name
        # Not the registry: Wine fills its stores of authorities there when they are opened first.
        assert files_below(machine.node.c) == before, name


def test_an_install_directory_that_is_a_file(machine: Machine) -> None:
    machine.node.path(r"C:\k").write_text("mine")
    before = machine.node.snapshot()
    refused = bootstrap(machine)
    assert (refused.code, refused.out) == (1, "")
    assert the_line(refused) == "wmcb: C:\\k is a file, where a folder is to be; move it away"
    changed = before.changes_until(machine.node.snapshot())
    assert [line for line in changed if not line.startswith(r"C:\ProgramData\wmcb")] == []


@contextmanager
def small_disk(node: Node, size: int) -> Iterator[Path]:
    """Drive D:, as Linux sees it."""
    prefix = node.c.parent
    place = prefix / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)], check=True)
    drive = place / "d"  # not the mount itself, which Wine takes for one of Windows'
    drive.mkdir()
    (prefix / "dosdevices" / "d:").symlink_to("../small/d")
    try:
        yield drive
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk(machine: Machine) -> None:
    """Preflight sees it; whoever does not heed that gets all of it taken back."""
    size = len(machine.given.content)
    with small_disk(machine.node, size // 2) as disk:
        before = machine.node.snapshot()
        refused = bootstrap(machine, "--install-dir", r"D:\k")
        assert (refused.code, refused.out) == (3, "")
        assert the_line(refused).startswith("wmcb: disk: D: has "), refused.err
        assert before.changes_until(machine.node.snapshot()) == []
        heedless = ("--ignore-preflight-errors", "containerd-pipe,disk")
        words = ("--ignition", DOCUMENT, "--kubelet", GIVEN, "--install-dir", r"D:\k")
        failed = machine.wmcb(*words, *heedless)
        assert (failed.code, failed.out) == (1, "")
        assert failed.err.splitlines()[-1] == (
            r"wmcb: cannot write D:\k\kubelet.exe: the disk is full (Windows error 112)"
            "; the machine is as it was before"
        )
        changed = before.changes_until(machine.node.snapshot())
        assert [line for line in changed if not line.startswith(r"C:\ProgramData\wmcb")] == []
        assert list(disk.iterdir()) == []


HOLDING = """
import socket, sys, time
port = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("held", flush=True)
time.sleep(600)
"""
SERVING = r"""
import time, win32pipe
pipe = win32pipe.CreateNamedPipe(r"\\.\pipe\containerd-containerd", 3, 0, 1, 512, 512, 0, None)
print("served", flush=True)
time.sleep(600)
"""


def test_what_preflight_finds_on_a_machine(machine: Machine) -> None:
    """Each check by what Windows says: a sandbox is told in a file."""
    node = machine.node

    def found(**circumstances: bool) -> dict[str, tuple[str, str]]:
        words = ("preflight", "--ignition", DOCUMENT, "--kubelet", GIVEN, "--output", "json")
        told = json.loads(machine.wmcb(*words, as_user=circumstances.get("as_user", False)).out)
        return {each["id"]: (each["verdict"], each["text"]) for each in told["checks"]}

    fit = found()
    verdicts = {name: verdict for name, (verdict, _) in fit.items() if verdict != "ok"}
    assert verdicts == {"windows-build": "warning", "containerd-pipe": "not checked"}
    assert fit["kubelet"][1] == "a Windows program for x86-64, Kubernetes 1.31"
    assert found(as_user=True)["administrator"][0] == "error"

    node.start_service("containerd")
    node.wait_for_service("containerd", State.RUNNING)
    assert found()["containerd-pipe"][0] == "error"
    programs = [node.start(PYTHON, "-c", SERVING), node.start(PYTHON, "-c", HOLDING, "10250")]
    for program in programs:
        until(lambda program=program: program.stdout, "it has begun")  # type: ignore[misc]
    held = found()
    assert held["containerd-pipe"][0] == "ok"
    assert held["port-10250"] == (
        "error",
        rf"port 10250 is held by {PYTHON} (process {programs[1].windows_pid});"
        " stop that, the kubelet needs the port",
    )
    assert held["port-10248"][0] == "ok"
    refused = machine.bootstrap()
    assert (refused.code, refused.out) == (3, "")
    assert the_line(refused).startswith("wmcb: port-10250: port 10250 is held by ")
    node.stop_service("containerd")
    node.wait_for_service("containerd", State.STOPPED)
    node.delete_service("containerd")
    assert found()["containerd-service"][0] == "error"
