"""Rules of the firewall: ours, those of others, and those that a person has changed."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import pytest

from agent.cli import shown_values
from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.run import preview, reset, status
from agent.host.errors import ServiceNotRunning
from agent.host.port import FirewallRuleDefinition, Host
from agent.host.sandbox.os_settings import FIREWALL
from agent.host.sandbox.state import State
from agent.resources.kind import CannotBeSo
from agent.spec import Specification
from agent.spec.networks import FirewallRule
from sandbox.engine.test_run import run
from sandbox.engine.world import Killed, Power, powered
from sandbox.service.keeper import Keeper
from service.telling import Event

NAME = "kubelet"
WANTED = FirewallRule(
    NAME, "The API server asks it.", protocol="tcp", local_ports=("10250",), remote_addresses=("10.1.2.3/8",)
)
MADE = FirewallRuleDefinition(
    NAME,
    "wmcb",
    "The API server asks it.",
    protocol="tcp",
    local_ports=("10250",),
    remote_addresses=("10.0.0.0/8",),
)
ANOTHERS = FirewallRuleDefinition(NAME, "", "made by hand", protocol="tcp", local_ports=("10250",))
NOWHERE: Specification = Specification.of([])


def specified(*rules: FirewallRule) -> Specification:
    return Specification.of(rules)


def test_a_rule_is_made_once_and_goes(host: Host) -> None:
    assert run(host, specified(WANTED)) == [(Action.CREATE, NAME)]
    assert host.firewall.rules(NAME) == [MADE]
    assert run(host, specified(WANTED)) == []
    reset(host, Silent())
    assert host.firewall.rules(NAME) == []


def test_another_spelling_changes_nothing(host: Host) -> None:
    run(host, specified(WANTED))
    assert run(host, specified(replace(WANTED, remote_addresses=("10.0.0.0/255.0.0.0",)))) == []
    assert run(host, specified(replace(WANTED, name="Kubelet"))) == []


DRIFTS = {
    "action": replace(MADE, action="block"),
    "enabled": replace(MADE, enabled=False),
    "local_ports": replace(MADE, local_ports=("10250", "10255")),
    "remote_addresses": replace(MADE, remote_addresses=()),
    "local_addresses": replace(MADE, local_addresses=("192.0.2.1",)),
    "profiles": replace(MADE, profiles=("domain",)),
    "description": replace(MADE, description=""),
}


@pytest.mark.parametrize(("field", "changed"), DRIFTS.items(), ids=DRIFTS)
def test_what_somebody_changes_is_put_right_by_the_full_look(
    tmp_path: pathlib.Path, host: Host, field: str, changed: FirewallRuleDefinition
) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(specified(WANTED))
    host.firewall.change(changed, "wmcb")
    (standing,) = status(host).resources
    assert [each.field for each in standing.differences] == [field]
    keeper.told()
    keeper.pass_time(601)
    assert host.firewall.rules(NAME) == [MADE]
    assert [event for event, _ in keeper.told()] == [Event.REPAIRED]


def test_what_somebody_removes_is_put_right_beside_a_rule_of_his_own(
    tmp_path: pathlib.Path, host: Host
) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(specified(WANTED))
    host.firewall.remove(NAME, "wmcb")
    host.firewall.add(ANOTHERS)
    keeper.pass_time(601)
    assert host.firewall.rules(NAME) == [ANOTHERS, MADE]
    reset(host, Silent())
    assert host.firewall.rules(NAME) == [ANOTHERS]


def test_anothers_rule_of_that_name_is_not_taken_over_in_silence(host: Host) -> None:
    host.firewall.add(ANOTHERS)
    told = "firewall rule kubelet is there and not wmcb's .group none.; choose another name, remove it, or"
    with pytest.raises(CannotBeSo, match=told):
        preview(host, specified(WANTED))
    assert host.firewall.rules(NAME) == [ANOTHERS]


def test_one_that_is_to_be_taken_over_is_given_back(host: Host) -> None:
    host.firewall.add(ANOTHERS)
    taken = specified(replace(WANTED, takes_over=True))
    assert run(host, taken) == [(Action.CHANGE, NAME)]
    assert host.firewall.rules(NAME) == [MADE]
    assert run(host, taken) == []
    reset(host, Silent())
    assert host.firewall.rules(NAME) == [ANOTHERS]


CANNOT_BE_TAKEN = {
    "two": ([ANOTHERS, ANOTHERS], "2 times; choose another name"),
    "another protocol": ([replace(ANOTHERS, protocol="udp")], "for another protocol; choose another name"),
    "a program's": ([replace(ANOTHERS, program=r"C:\x.exe")], "for another program; choose another name"),
}


@pytest.mark.parametrize(("there", "told"), CANNOT_BE_TAKEN.values(), ids=CANNOT_BE_TAKEN)
def test_what_cannot_be_given_back_is_not_taken_over(
    host: Host, there: list[FirewallRuleDefinition], told: str
) -> None:
    for rule in there:
        host.firewall.add(rule)
    with pytest.raises(CannotBeSo, match=told):
        preview(host, specified(replace(WANTED, takes_over=True)))


@pytest.mark.parametrize("changes", range(12))
@pytest.mark.parametrize("before", [None, ANOTHERS], ids=["none", "another's"])
def test_a_run_that_is_killed_is_finished_by_the_next(
    host: Host, changes: int, before: FirewallRuleDefinition | None
) -> None:
    if before is not None:
        host.firewall.add(before)
    wanted = specified(replace(WANTED, takes_over=True))
    try:
        run(powered(host, Power(changes)), wanted)
    except Killed:
        run(host, wanted)
    assert host.firewall.rules(NAME) == [MADE]
    reset(host, Silent())
    assert host.firewall.rules(NAME) == ([] if before is None else [before])


def test_a_change_is_shown_in_words(host: Host) -> None:
    run(host, specified(WANTED))
    other = replace(WANTED, action="block", remote_addresses=())
    (change,) = preview(host, specified(other)).changes
    lines = shown_values.lines(change.target, change.differences, is_there=True, details=False)
    assert list(lines) == ["action: allow -> block", "remote addresses: 10.0.0.0/8 -> any"]


def test_without_its_service_the_firewall_is_told_in_one_line(tmp_path: pathlib.Path, host: Host) -> None:
    with State(tmp_path).changing(FIREWALL) as document:
        document["refuses"] = 1753
    with pytest.raises(ServiceNotRunning, match="cannot read firewall rule kubelet: the service is not"):
        preview(host, specified(WANTED))
