"""What `wmcb status` advises about drift: what helps depends on who made what has drifted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PureWindowsPath

import pytest

from agent.engine.parts import AUDITED, FOLLOWED, OF_OPERATOR, ROUTED
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host.services import ServiceDefinition
from agent.release import RELEASE
from agent.spec import Directory, File, Inline, Protection, Specification
from sandbox.cli.given import WORKER, Machine, program

WMCB = rf"C:\Program Files\wmcb\{RELEASE}\wmcb.exe"
FILE = PureWindowsPath(r"C:\tools\settings.txt")
CONFIG_MAP = "ConfigMap nodes/windows"
NODE_CONFIGURATION = """\
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
files: [{path: 'C:\\tools\\settings.txt', text: one}]
"""


def make(machine: Machine, part: str, title: str) -> None:
    wants = [Directory(FILE.parent, Protection.PROGRAM), File(FILE, Inline(b"one"))]
    make_so(machine.host, Specification.of(wants, title=title), Silent(), part=part)


def drift(machine: Machine) -> list[str]:
    """The lines of status that are no list of what has drifted, and no sum."""
    machine.host.files.remove(FILE)
    answer = machine.wmcb("status")
    assert answer.code == 1
    first, *advice, _ = answer.out.splitlines()
    assert first == f"- file {FILE} is gone"
    return [line for line in advice if not line.startswith("the resident service")]


def install_service(machine: Machine) -> None:
    machine.host.services.create(ServiceDefinition("wmcb", (WMCB,)))


def start_service(machine: Machine) -> None:
    install_service(machine)
    machine.put(WMCB, program())
    machine.host.services.start("wmcb")


def pause_service(machine: Machine) -> None:
    start_service(machine)
    assert machine.wmcb("daemon", "pause").code == 0


OF_THE_SERVICE: dict[str, tuple[Callable[[Machine], None], str]] = {
    "not installed": (
        lambda _: None,
        "the resident service that repairs it is not installed: run {called} daemon install",
    ),
    "stopped": (
        install_service,
        "the resident service that repairs it is stopped: sc.exe start wmcb starts it",
    ),
    "running": (start_service, "the resident service repairs it, and its log tells why it has not"),
    "paused": (
        pause_service,
        "the resident service repairs it when its pause is over: run {called} daemon resume to end that",
    ),
}


@pytest.mark.parametrize(("service", "told"), OF_THE_SERVICE.values(), ids=OF_THE_SERVICE)
@pytest.mark.parametrize("part", [FOLLOWED, ROUTED])
def test_what_the_cluster_wants_is_the_resident_services(
    machine: Machine, part: str, service: Callable[[Machine], None], told: str
) -> None:
    make(machine, part, CONFIG_MAP)
    service(machine)
    told = told.format(called=machine.called)
    machine.host.files.remove(FILE)
    lines = machine.wmcb("status").out.splitlines()
    assert lines[:2] == [f"- file {FILE} is gone", f"file {FILE} comes from {CONFIG_MAP}: {told}"]
    assert not any("run this again" in line for line in lines)


def test_what_openshifts_operator_wants_is_its_daemons(machine: Machine) -> None:
    make(machine, OF_OPERATOR, "ConfigMap ns/windows-services-1")
    told = "the operator's daemon (wmcb controller) repairs it while its service runs"
    assert drift(machine) == [f"file {FILE} comes from ConfigMap ns/windows-services-1: {told}"]


def test_what_an_audit_repaired_is_repaired_by_another(machine: Machine) -> None:
    make(machine, AUDITED, "an audit")
    assert drift(machine) == [f"run {machine.called} audit --fix to repair what an audit had made"]


@pytest.mark.parametrize("command", ["prepare", ""], ids=["prepare", "beside an Ignition"])
def test_what_a_node_configuration_wants_is_made_by_the_command_that_had_it(
    machine: Machine, command: str
) -> None:
    document = machine.give("node.yaml", NODE_CONFIGURATION)
    words = [*([command] if command else machine.node), "--node-config", document]
    assert machine.wmcb(*words).code == 0
    again = f"wmcb {' '.join(words)} --sandbox {machine.place}"
    assert drift(machine) == [f"run this again to repair that: {again}"]


def test_each_owner_has_a_line(machine: Machine) -> None:
    assert machine.wmcb(*machine.node).code == 0
    make(machine, FOLLOWED, CONFIG_MAP)
    machine.host.services.stop("kubelet")
    machine.host.files.remove(FILE)
    lines = machine.wmcb("status").out.splitlines()
    again = f"wmcb {' '.join(machine.node)} --sandbox {machine.place}"
    assert f"run this again to repair that: {again}" in lines
    assert any(line.startswith(f"file {FILE} comes from {CONFIG_MAP}: ") for line in lines)
    assert lines[-1].endswith(f", from {WORKER}, Ignition 3.4.0")


USER_DATA = """\
#cloud-config
write_files: [{path: 'C:\\tools\\settings.txt', content: one}]
runcmd: ['echo hi', 'echo ho']
"""


def test_user_data_without_a_join_is_not_upgraded(machine: Machine) -> None:
    assert machine.wmcb("--user-data", machine.give("data", USER_DATA)).code == 0
    by_hand = "user data is carried out once, so no command repairs that alone: repair it by hand, or run "
    assert drift(machine) == [f"{by_hand}{machine.called} reset and carry it out again"]


def test_a_reset_of_user_data_says_once_what_became_of_its_commands(machine: Machine) -> None:
    assert machine.wmcb("--user-data", machine.give("data", USER_DATA)).code == 0
    told = machine.wmcb("reset").out.splitlines()
    assert told == [
        "the machine is as it was before wmcb",
        "  nothing of its commands stays: a sandbox has none of Windows' shells, and did not run them",
    ]
