"""Settings of Windows that a NodeConfiguration wants, and the restart that some of them take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.host.port import RegistryKind, RegistryValue, ServiceState
from sandbox.cli.test_node_config import HEAD, given, picture
from sandbox.cli.test_user_data import restart

if TYPE_CHECKING:
    from sandbox.cli.given import Machine

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
        r"+ create    registry value HKLM\SOFTWARE\Contoso\Agent\\Level",
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
    assert r"~ registry value HKLM\SOFTWARE\Contoso\Agent\\Password" in status.out
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
