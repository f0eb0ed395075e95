"""Who writes the kubelet's log, and who shows it."""

from __future__ import annotations

import re

import pytest

from agent import log_runner
from agent.host.protection import PRIVATE_FILE
from agent.sources.worker import KUBELET_LOG
from sandbox.cli.given import WORKER, Machine, program

RUNNER = program(tail=b"kube-log-runner")
LOG = r"--log-file=C:\var\log\kubelet\kubelet.log"
KUBELET = r"C:\k\kubelet.exe"


def command(machine: Machine) -> list[str]:
    installed = machine.host.services.read("kubelet")
    assert installed is not None
    return list(installed.definition.command)


def before_the_kubelet(machine: Machine) -> list[str]:
    given = command(machine)
    return given[: given.index(KUBELET)]


@pytest.mark.parametrize(
    ("version", "rotation"),
    [("1.33", []), ("1.34", ["--log-file-size=100000000", "--log-file-age=168h"])],
)
def test_kubernetes_own_is_taken_where_it_lies_beside(
    version: str, rotation: list[str], machine: Machine
) -> None:
    """By the flags of its age."""
    machine.give("given/kube-log-runner.exe", RUNNER)
    assert machine.wmcb(*machine.node[:-1], version).code == 0
    assert before_the_kubelet(machine) == [r"C:\k\kube-log-runner.exe", LOG, *rotation, "--"]
    assert machine.read(r"C:\k\kube-log-runner.exe") == RUNNER


def test_it_may_lie_elsewhere(machine: Machine) -> None:
    given = machine.give("elsewhere/runner.exe", RUNNER)
    assert machine.wmcb(*machine.node, "--log-runner", given).code == 0
    assert before_the_kubelet(machine)[0] == r"C:\k\kube-log-runner.exe"
    assert machine.read(r"C:\k\kube-log-runner.exe") == RUNNER


def test_in_its_place_it_is_not_copied(machine: Machine) -> None:
    machine.put(KUBELET, program())
    machine.put(r"C:\k\kube-log-runner.exe", RUNNER)
    words = ("--ignition", str(WORKER), "--kubelet", KUBELET, "--kubelet-version=1.34")
    assert machine.wmcb(*words).code == 0
    assert before_the_kubelet(machine)[0] == r"C:\k\kube-log-runner.exe"
    machine.wmcb("reset")
    assert machine.read(r"C:\k\kube-log-runner.exe") == RUNNER


def test_otherwise_ours_is_taken(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_runner, "bundled_file", {"wmcb-log.exe": program(tail=b"ours")}.get)
    assert machine.wmcb(*machine.node).code == 0
    assert before_the_kubelet(machine)[:2] == [r"C:\k\wmcb-log.exe", LOG]
    assert machine.read(r"C:\k\wmcb-log.exe") == program(tail=b"ours")


def test_from_source_there_is_none(machine: Machine) -> None:
    assert machine.wmcb(*machine.node).code == 0
    assert before_the_kubelet(machine) == []


def test_one_that_is_no_program_is_refused(machine: Machine) -> None:
    given = machine.give("given/kube-log-runner.exe", program(0xAA64))
    answer = machine.wmcb(*machine.node)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"wmcb: --kubelet {given}: it is a program for ARM64; one for x86-64 is needed\n"


def test_status_shows_the_last_lines_after_all_else(machine: Machine) -> None:
    machine.give("given/kube-log-runner.exe", RUNNER)
    machine.wmcb(*machine.node)
    assert "Last lines" not in machine.wmcb("status").out
    lines = [f"line {number}" for number in range(2000)]
    machine.host.files.append(KUBELET_LOG, "\n".join(lines).encode(), PRIVATE_FILE)
    verdict, heading, one, two, three, four, five = machine.wmcb("status").out.splitlines()
    assert re.fullmatch("([0-9]+) of \\1 as wanted, from .*", verdict)
    assert heading == r"Last lines of C:\var\log\kubelet\kubelet.log:"
    assert [one, two, three, four, five] == [f"    {line}" for line in lines[-5:]]
    document = machine.wmcb("status", "--output", "json").document
    assert document["logs"] == {str(KUBELET_LOG): lines[-5:]}
