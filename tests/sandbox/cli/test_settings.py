"""Settings of Windows that a NodeConfiguration wants, and the restart that some of them take."""

from __future__ import annotations

import json
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.host.port import RegistryKind, RegistryValue
from agent.host.protection import PRIVATE_FILE, PROGRAM_FILE
from agent.host.sddl import SecurityDescriptor
from agent.host.services import ServiceState
from agent.release import RELEASE
from sandbox.cli.given import Answer, Machine
from sandbox.cli.test_node_config import HEAD, given, picture
from sandbox.cli.test_user_data import restart

CONTINUE = PureWindowsPath(r"C:\ProgramData\wmcb\continue")
SETTINGS = """\
registryValues:
- {key: 'HKLM\\SOFTWARE\\Contoso\\Agent', name: Level, dword: 3}
- {key: 'HKLM\\SOFTWARE\\Contoso\\Agent', name: Password, string: swordfish, secret: true}
pathEntries: ['C:\\tools']
"""
NAMED = """\
hostName: node-7
files: [{path: 'C:\\tools\\agent.exe', text: MZ, protection: program}]
services: [{name: agent, program: 'C:\\tools\\agent.exe'}]
"""


def test_settings_are_made_kept_shown_and_taken_away(machine: Machine) -> None:
    machine.host.services.start("containerd")
    before = picture(machine)
    document = given(machine, SETTINGS)
    planned = machine.wmcb("plan", *machine.node, *document)
    assert planned.code == 0, planned.err
    for line in (
        r"+ create    registry key HKLM\SOFTWARE\Contoso\Agent",
        r"+ create    registry value HKLM\SOFTWARE\Contoso\Agent\Level",
        r"+ create    path entry C:\tools",
    ):
        assert line in planned.out.splitlines()
    assert "swordfish" not in planned.out
    answer = machine.wmcb(*machine.node, *document)
    assert answer.code == 0, answer.err
    level = RegistryValue(RegistryKind.NUMBER, 3)
    assert machine.host.registry.read(r"SOFTWARE\Contoso\Agent", "level") == level
    assert (machine.host.environment.get("Path") or "").endswith(r";C:\tools")
    machine.host.registry.write(
        r"SOFTWARE\Contoso\Agent", "Password", RegistryValue(RegistryKind.STRING, "other")
    )
    status = machine.wmcb("status", "-v")
    assert r"~ registry value HKLM\SOFTWARE\Contoso\Agent\Password" in status.out
    assert "swordfish" not in status.out + answer.out + answer.err
    assert machine.wmcb("reset").code == 0
    assert picture(machine) == before


@pytest.mark.parametrize("says_so", [True, False], ids=["for programs", "for a person"])
def test_what_waits_for_a_restart_says_so_and_the_same_command_goes_on(
    machine: Machine, says_so: bool
) -> None:
    command = (*machine.node, *given(machine, NAMED), *(("--output", "json") if says_so else ()))
    for _ in range(2):
        answer = machine.wmcb(*command)
        assert answer.code == 1003, answer.err
        if says_so:
            assert answer.document["awaiting"] == ["this machine is called node-7 when it has been restarted"]
            assert answer.document["put_off"] == [["service", "agent"]]
        else:
            assert answer.out.splitlines()[:2] == [
                "restart this machine, and run this again: 1 thing can only be made then",
                "  this machine is called node-7 when it has been restarted",
            ]
        assert machine.host.services.read("agent") is None
        assert machine.host.services.read("kubelet") is None, "the node's name is another then"
    restart(machine)
    assert machine.wmcb(*command).code == 0
    assert machine.host.facts.host_name() == "node-7"
    for name in ("agent", "kubelet"):
        assert machine.host.services.status(name).state is ServiceState.RUNNING


