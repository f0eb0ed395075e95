"""Windows' firewall: rules, known by name and group."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from agent.host.errors import NotFound
from agent.host.port import FirewallRuleDefinition
from contract.world import World

OURS, ANOTHERS = "wmcb contract", "somebody else's"


@pytest.fixture
def name(world: World) -> Iterator[str]:
    name = f"wmcb contract {secrets.token_hex(4)}"
    yield name
    for group in (OURS, ANOTHERS, ""):
        with suppress(NotFound):
            world.host.firewall.remove(name, group)


RULES = {
    "as little as can be said": FirewallRuleDefinition("", OURS),
    "a port": FirewallRuleDefinition("", OURS, protocol="tcp", local_ports=("10250",)),
    "ports": FirewallRuleDefinition(
        "", OURS, protocol="udp", local_ports=("443", "5000-5010"), remote_ports=("53",)
    ),
    "from networks": FirewallRuleDefinition(
        "", OURS, protocol="tcp", remote_addresses=("10.0.0.0/8", "192.0.2.1", "LocalSubnet")
    ),
    "from networks of the sixth version": FirewallRuleDefinition(
        "", OURS, protocol="tcp", remote_addresses=("2001:db8::/32", "2001:db8::1")
    ),
    "a range": FirewallRuleDefinition("", OURS, remote_addresses=("192.0.2.3-192.0.2.9",)),
    "out, refused, and off": FirewallRuleDefinition(
        "", OURS, direction="out", action="block", protocol="icmpv4", enabled=False
    ),
    "of a number": FirewallRuleDefinition("", OURS, protocol="47"),
    "in one profile": FirewallRuleDefinition("", OURS, profiles=("domain",)),
    "a program's": FirewallRuleDefinition("", OURS, protocol="tcp", program=r"C:\k\kubelet.exe"),
    "with a description": FirewallRuleDefinition("", OURS, description="Käse, 日本"),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_what_is_added_is_there(world: World, name: str, rule: FirewallRuleDefinition) -> None:
    rule = replace(rule, name=name)
    world.host.firewall.add(rule)
    assert world.host.firewall.rules(name.upper()) == [rule]


def test_what_is_not_there(world: World, name: str) -> None:
    firewall = world.host.firewall
    assert firewall.rules(name) == []
    with pytest.raises(NotFound) as refused:
        firewall.remove(name, OURS)
    assert refused.value.code == 2
    with pytest.raises(NotFound) as refused:
        firewall.change(FirewallRuleDefinition(name, OURS), OURS)
    assert refused.value.code == 2


CHANGES = {
    "other ports": FirewallRuleDefinition("", OURS, protocol="tcp", local_ports=("10255",)),
    "another protocol": FirewallRuleDefinition("", OURS, protocol="icmpv4"),
    "a program's": FirewallRuleDefinition("", OURS, protocol="tcp", program=r"C:\k\kubelet.exe"),
    "another group": FirewallRuleDefinition("", ANOTHERS, protocol="tcp", local_ports=("10250",)),
    "off": FirewallRuleDefinition("", OURS, protocol="tcp", enabled=False),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_a_rule_is_changed_and_changed_back(world: World, name: str, changed: FirewallRuleDefinition) -> None:
    before = replace(RULES["a port"], name=name)
    changed = replace(changed, name=name)
    world.host.firewall.add(before)
    world.host.firewall.change(changed, before.group)
    assert world.host.firewall.rules(name) == [changed]
    world.host.firewall.change(before, changed.group)
    assert world.host.firewall.rules(name) == [before]


@pytest.mark.parametrize("ours_is_first", [True, False], ids=["ours first", "ours second"])
def test_anothers_of_the_same_name_stays(world: World, name: str, ours_is_first: bool) -> None:
    firewall = world.host.firewall
    ours, anothers = FirewallRuleDefinition(name, OURS), FirewallRuleDefinition(name, ANOTHERS)
    for rule in (ours, anothers) if ours_is_first else (anothers, ours):
        firewall.add(rule)
    assert sorted(rule.group for rule in firewall.rules(name)) == [ANOTHERS, OURS]
    changed = replace(ours, action="block")
    firewall.change(changed, OURS)
    assert sorted(firewall.rules(name), key=lambda rule: rule.group) == [anothers, changed]
    firewall.remove(name, OURS)
    assert firewall.rules(name) == [anothers]
