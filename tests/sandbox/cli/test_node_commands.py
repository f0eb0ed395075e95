"""A node from the command line: made, looked at, mended, taken away."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import sys
from dataclasses import replace
from pathlib import PureWindowsPath

import pytest

from agent.cli import main
from agent.engine.machine_lock import COMMAND_LOCK, LOCK
from agent.host.errors import AccessDenied, ProgramRunning
from agent.host.files import Examined
from agent.host.protection import PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.sandbox.files import SandboxFiles
from agent.host.sddl import SecurityDescriptor
from agent.host.services import InstalledService, ServiceState
from agent.sources.kubelet.node import NEWEST
from agent.sources.worker import KUBELET_LOG
from sandbox.cli.given import CONTAINERD, WORKER, Machine, program
from sandbox.engine.world import changed

C_WMCB = PureWindowsPath(r"C:\ProgramData\wmcb")
KUBELET = PureWindowsPath(r"C:\k\kubelet.exe")
NOT_STARTED = (
    "  service kubelet was not started, but written down as running:"
    " a sandbox starts programs with --sandbox-run alone\n"
)


def resources(machine: Machine) -> int:
    """Of a node by the usual options."""
    document = machine.wmcb("plan", *machine.node, "--output", "json").document
    return len(document["changes"]) + len(document["unchanged"])


@pytest.fixture
def node(machine: Machine) -> Machine:
    machine.host.services.start("containerd")
    assert machine.wmcb(*machine.node).code == 0
    return machine


def test_a_node_is_made(machine: Machine) -> None:
    number = resources(machine)
    answer = machine.wmcb(*machine.node)
    assert (answer.code, answer.out) == (
        0, f"this machine is a node\n  {number} created, 0 as they were\n{NOT_STARTED}"
    )  # fmt: skip
    assert re.fullmatch(r"create \d+ directories and \d+ files\ncreate service kubelet\n", answer.err)
    assert machine.host.services.status("kubelet").state is ServiceState.RUNNING
    assert machine.host.files.read(KUBELET) == program()


def test_again_nothing_is_done(node: Machine) -> None:
    before = node.picture()
    answer = node.wmcb(*node.node)
    assert answer == (0, "nothing to do: this machine is the node that is wanted\n", "")
    after = node.picture()
    log = r"file C:\ProgramData\wmcb\logs\wmcb.log"
    assert {name: after[name] for name in after if name != log} == {
        name: before[name] for name in before if name != log
    }


def test_a_plan_changes_nothing(machine: Machine) -> None:
    number = resources(machine)
    before = machine.picture()
    for words in (("plan", *machine.node), (*machine.node, "--dry-run")):
        answer = machine.wmcb(*words)
        assert (answer.code, answer.err) == (0, "")
        lines = answer.out.splitlines()
        assert lines[0] == r"+ create    directory C:\etc"
        assert lines[-1] == f"{number} to create, 0 as they are to be"
        assert any(line.startswith("  dropped  flag --runtime-cgroups ") for line in lines)
    assert machine.picture() == before


def test_what_was_added_on_the_way_is_shown_on_request(machine: Machine) -> None:
    assert "  added " not in machine.wmcb("plan", *machine.node).out
    assert "  added " in machine.wmcb("plan", *machine.node, "-v").out


def test_drift_is_told_and_mended(node: Machine) -> None:
    number = resources(node)
    assert node.wmcb("status") == (0, f"{number} of {number} as wanted, from {WORKER}, Ignition 3.4.0\n", "")
    node.host.files.write(KUBELET, b"MZ planted", PROGRAM_FILE)
    node.host.services.stop("kubelet")
    answer = node.wmcb("status")
    assert answer.code == 1
    assert answer.out.splitlines()[0] == r"~ file C:\k\kubelet.exe"
    assert "    state: STOPPED -> RUNNING" in answer.out.splitlines()
    *_, advice, counted = answer.out.splitlines()
    again = f"wmcb --ignition {WORKER} --kubelet {node.kubelet} --kubelet-version 1.31 --sandbox {node.place}"
    assert advice == f"run this again to repair that: {again}"
    assert node.wmcb("status", "--output", "json").document["command"] == again
    assert counted.startswith(f"{number - 2} of {number} as wanted")
    mended = node.wmcb(*node.node)
    assert mended.out == f"this machine is a node\n  2 changed, {number - 2} as they were\n{NOT_STARTED}"
    assert node.wmcb("status").code == 0


def test_another_kubelet_takes_its_place(node: Machine) -> None:
    node.give("given/kubelet.exe", program(tail=b"newer"))
    answer = node.wmcb(*node.node)
    assert answer.err.splitlines() == [
        "stop service kubelet", r"change file C:\k\kubelet.exe", "restart service kubelet",
    ]  # fmt: skip
    assert node.host.files.read(KUBELET) == program(tail=b"newer")


def test_a_kubelet_that_is_in_its_place_is_not_copied(machine: Machine) -> None:
    machine.put(str(KUBELET), program())
    words = ("--ignition", str(WORKER), "--kubelet", str(KUBELET), "--kubelet-version=1.31")
    assert machine.wmcb(*words).code == 0
    assert machine.wmcb("reset").code == 0
    assert machine.host.files.read(KUBELET) == program()


def test_a_lost_memory_can_be_forgotten(node: Machine) -> None:
    state = PureWindowsPath(r"C:\ProgramData\wmcb")
    for memory in ("node.json", "node.json.copy"):
        node.host.files.write(state / memory, b"{", PRIVATE_FILE)
    assert "reset --forget" in node.wmcb("reset").err
    assert node.wmcb("reset", "--forget", "--dry-run").code == 2
    assert node.wmcb("reset", "--forget").code == 0
    assert node.host.files.list(state) == ["logs"]
    assert node.host.files.observe(KUBELET) is not None
    again = node.wmcb(*node.node)
    assert again.code == 0
    nothing, adopted = again.out.splitlines()
    assert nothing == "nothing to do: this machine is the node that is wanted"
    assert re.fullmatch(
        r"  service kubelet and \d+ other things were here, as wanted, before this run: a reset leaves them",
        adopted,
    )
    assert node.wmcb(*node.node).out == f"{nothing}\n"
    assert node.wmcb("reset").code == 0
    assert node.host.services.read("kubelet") is not None


@pytest.mark.skipif(sys.platform == "win32", reason="there the exe itself is installed")
def test_reset_names_the_resident_service_that_stays(node: Machine) -> None:
    assert node.wmcb("daemon", "install").code == 0
    foreseen = node.wmcb("reset", "--dry-run").out.splitlines()
    told = node.wmcb("reset").out.splitlines()
    uninstall = f"{node.called} daemon uninstall"
    stays = rf"  the resident service and C:\Program Files\wmcb stay: {uninstall} removes both"
    assert told == ["the machine is as it was before wmcb", stays]
    assert stays in foreseen
    assert node.wmcb("daemon", "uninstall").out == "the service wmcb and its program are gone\n"
    assert node.wmcb("daemon", "uninstall").out == "nothing to do: the resident service is not installed\n"


def test_reset_leaves_nothing(machine: Machine) -> None:
    machine.host.services.start("containerd")
    before = machine.picture()
    machine.wmcb(*machine.node)
    number = resources(machine)
    dry = machine.wmcb("reset", "--dry-run")
    assert dry.out.splitlines()[-1] == f"{number} to remove, 0 as they are to be"
    answer = machine.wmcb("reset")
    assert (answer.code, answer.out) == (0, "the machine is as it was before wmcb\n")
    assert machine.picture() == before


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("status",), 1, "wmcb has put nothing on this machine\n"),
        (("reset",), 0, "nothing to do: wmcb has put nothing on this machine\n"),
        (("--rollback",), 0, "nothing to take back: no run was interrupted\n"),
    ],
)
def test_on_a_machine_that_is_no_node(words: tuple[str, ...], code: int, says: str, bare: Machine) -> None:
    assert bare.wmcb(*words) == (code, says, "")


def test_changing_a_machine_takes_an_administrator(node: Machine) -> None:
    node.facts(administrator=False)
    for words in (("reset",), ("--rollback",), ("uninstall-kubelet",)):
        answer = node.wmcb(*words)
        assert (answer.code, answer.out) == (3, "")
        assert answer.err.endswith("needs an administrator: start it from an elevated prompt\n")


def test_a_plain_user_is_told_that_he_may_not_look(node: Machine) -> None:
    node.facts(administrator=False)
    for words in (("status",), ("plan", *node.node)):
        answer = node.wmcb(*words)
        assert (answer.code, answer.out) == (1, "")
        assert answer.error_lines[-1] == (
            f"wmcb: cannot ask for the protection of {C_WMCB}: access is denied (Windows error 5); "
            "start this from an elevated prompt, to see what administrators may"
        )


def test_what_may_not_be_looked_at_is_no_drift(node: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    host, number = node.host, resources(node)
    monkeypatch.setattr("agent.cli.status.open_to_look", lambda _: changed(host, files={"examine": examine}))

    def examine(path: PureWindowsPath, **more: bool) -> Examined | None:
        if path == KUBELET:
            raise AccessDenied("look at", str(path), 5)
        return host.files.examine(path, **more)

    assert node.wmcb("status") == (
        1,
        f"? file {KUBELET}: cannot look at {KUBELET}: access is denied (Windows error 5)\n"
        "1 thing could not be looked at: start this from an elevated prompt, to see what administrators may\n"
        f"{number - 1} of {number} as wanted, 1 not known, from {WORKER}, Ignition 3.4.0\n",
        "",
    )


def test_what_a_plain_user_may_not_see_of_a_service_is_no_drift(
    node: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows keeps a service's variables where only administrators can read them."""
    host = node.host
    for module in ("status", "machine"):
        monkeypatch.setattr(
            f"agent.cli.{module}.open_to_look", lambda _: changed(host, services={"read": read})
        )

    def read(name: str) -> InstalledService | None:
        installed = host.services.read(name)
        if name != "kubelet" or installed is None:
            return installed
        definition = replace(installed.definition, environment={})
        return replace(installed, definition=definition, unsupported=("environment",))

    unseen = "? service kubelet: its environment cannot be looked at: access is denied"
    assert node.wmcb("status").out.splitlines()[:-1] == [
        unseen,
        "1 thing could not be looked at: start this from an elevated prompt, to see what administrators may",
    ]
    not_compared = (
        "  could not be compared: environment of service kubelet; start this from an elevated prompt, to see "
        "what administrators may"
    )
    assert not_compared in node.wmcb("plan", *node.node).out.splitlines()
    assert not_compared.strip() in node.wmcb("plan", *node.node, "--output=json").document["remarks"]
    host.services.stop("kubelet")
    assert not_compared in node.wmcb("plan", *node.node).out.splitlines(), "also beside what is otherwise"
    assert node.wmcb("status").out.splitlines()[:3] == [
        unseen,
        "~ service kubelet",
        "    state: STOPPED -> RUNNING",
    ]


