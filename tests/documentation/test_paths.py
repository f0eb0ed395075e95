"""The table of paths in the reference, compared with machines that were made nodes."""

from __future__ import annotations

import hashlib
import runpy
from pathlib import PureWindowsPath

import pytest

from agent.host import protection
from documentation.blocks import ROOT
from sandbox.cli.conftest import bare, machine
from sandbox.cli.given import Machine, program
from sandbox.cli.test_join import Cluster, cluster, join, windows
from sandbox.cli.test_user_data import carry_out, given
from service import installation, succession
from service.program_folder import hand_over_folder

__all__ = ["bare", "cluster", "given", "machine", "windows"]

REFERENCE = runpy.run_path(str(ROOT / "docs" / "reference.py"))
KINDS = {PureWindowsPath(path): kind for path, kind, _ in REFERENCE["PATHS"]}
OF_WINDOWS = ("Program Files", "ProgramData", "Users", "Windows")
"""What is in them is Windows', but for what is called wmcb."""
OF_THE_DOCUMENT = PureWindowsPath(r"C:\opt")
"""Which the user data of the test names itself."""
BY_USER_DATA = {path for path in KINDS if PureWindowsPath(r"C:\run") in (path, *path.parents)}
BY_HAND_OVER = {path for path in KINDS if "wmcb-hand-over" in path.parts}
UNTIL_THE_JOIN_HAS_ENDED = PureWindowsPath(r"C:\run\kubeadm\kubeadm-join-config.yaml")


def test_all_that_is_on_nodes_is_as_the_table_says(windows: Machine, cluster: Cluster) -> None:
    """Prepared, joined, and with the resident service; every path of the table is met."""
    brought = windows.folder / "brought"
    brought.mkdir()
    (brought / "kubelet.exe").write_bytes(program())
    (brought / "kubelet.exe.sha256").write_text(hashlib.sha256(program()).hexdigest())
    prepared = windows.wmcb("prepare", "--kubernetes-version", "v1.36.3", "--artifacts", str(brought))
    assert prepared.code == 0, prepared.err
    joined = join(windows, cluster)
    assert joined.code == 0, joined.err
    mirror = ("--mirror", "https://a/=https://me:swordfish@b/")
    assert windows.wmcb("daemon", "install", *mirror).code == 0
    assert set(KINDS) - check(windows) == BY_USER_DATA | BY_HAND_OVER


def test_by_another_program_that_takes_its_place(windows: Machine) -> None:
    assert windows.wmcb("daemon", "install").code == 0
    host = windows.host
    installation.ensure_folder(host.files, hand_over_folder(host))
    version = succession.Version("1.0.0")
    succession.begin(host, succession.Succession(), succession.Trial("0" * 64, version, "", 60.0, ()))
    assert check(windows) >= BY_HAND_OVER


def test_by_user_data(windows: Machine, given: str) -> None:
    answer = carry_out(windows, given)
    assert answer.code == 0, answer.err
    assert BY_USER_DATA - check(windows) == {UNTIL_THE_JOIN_HAS_ENDED}


def test_of_an_ignition(machine: Machine) -> None:
    assert machine.wmcb(*machine.node).code == 0
    assert len(check(machine)) > 10


def check(of: Machine) -> set[PureWindowsPath]:
    """The rows that something was found for."""
    met = set()
    for entry in sorted(of.place.rglob("*")):
        path = PureWindowsPath("C:\\", *entry.relative_to(of.place).parts)
        is_ours = any(part.startswith("wmcb") for part in path.parts)
        if path.parts[1] == ".sandbox" or (path.parts[1] in OF_WINDOWS and not is_ours):
            continue
        if OF_THE_DOCUMENT in (path, *path.parents):
            continue
        row = next(each for each in (path, *path.parents) if each in KINDS)
        names, _ = REFERENCE["PROTECTIONS"][KINDS[row]]
        expected = {getattr(protection, name) for name in names}
        assert of.host.files.descriptor(path) in expected, f"{path} by the row {row}"
        met.add(row)
    return met


@pytest.mark.parametrize("name", [name for names, _ in REFERENCE["PROTECTIONS"].values() for name in names])
def test_each_kind_of_protection_is_one_of_ours(name: str) -> None:
    assert getattr(protection, name).protected