def test_a_restart_in_vain_is_an_error_in_one_line(machine: Machine) -> None:
    command = (*machine.node, *given(machine, NAMED))
    assert machine.wmcb(*command).code == 1003
    machine.host.power.rename("others")
    restart(machine)
    answer = machine.wmcb(*command)
    assert answer.code == 1
    assert answer.error_lines[-1] == (
        "wmcb: this machine was restarted for host name of this machine, and name is others, not node-7:"
        " another program changes it, too, or Windows does not take it"
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("registryValues: [{key: 'HKLM\\SOFTWARE\\A', name: B, dword: x}]\n", "registryValues.0.dword"),
        ("pathEntries: [k]\n", "pathEntries.0"),
        ("hostName: a.b\n", "hostName"),
    ],
)
def test_bad_input_is_told_by_its_place(machine: Machine, text: str, where: str) -> None:
    answer = machine.wmcb(*machine.node, "--node-config", machine.give("node.yaml", HEAD + text))
    assert answer.code == 2
    assert f"at $.{where}: " in answer.error_lines[-1]


# Going on after a restart


def last_event(machine: Machine) -> dict[str, Any]:
    lines = (machine.place / ".sandbox" / "events.jsonl").read_text().splitlines()
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def go_on(machine: Machine) -> Answer:
    """After a start of Windows. What the sandbox takes for a service that runs is none."""
    restart(machine)
    machine.host.services.stop("wmcb-continue")
    return machine.wmcb("continue")


def goes_on(machine: Machine) -> bool:
    """Whether something is there that does, after the next start."""
    there = machine.host.services.read("wmcb-continue") is not None
    assert there == (machine.host.files.observe(CONTINUE) is not None)
    return there


def asked(machine: Machine) -> str:
    """For what a restart has been asked."""
    power = json.loads((machine.place / ".sandbox" / "power.json").read_text())
    return power["asked"]["reason"] if "asked" in power else ""


def test_an_allowed_restart_is_asked_for_once_and_gone_on_after(machine: Machine) -> None:
    bare = picture(machine)
    answer = machine.wmcb(*machine.node, *given(machine, NAMED), "--allow-reboot")
    assert answer.code == 1003
    assert "goes on by itself" in answer.error_lines[-1]
    assert asked(machine) == "this machine is called node-7 when it has been restarted"
    assert goes_on(machine)
    installed = machine.host.services.read("wmcb-continue")
    assert installed is not None
    assert installed.definition.command == (rf"C:\Program Files\wmcb\{RELEASE}\wmcb.exe", "continue")
    answer = go_on(machine)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("this machine is a node\n")
    assert machine.host.services.status("kubelet").state is ServiceState.RUNNING
    assert (asked(machine), goes_on(machine)) == ("", False)
    assert machine.wmcb("continue").code == 0, "nothing is left to do"
    machine.wmcb("reset")
    restart(machine)
    assert {name for name in picture(machine) if name not in bare and "Program Files" not in name} == set()


def test_path_still_leads_to_the_installed_version_when_another_one_goes_on(machine: Machine) -> None:
    """As it does where the same command takes no restart."""
    path = r"C:\Windows;C:\Program Files\wmcb\0.1.0"
    machine.host.environment.set("Path", path, RegistryKind.STRING)
    assert machine.wmcb(*machine.node, *given(machine, NAMED), "--allow-reboot").code == 1003
    assert machine.host.environment.get("Path") == path
    assert go_on(machine).code == 0
    assert machine.host.environment.get("Path") == path


@pytest.mark.parametrize("name", ["others", "WIN1"])
def test_a_restart_that_changed_nothing_is_not_asked_for_again(machine: Machine, name: str) -> None:
    assert machine.wmcb(*machine.node, *given(machine, NAMED), "--allow-reboot").code == 1003
    machine.host.power.rename(name)
    answer = go_on(machine)
    assert answer.code == 1
    assert f"name is {name}, not node-7" in answer.error_lines[-1]
    assert (asked(machine), goes_on(machine)) == ("", False)


def test_a_reset_before_the_restart_leaves_nothing_to_go_on_with(machine: Machine) -> None:
    assert machine.wmcb(*machine.node, *given(machine, NAMED), "--allow-reboot").code == 1003
    assert machine.wmcb("reset").code == 0
    assert not goes_on(machine)
    restart(machine)
    assert machine.wmcb("continue").code == 0
    assert machine.host.services.read("kubelet") is None


