"""A node that lost what it is known by to its cluster is told so, before it asks for something new."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.host.protection import PRIVATE_FILE
from sandbox.cli.given import Machine

CREDENTIALS = PureWindowsPath(r"C:\var\lib\kubelet\kubeconfig")
SAYS = rf"{CREDENTIALS} is not there: without these credentials service kubelet asks its cluster for new ones"


@pytest.fixture
def node(machine: Machine) -> Machine:
    assert machine.wmcb(*machine.node).code == 0
    machine.host.files.write(CREDENTIALS, b"made by a kubelet", PRIVATE_FILE)
    # In a sandbox a kubelet runs on paper alone, and is not expected to write anything.
    machine.host.services.stop("kubelet")
    return machine


def test_a_run_says_that_they_are_gone(node: Machine) -> None:
    node.host.files.remove(CREDENTIALS)
    answer = node.wmcb(*node.node)
    assert answer.code == 0
    assert answer.error_lines[0].startswith(f"wmcb: warning: {SAYS}")
    assert SAYS in node.read(r"C:\ProgramData\wmcb\logs\wmcb.log").decode()


def test_while_they_are_there_nothing_is_said(node: Machine) -> None:
    assert SAYS not in node.wmcb(*node.node).err


def test_of_a_new_node_none_are_expected(machine: Machine) -> None:
    assert SAYS not in machine.wmcb(*machine.node).err
