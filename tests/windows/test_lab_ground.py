"""The lab itself: what it stands on, and that nothing gets out of it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lab import machine, namespace, windows_python, wine
from lab.fixtures import demand_the_lab
from lab.means import Missing
from lab.node import Node

pytestmark = pytest.mark.usefixtures("the_lab")


@pytest.fixture
def the_lab() -> None:
    demand_the_lab()


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """A copy of what of the Windows Python is signed."""
    copy = tmp_path / "python"
    shutil.copytree(wine.outside(windows_python.PLACE) / "DLLs", copy / "DLLs")
    for program in wine.outside(windows_python.PLACE).glob("python*.*"):
        shutil.copy(program, copy)
    return copy


def test_the_windows_python_is_signed_by_its_publisher(interpreter: Path) -> None:
    windows_python.check_signatures(interpreter)


def alter(program: Path) -> None:
    content = bytearray(program.read_bytes())
    content[len(content) // 2] ^= 1
    program.write_bytes(content)


def put_unsigned(program: Path) -> None:
    shutil.copy(wine.outside("/lab/programs/scm.exe"), program)


def put_somebody_elses(program: Path) -> None:
    shutil.copy(wine.outside(windows_python.PLACE) / "vcruntime140.dll", program)


@pytest.mark.parametrize("harm", [alter, put_unsigned, put_somebody_elses])
@pytest.mark.parametrize("program", ["python.exe", "python313.dll", "DLLs/_ssl.pyd", "DLLs/libcrypto-3.dll"])
def test_a_windows_python_that_is_not_the_publishers_is_refused(
    interpreter: Path, program: str, harm: object
) -> None:
    assert callable(harm)
    harm(interpreter / program)
    with pytest.raises(Missing, match=f"{Path(program).name} is not validly signed"):
        windows_python.check_signatures(interpreter)


def test_what_is_imported_comes_from_our_lock() -> None:
    installed = {
        path.name.rsplit(".", 1)[0].split("-")[0].lower().replace("_", "-")
        for path in (wine.outside(windows_python.PLACE) / "Lib" / "site-packages").glob("*.dist-info")
    }
    lock = (namespace.REPOSITORY.source / "packaging/locks/windows-dev.txt").read_text()
    locked = {line.split("==")[0] for line in lock.splitlines() if "==" in line}
    assert installed - {"pip"} == locked - {windows_python.LEFT_OUT}


def test_there_is_no_way_out() -> None:
    routes = json.loads(subprocess.run(["ip", "-j", "route"], capture_output=True, check=True).stdout)
    assert [route["dst"] for route in routes] == ["10.77.0.0/24"]
    with socket.socket() as outwards, pytest.raises(OSError, match="unreachable"):
        outwards.connect(("192.0.2.1", 80))


def test_there_is_no_ipv6() -> None:
    addresses = json.loads(subprocess.run(["ip", "-j", "-6", "addr"], capture_output=True, check=True).stdout)
    assert addresses == []


def test_windows_has_the_labs_address_and_name(node: Node) -> None:
    program = "import socket; print(socket.gethostname(), socket.gethostbyname(socket.gethostname()))"
    assert node.python("-c", program).out.split() == [namespace.HOST_NAME, namespace.ADDRESS]


def test_the_root_and_the_prepared_prefix_cannot_be_changed(node: Node) -> None:
    with pytest.raises(OSError, match="Read-only"):
        (wine.root() / "somebody").touch()
    before = (machine.prepared_prefix() / "drive_c/windows/system32/pdh.dll").read_bytes()
    node.path(r"C:\windows\system32\pdh.dll").write_bytes(b"changed")
    assert (machine.prepared_prefix() / "drive_c/windows/system32/pdh.dll").read_bytes() == before


def test_everything_ends_with_the_command() -> None:
    """A lab within the lab: the inner one's processes are seen from here, and are gone when it ends."""
    marker = "wmcb-lab-left-behind"
    inner = f"exec -a {marker} sleep 1000 & echo started"
    assert namespace.enter(["bash", "-c", inner]) == 0
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if marker.encode() in _content(path)]
    assert left == []


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(("environment", "outcome"), [({}, "1 skipped"), ({"CI": "true"}, "1 error")])
def test_outside_the_lab_a_test_says_so(tmp_path: Path, environment: dict[str, str], outcome: str) -> None:
    (tmp_path / "test_it.py").write_text("from lab.fixtures import node\ndef test_it(node): pass\n")
    clean = {k: v for k, v in os.environ.items() if k not in {namespace.ROOT_VARIABLE, "CI"}}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", str(tmp_path)],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in ran.stdout
    assert "needs the lab: start it by" in ran.stdout