@pytest.mark.parametrize("text", [SETTINGS, NAMED.replace("node-7", "node-8")], ids=["done", "waiting"])
def test_what_another_command_came_after_is_not_gone_on_with(machine: Machine, text: str) -> None:
    """Somebody has called the restart off."""
    assert machine.wmcb(*machine.node, *given(machine, NAMED), "--allow-reboot").code == 1003
    machine.wmcb("prepare", *given(machine, text))
    assert not goes_on(machine)


def test_what_cannot_be_read_is_not_tried_at_each_start(machine: Machine) -> None:
    assert machine.wmcb(*machine.node, *given(machine, NAMED), "--allow-reboot").code == 1003
    machine.host.files.write(CONTINUE, b"sealed by another machine", PRIVATE_FILE)
    answer = go_on(machine)
    assert answer.code == 1
    assert "cannot be read: ask for it anew" in answer.err
    assert not goes_on(machine)
    assert "cannot be read: ask for it anew" in last_event(machine)["text"]


def test_what_fails_before_a_run_begins_is_found_without_a_console(machine: Machine) -> None:
    document = r"C:\given\node.yaml"
    machine.put(document, f"{HEAD}{NAMED}".encode())
    assert machine.wmcb("prepare", "--node-config", document, "--allow-reboot").code == 1003
    machine.host.files.remove(PureWindowsPath(document))
    answer = go_on(machine)
    assert answer.code == 2
    told = answer.error_lines[-1].removeprefix("wmcb: ")
    assert document in told
    assert not goes_on(machine)
    event = last_event(machine)
    assert (event["level"], event["id"]) == ("ERROR", 3)
    assert event["text"] == f"what was to be gone on with after a restart: {told}"
    log = machine.host.files.read(PureWindowsPath(r"C:\ProgramData\wmcb\logs\wmcb.log")).decode()
    assert log.endswith(f"{event['text']}\n")


def test_an_empty_value_is_gone_on_with_as_it_was_given(machine: Machine) -> None:
    words = ("prepare", *given(machine, NAMED), "--mirror=", "--allow-reboot")
    assert machine.wmcb(*words).code == 1003
    answer = go_on(machine)
    assert answer.code == 0, answer.err


OPEN = "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;AU)"
"""As Windows makes a folder below C:."""
FOR_THE_FOLDER = "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;CI;0x100006;;;BU)"
"""Who may do no more than put files into it."""


@pytest.mark.parametrize(
    ("place", "sddl", "told"),
    [
        (r"C:\given\node.yaml", OPEN, r"C:\given\node.yaml"),
        (r"C:\given", FOR_THE_FOLDER, r"C:\given"),
        (r"C:\given", OPEN, r"C:\given"),
    ],
    ids=["the file", "what lies beside it", "its folder"],
)
def test_what_users_could_exchange_until_the_restart_is_not_read_again_as_system(
    machine: Machine, place: str, sddl: str, told: str
) -> None:
    document = r"C:\given\node.yaml"
    machine.put(document, f"{HEAD}{NAMED}".encode())
    machine.host.files.set_descriptor(PureWindowsPath(place), SecurityDescriptor.parse(sddl))
    words = ("prepare", "--node-config", document)
    answer = machine.wmcb(*words, "--allow-reboot")
    assert answer.code == 3
    assert answer.error_lines == [
        rf"wmcb: --allow-reboot reads {document} again after the restart, as SYSTEM, and users may"
        rf" change {told}: put it where only administrators may write, or leave the option out"
    ]
    assert machine.wmcb(*words).code == 1003
    for path in (r"C:\given", document):
        machine.host.files.set_descriptor(PureWindowsPath(path), PROGRAM_FILE)
    assert machine.wmcb(*words, "--allow-reboot").code == 1003
    assert goes_on(machine)


def test_what_is_read_from_standard_input_cannot_be_gone_on_with(machine: Machine) -> None:
    answer = machine.wmcb(*machine.node, "--node-config", "-", "--allow-reboot")
    assert answer.code == 2
    assert "give files, not standard input" in answer.error_lines[-1]