def test_a_reset_names_what_it_could_not_take_back_and_so_does_status(
    node: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove(files: SandboxFiles, path: PureWindowsPath) -> None:
        if path == KUBELET:
            raise ProgramRunning("remove", str(path), 5)
        removed(files, path)

    removed = SandboxFiles.remove
    with monkeypatch.context() as patched:
        patched.setattr(SandboxFiles, "remove", remove)
        answer = node.wmcb("reset")
    assert answer.code == 1
    assert answer.out.splitlines()[:3] == [
        "not all could be taken back; all else is as it was before wmcb",
        f"  file {KUBELET} stays, and the next reset takes it back:"
        f" cannot remove {KUBELET}: a program is running from it (Windows error 5)",
        f"  directory C:\\k stays, and the next reset takes it back: file {KUBELET} needs it",
    ]
    assert node.wmcb("status") == (
        1,
        f"< directory C:\\k is left of a reset\n< file {KUBELET} is left of a reset\n"
        f"a reset could not take all of it back: run {node.called} reset again\n"
        f"0 of 2 as wanted, from {WORKER}, Ignition 3.4.0\n",
        "",
    )
    assert node.wmcb("reset").code == 0
    assert node.wmcb("status").out == "wmcb has put nothing on this machine\n"


# Failures


def but_for_wmcbs_own(picture: dict[str, object]) -> dict[str, object]:
    return {name: seen for name, seen in picture.items() if r"C:\ProgramData\wmcb" not in name}


def test_a_kubelet_that_is_not_well_is_told_with_its_last_lines(machine: Machine) -> None:
    machine.host.services.start("containerd")
    machine.give("given/kube-log-runner.exe", program())
    machine.put(str(KUBELET_LOG), b"starting\nI0101 no route to host\n")
    machine.facts(answers={"10248": 500})
    before = machine.picture()
    answer = machine.wmcb(*machine.node, "--start-timeout", "0.5")
    assert (answer.code, answer.out) == (1, "")
    assert answer.error_lines[-3:] == [
        "wmcb: service kubelet runs, but http://127.0.0.1:10248/healthz answers 500 after 0.5 seconds;"
        " the machine is as it was before",
        "    starting",
        "    I0101 no route to host",
    ]
    assert but_for_wmcbs_own(machine.picture()) == before


def test_ctrl_c_takes_back_what_was_done(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agent.resources.service._start", interrupt)
    before = machine.picture()
    answer = machine.wmcb(*machine.node)
    assert (answer.code, answer.out) == (1, "")
    assert answer.error_lines[-1] == "wmcb: interrupted; the machine is as it was before"
    assert but_for_wmcbs_own(machine.picture()) == before


@pytest.mark.parametrize("command", ["bootstrap", "reset", "uninstall-kubelet"])
def test_while_another_command_is_at_work_nothing_is_done(command: str, node: Machine) -> None:
    words = node.node if command == "bootstrap" else (command,)
    before = node.picture()
    exclusive = node.host.processes.exclusive
    with exclusive(COMMAND_LOCK) as waits, exclusive(LOCK) as changes:
        assert (waits, changes) == (True, True)
        answer = node.wmcb(*words)
    assert (answer.code, answer.out) == (1, "")
    who = f"another wmcb command (process {os.getpid()})"
    assert answer.err == f"wmcb: {who} is at work on this machine: wait until it has ended\n"
    assert but_for_wmcbs_own(node.picture()) == but_for_wmcbs_own(before)


def test_while_another_is_at_work_a_look_says_so(node: Machine) -> None:
    node.host.files.remove(KUBELET)
    with node.host.processes.exclusive("wmcb") as mine:
        assert mine
        status, plan = node.wmcb("status"), node.wmcb("plan", *node.node)
        document = node.wmcb("status", "--output=json").document
    assert status.code == 1
    assert "a run is under way on this machine: ask again when it has ended" in status.out
    assert "run this again" not in status.out
    assert (document["under_way"], document["interrupted"]) == (True, False)
    assert "  a run is under way on this machine: look again when it has ended" in plan.out.splitlines()
    assert "run this again" in node.wmcb("status").out
    assert "under way" not in node.wmcb("plan", *node.node).out


def test_what_is_advised_can_be_run_as_it_stands(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where a shell would part a word, or take it for something else."""
    machine = Machine(tmp_path / "a folder & more", capsys)
    machine.place.mkdir(parents=True)
    machine.put(CONTAINERD.command[0], program())
    machine.host.services.create(CONTAINERD)
    programs = r"C:\node programs"
    assert machine.wmcb(*machine.node, "--install-dir", programs).code == 0
    machine.host.files.remove(PureWindowsPath(programs, "kubelet.exe"))
    before, command = machine.wmcb("status").out.splitlines()[-2].split(": ", 1)
    assert before == "run this again to repair that"
    name, *words = shlex.split(command)
    assert name == "wmcb"
    assert main.run(words) == 0
    assert machine.wmcb("status").code == 0


def test_a_folder_that_anybody_could_have_filled_is_not_believed(machine: Machine) -> None:
    machine.host.files.make_directory(C_WMCB, PROGRAM_DIRECTORY)
    machine.host.files.write(C_WMCB / "node.json", b"{}", PROGRAM_FILE)
    before = machine.picture()
    for words in (machine.node, ("status",), ("reset",), ("plan", *machine.node)):
        answer = machine.wmcb(*words)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err == (
            "wmcb: C:\\ProgramData\\wmcb is open to users, so what it holds cannot be trusted;"
            " look at it and remove it\n"
        )
    assert machine.picture() == before


USER = "S-1-5-21-1-2-3-1001"
OF_A_USER = SecurityDescriptor.parse(f"O:{USER}G:{USER}D:(A;OICI;FA;;;{USER})(A;OICI;FA;;;BA)")


def test_a_folder_that_a_user_made_before_is_moved_aside_and_reported_once(machine: Machine) -> None:
    machine.host.files.make_directory(C_WMCB, OF_A_USER)
    machine.host.files.write(C_WMCB / "node.json", b"{}", OF_A_USER)
    before = machine.picture()
    for words in (("status",), ("plan", *machine.node), (*machine.node, "--dry-run")):
        answer = machine.wmcb(*words)
        assert (answer.code, answer.err) == (
            1,
            "wmcb: C:\\ProgramData\\wmcb was made by a user, so nothing in it is believed; the next command"
            " that changes this machine, such as join or reset, moves it aside\n",
        )
    assert machine.picture() == before
    first = machine.wmcb(*machine.node)
    (aside,) = [name for name in machine.host.files.list(C_WMCB.parent) if name.startswith("wmcb-untrusted-")]
    line = (
        "warning: C:\\ProgramData\\wmcb had been made by a user: it is"
        f" C:\\ProgramData\\{aside} now, and nothing in it was read"
    )
    assert (first.code, first.err.count(f"wmcb: {line}\n")) == (0, 1)
    assert machine.host.files.read(C_WMCB / "logs" / "wmcb.log").decode().count(line) == 1
    again = machine.wmcb(*machine.node)
    assert (again.code, "made by a user" in again.err) == (0, False)
    assert machine.wmcb("status").code == 0


# For programs


def test_a_plan_for_programs(machine: Machine) -> None:
    document = machine.wmcb("plan", *machine.node, "--output", "json").document
    assert set(document) == {
        *("format", "pauses", "changes", "unchanged", "notes", "interrupted", "checks", "remarks", "stays"),
        "data",
    }  # fmt: skip
    assert (document["interrupted"], document["checks"]) == (False, [])
    assert document["format"] == 1
    service = document["changes"][-1]
    assert (service["action"], service["resource"]) == ("create", ["service", "kubelet"])
    assert {"field", "found", "wanted"} == set(service["differences"][0])
    assert {"effect", "subject", "reason", "before", "after"} == set(document["notes"][0])


def test_a_result_for_programs(machine: Machine) -> None:
    answer = machine.wmcb(*machine.node, "--output", "json")
    number = len(answer.document["changes"])
    assert answer.document["left"] == []
    assert answer.document["remarks"] == [NOT_STARTED.strip()]
    again = machine.wmcb(*machine.node, "--output", "json").document
    assert (again["changes"], len(again["unchanged"]), again["remarks"]) == ([], number, [])


def test_a_program_that_this_system_cannot_run_is_not_said_to_run(machine: Machine) -> None:
    answer = machine.wmcb("--sandbox-run", *machine.node)
    assert answer.code == 0
    assert answer.out.splitlines()[-1] == (
        "  service kubelet was not started, but written down as running:"
        " its program is none that this system can run"
    )


def test_a_status_for_programs(node: Machine) -> None:
    node.host.files.remove(KUBELET)
    document = node.wmcb("status", "--output", "json").document
    assert set(document) == {
        *("format", "title", "outstanding", "command", "interrupted", "under_way"),
        *("awaiting", "resources", "logs", "resident", "pause", "following"),
    }  # fmt: skip
    assert document["resident"] is None
    gone = [each for each in document["resources"] if not each["there"]]
    assert [each["resource"] for each in gone] == [["file", str(KUBELET)]]


# The log and the event log


def events(machine: Machine) -> list[tuple[str, int, str]]:
    lines = (machine.place / ".sandbox" / "events.jsonl").read_text().splitlines()
    read = [json.loads(line) for line in lines]
    return [(each["level"], each["id"], each["text"]) for each in read if each["source"] == "wmcb"]


def test_what_was_done_is_written_down(node: Machine) -> None:
    log = node.read(r"C:\ProgramData\wmcb\logs\wmcb.log").decode()
    lines = [line.partition(" ")[2] for line in log.splitlines()]
    assert lines[0] == "make this machine a node: started"
    assert lines[1] == f"{resources(node)} to change, 0 as they are to be"
    assert r"create file C:\k\kubelet.exe" in lines
    assert lines[-1] == "make this machine a node: done"
    assert [event_id for _, event_id, _ in events(node)] == [1, 2]


def test_a_failure_has_an_event_of_its_own(machine: Machine) -> None:
    machine.host.files.remove(PureWindowsPath(r"C:\Program Files\containerd\containerd.exe"))
    answer = machine.wmcb(*machine.node)
    assert answer.code == 1
    assert answer.error_lines[-1].endswith("; the machine is as it was before")
    level, event_id, text = events(machine)[-1]
    assert (level, event_id) == ("ERROR", 3)
    assert text == f"make this machine a node: {answer.error_lines[-1].removeprefix('wmcb: ')}"


def test_a_log_that_has_grown_is_put_aside(node: Machine) -> None:
    log = PureWindowsPath(r"C:\ProgramData\wmcb\logs\wmcb.log")
    node.host.files.write(log, bytes(5_000_001), PROGRAM_FILE)
    node.wmcb(*node.node)
    assert node.host.files.list(log.parent) == ["wmcb.1.log", "wmcb.log"]


# Secrets


SECRETS = ("invented-token-that-opens-nothing", "aW52ZW50ZWQ6aW52ZW50ZWQ=", "hunter2")


def test_no_secret_is_told_or_written_down(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only files of the node have them, and what is kept of such files."""
    document = json.loads(WORKER.read_bytes())
    unit = next(each for each in document["systemd"]["units"] if each["name"] == "kubelet.service")
    proxy = "[Service]\nEnvironment=HTTPS_PROXY=http://somebody:hunter2@192.0.2.1:3128\n"
    unit.setdefault("dropins", []).append({"name": "50-proxy.conf", "contents": proxy})
    ignition = machine.give("worker.ign", json.dumps(document))
    node = ("--ignition", ignition, "--kubelet", machine.kubelet, "--kubelet-version=1.31")
    told = []
    for words in (
        ("plan", "-v", *node), ("plan", "--output=json", *node), ("preflight", "-v", *node), ("-v", *node),
        ("status", "-v"), ("status", "--output=json"), ("plan", "-v", "--node-name=other", *node),
        ("reset", "--dry-run", "-v"), ("reset", "--dry-run", "--output=json"),
    ):  # fmt: skip
        answer = machine.wmcb(*words)
        assert answer.code == 0
        told += [answer.out, answer.err]
    machine.host.files.write(PureWindowsPath(r"C:\etc\kubernetes\kubeconfig"), b"drifted", PROGRAM_FILE)
    told += machine.wmcb("status", "-v")[1:]
    monkeypatch.setattr("agent.resources.service._start", lambda *_: 1 / 0)
    machine.give("given/kubelet.exe", program(tail=b"newer"))
    told += machine.wmcb(*node, "-v")[1:]
    told += [text for _, _, text in events(machine)]
    told.append(machine.read(r"C:\ProgramData\wmcb\logs\wmcb.log").decode())
    everything = "\n".join(told)
    assert "division by zero" in everything
    assert [secret for secret in SECRETS if secret in everything] == []


def test_secrets_are_where_the_node_needs_them(node: Machine) -> None:
    """Or the test above would find nothing anywhere."""
    assert SECRETS[0].encode() in node.read(r"C:\etc\kubernetes\kubeconfig")
    assert SECRETS[1].encode() in node.read(r"C:\var\lib\kubelet\config.json")


@pytest.mark.skipif(sys.platform == "win32", reason="there the machine itself is looked at")
def test_a_plan_without_a_sandbox_needs_no_windows(machine: Machine) -> None:
    words = ["plan", "--ignition", str(WORKER), "--kubelet", machine.kubelet]
    assert main.run(words) == 0
    told = machine.output.readouterr()
    assert "+ create    service kubelet" in told.out
    says = "kubelet.exe cannot be asked for its version here"
    assumed = f"1.{NEWEST} is assumed (--kubelet-version V says it)"
    assert told.err.splitlines()[0] == f"wmcb: warning: {says}; {assumed}"
    assert main.run([*words, "--kubelet-version=1.31"]) == 0
    assert says not in machine.output.readouterr().err
