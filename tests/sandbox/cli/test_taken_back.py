"""A run that is taken back says what the machine is again, not by which steps."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.cli import engine_run
from agent.engine.undoing import Undone
from agent.host.protection import PROGRAM_FILE
from agent.host.services import ServiceDefinition, ServiceState
from agent.resources import service
from sandbox.cli.given import Machine, program
from sandbox.cli.test_artifacts import ARCHIVE, given
from unit.fetch.servers import Server, ok

KUBELET = r"C:\k\kubelet.exe"


@pytest.fixture
def node(machine: Machine) -> Machine:
    machine.host.services.start("containerd")
    assert machine.wmcb(*machine.node).code == 0
    return machine


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Programs that are asked for their release."""
    programs: list[str] = []

    def release(_: object, program: str) -> str:
        programs.append(program)
        return "Kubernetes v1.30.2"

    monkeypatch.setattr(engine_run, "_release", release)
    return programs


def fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.resources.service._start", failing_once())


def failing_once() -> object:
    start, calls = service._start, iter([True])

    def fails(*given: object) -> None:
        if next(calls, False):
            raise ZeroDivisionError
        start(*given)  # type: ignore[arg-type]

    return fails


def test_a_failed_upgrade_says_which_kubelet_runs_again(
    node: Machine, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    node.give("given/kubelet.exe", program(tail=b"newer"))
    fail(monkeypatch)
    answer = node.wmcb(*node.node)
    assert answer.code == 1
    *_, going, kubelet, service, last = answer.error_lines
    assert going == "taking back what was done"
    assert kubelet == rf"{KUBELET} is again Kubernetes v1.30.2"
    assert service == "service kubelet runs again"
    assert last.endswith("; the machine is as it was before")
    assert asked == [KUBELET]
    assert (
        rf"{KUBELET} is again Kubernetes v1.30.2" in node.read(r"C:\ProgramData\wmcb\logs\wmcb.log").decode()
    )


def test_of_a_first_run_nothing_is_left(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch)
    answer = machine.wmcb(*machine.node)
    gone = answer.error_lines[-2]
    assert gone.startswith("gone again: ")
    assert " directories, " in gone
    assert gone.endswith(" files, service kubelet")


def test_a_program_that_nothing_runs_is_not_started_to_be_asked(
    machine: Machine, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may have put it there."""
    machine.put(KUBELET, program(tail=b"somebody's"))
    fail(monkeypatch)
    answer = machine.wmcb(*machine.node)
    assert rf"{KUBELET} is again the one of before" in answer.error_lines
    assert asked == []


def test_a_service_that_did_not_run_is_not_said_to_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.put(r"C:\old\kubelet.exe", program())
    machine.host.services.create(ServiceDefinition("kubelet", (r"C:\old\kubelet.exe",)))
    fail(monkeypatch)
    answer = machine.wmcb(*machine.node)
    assert "service kubelet is as it was set up before, and stopped" in answer.error_lines
    assert machine.host.services.status("kubelet").state is ServiceState.STOPPED


def test_every_step_is_shown_on_request(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch)
    assert rf"take back file {KUBELET}" in machine.wmcb("-v", *machine.node).error_lines


def test_what_an_interrupted_run_had_done_is_told_as_a_result(
    node: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = but_for_wmcbs_own(node)
    node.give("given/kubelet.exe", program(tail=b"newer"))
    with monkeypatch.context() as patch:
        patch.setattr("agent.engine.run.undo", lambda *_: Undone("node", ("the power went",)))
        fail(patch)
        assert node.wmcb(*node.node).code == 1
    plan = node.wmcb("plan", *node.node)
    assert plan.out.splitlines()[0] == (
        "The last run was interrupted after 3 steps: this one would go on from there,"
        " or take them back with --rollback."
    )
    assert node.wmcb("plan", *node.node, "--output=json").document["interrupted"] is True
    answer = node.wmcb("--rollback")
    assert answer.err == "taking back what was done\n"
    assert answer.out.splitlines() == [
        "the machine is as it was before the interrupted run",
        rf"  {KUBELET} is again the one of before",
        "  service kubelet runs again",
    ]
    assert but_for_wmcbs_own(node) == before
    assert node.wmcb("plan", *node.node, "--output=json").document["interrupted"] is False


def test_of_a_first_run_that_was_interrupted_nothing_is_counted(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.engine.run.undo", lambda *_: Undone("node", ("the power went",)))
    fail(monkeypatch)
    assert machine.wmcb(*machine.node).code == 1
    assert machine.wmcb("status") == (
        1,
        "the last run was interrupted: run it again to finish it, or "
        f"{machine.called} --rollback to take it back\n",
        "",
    )


def test_what_was_fetched_for_it_goes_when_a_person_takes_it_back(
    node: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(ok(ARCHIVE)) as server:
        feature = (
            "windowsFeatures: [{name: TelnetClient}]\nservices: [{name: tool, program: 'C:\\t\\a.exe'}]\n"
        )
        document = given(node, server.url("/tools.tar.gz"), more=feature)
        with monkeypatch.context() as patch:
            patch.setattr("agent.engine.run.undo", lambda *_: Undone("node", ("the power went",)))
            fail(patch)
            assert node.wmcb("prepare", *document).code == 1
    fetched = node.place / "ProgramData" / "wmcb" / "given"
    assert fetched.exists()
    lines = node.wmcb("--rollback").out.splitlines()
    assert not fetched.exists()
    assert [line for line in lines if "TelnetClient" in line] == [
        "  Windows feature TelnetClient stays enabled: others may rely on it by now"
    ]


def but_for_wmcbs_own(machine: Machine) -> dict[str, object]:
    return {name: seen for name, seen in machine.picture().items() if r"C:\ProgramData\wmcb" not in name}


def test_more_files_than_can_be_read_are_counted(node: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ca.crt", "kubeconfig", "kubelet.conf", "kubelet-ca.crt"):
        node.host.files.write(PureWindowsPath(r"C:\etc\kubernetes") / name, b"drifted", PROGRAM_FILE)
    fail(monkeypatch)
    assert "4 files are again what they were" in node.wmcb(*node.node).error_lines
