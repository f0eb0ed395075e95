"""The lab itself: a node looked at as a whole, and a program that is killed on its way."""

from __future__ import annotations

import pytest

from lab.node import Node
from lab.services import State
from lab.standin_kubelet import StandinKubelet

PYTHON = r"Z:\python\python.exe"


def test_nothing_is_told_where_nothing_was_left(node: Node) -> None:
    """Programs, users, services and a reboot: what Wine itself changes by them is all in its table."""
    before = node.snapshot()
    (node.c / "k").mkdir()
    StandinKubelet(node, r"C:\k\kubelet.exe")
    node.create_service("kubelet", r"C:\k\kubelet.exe --windows-service", automatic=True)
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    node.reboot()
    node.wait_for_service("kubelet", State.RUNNING)
    node.stop_service("kubelet")
    node.wait_for_service("kubelet", State.STOPPED)
    node.delete_service("kubelet")
    node.run("cmd.exe", "/c", r"rd /s /q C:\k")
    node.run("cmd.exe", "/c", "ver", as_user=True)
    node.python("-c", "import ssl, socket", console=65001)
    assert before.changes_until(node.snapshot()) == []


def test_what_a_program_leaves_is_told(node: Node) -> None:
    before = node.snapshot()
    node.run("cmd.exe", "/c", r"echo x> C:\windows\temp\left")
    node.run("reg.exe", "add", r"HKLM\Software\Lab", "/v", "Left", "/d", "yes")
    node.run("reg.exe", "add", r"HKCU\Environment", "/v", "Left", "/d", "yes")
    told = before.changes_until(node.snapshot())
    assert [line.partition(": ")[0] for line in told] == [
        r"C:\windows\temp\left",
        r"HKEY_LOCAL_MACHINE\Software\Lab",
        r"HKEY_LOCAL_MACHINE\Software\Lab\Left",
        r"HKEY_USERS\S-1-5-21-0-0-0-1000\Environment\Left",
    ]


def test_a_text_is_found_wherever_it_was_left(node: Node) -> None:
    (node.c / "small").write_bytes(b"\0\xffhunter2\n")
    (node.c / "windows" / "large").write_bytes("x hunter2".encode("utf-16-le"))
    node.run("reg.exe", "add", r"HKLM\Software\Lab", "/v", "Left", "/d", "is hunter2")
    assert node.holding("hunter2") == [r"C:\small", r"C:\windows\large", "HKLM"]
    assert node.holding("hunter3") == []


COUNTING = r"""
import pathlib, time
for number in range(3):
    pathlib.Path(f'C:/counted/{number}').touch()
time.sleep(600)
pathlib.Path('C:/counted/3').touch()
"""


def test_a_program_is_killed_half_way(node: Node) -> None:
    counted = node.c / "counted"
    counted.mkdir()
    third = counted / "2"
    assert node.run_until(third.exists, PYTHON, "-c", COUNTING).code != 0
    assert not node.processes("python.exe")
    assert sorted(path.name for path in counted.iterdir()) == ["0", "1", "2"]


def test_a_program_that_ends_before_it_can_be_killed_is_told(node: Node) -> None:
    with pytest.raises(AssertionError, match="ended too soon"):
        node.run_until(lambda: False, PYTHON, "-c", "pass")
