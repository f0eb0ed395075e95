"""Windows' firewall, by its COM classes (FirewallAPI.dll)."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pywintypes

from agent.host import firewall_lists, winerror
from agent.host.errors import NotFound, ServiceNotRunning
from agent.host.port import FirewallRuleDefinition
from agent.host.windows.api.com import ask, check_awaited, create, error_code, put
from agent.host.windows.failure import Advices, telling

_POLICY = "{E2B3C97F-6AE1-41AC-817A-F6F92166D7DD}"  # NetFwPolicy2
_RULE = "{2C5BC43E-3369-4C33-AB0C-BE9469677AF4}"  # NetFwRule

_DIRECTIONS = {"in": 1, "out": 2}
_ACTIONS = {"block": 0, "allow": 1}
_PROTOCOLS = {"icmpv4": 1, "tcp": 6, "udp": 17, "icmpv6": 58, "any": 256}
_PROFILES = {"domain": 1, "private": 2, "public": 4}
_ALL_PROFILES = 0x7FFF_FFFF
_WITH_PORTS = ("tcp", "udp")
_ADVICES: Advices = {ServiceNotRunning: "start Windows Defender Firewall (MpsSvc)"}


class WindowsFirewall:
    def rules(self, name: str) -> Sequence[FirewallRuleDefinition]:
        with _telling("read", name):
            return ask(lambda: [_definition(rule) for rule in _named(_all_rules(), name)])

    def add(self, rule: FirewallRuleDefinition) -> None:
        with _telling("add", rule.name):
            ask(lambda: _add(_all_rules(), rule))

    def change(self, rule: FirewallRuleDefinition, group: str) -> None:
        with _telling("change", rule.name):
            ask(lambda: _change(_all_rules(), rule, group))

    def remove(self, name: str, group: str) -> None:
        def remove() -> None:
            rules = _all_rules()
            _remove(rules, _of_group(rules, name, group))

        with _telling("remove", name):
            ask(remove)


def _all_rules() -> Any:
    rules = create(_POLICY).Rules
    rules._FlagAsMethod("Item", "Add", "Remove")
    return rules


def _named(rules: Any, name: str) -> Sequence[Any]:
    try:
        rules.Item(name)
    except pywintypes.com_error as failure:
        if error_code(failure) != winerror.ERROR_FILE_NOT_FOUND:
            raise
        return []
    # It gives one of them, and there are hundreds of rules: all are looked at only where there is one.
    return [rule for rule in rules if str(rule.Name).lower() == name.lower()]


def _of_group(rules: Any, name: str, group: str) -> Any:
    for rule in _named(rules, name):
        if (rule.Grouping or "") == group:
            return rule
    raise NotFound(
        "find", f"firewall rule {name} of group {group or '(none)'}", winerror.ERROR_FILE_NOT_FOUND
    )


def _add(rules: Any, definition: FirewallRuleDefinition) -> None:
    rule = create(_RULE)
    for name, value in _properties(definition).items():
        put(rule, name, value)
    check_awaited()
    rules.Add(rule)


def _change(rules: Any, definition: FirewallRuleDefinition, group: str) -> None:
    there = _of_group(rules, definition.name, group)
    wanted, found = _properties(definition), _properties(_definition(there))
    if wanted["Protocol"] != found["Protocol"] or not wanted.keys() >= found.keys():
        # Windows checks a rule after each change of one property; and none is made empty again.
        _remove(rules, there)
        _add(rules, definition)
        return
    for name, value in wanted.items():
        if found.get(name) != value:
            put(there, name, value)


def _remove(rules: Any, rule: Any) -> None:
    """Windows removes by name, and does not say which of two: for a moment this one has another."""
    name = str(rule.Name)
    if len(_named(rules, name)) > 1:
        import secrets  # noqa: PLC0415 - secrets, 4.4 MB with OpenSSL's hashes

        name = f"{name} {secrets.token_hex(8)}"
        put(rule, "Name", name)
    check_awaited()
    rules.Remove(name)


def _definition(rule: Any) -> FirewallRuleDefinition:
    number, profiles = rule.Protocol, rule.Profiles
    return FirewallRuleDefinition(
        name=_text(rule, "Name"),
        group=_text(rule, "Grouping"),
        description=_text(rule, "Description"),
        direction=_word(_DIRECTIONS, rule.Direction),
        action=_word(_ACTIONS, rule.Action),
        protocol=_word(_PROTOCOLS, number),
        local_ports=firewall_lists.ports([_text(rule, "LocalPorts")]),
        remote_ports=firewall_lists.ports([_text(rule, "RemotePorts")]),
        local_addresses=firewall_lists.addresses([_text(rule, "LocalAddresses")]),
        remote_addresses=firewall_lists.addresses([_text(rule, "RemoteAddresses")]),
        program=_text(rule, "ApplicationName"),
        service=_text(rule, "ServiceName"),
        profiles=tuple(word for word, bit in _PROFILES.items() if profiles & bit),
        enabled=bool(rule.Enabled),
    )


def _text(rule: Any, name: str) -> str:
    return getattr(rule, name) or ""


def _word(words: Mapping[str, int], number: int) -> str:
    return next((word for word, each in words.items() if each == number), str(number))


def _properties(rule: FirewallRuleDefinition) -> Mapping[str, object]:
    """In this order: of what protocol a rule is has to be said before its ports."""
    properties: dict[str, object] = {
        "Name": rule.name,
        "Description": rule.description,
        "Protocol": _PROTOCOLS[rule.protocol] if rule.protocol in _PROTOCOLS else int(rule.protocol),
    }
    if rule.program:
        properties["ApplicationName"] = rule.program
    if rule.service:
        properties["ServiceName"] = rule.service
    if rule.protocol in _WITH_PORTS:
        properties["LocalPorts"] = ",".join(rule.local_ports) or firewall_lists.ANY
        properties["RemotePorts"] = ",".join(rule.remote_ports) or firewall_lists.ANY
    whole = len(rule.profiles) == len(_PROFILES)
    return properties | {
        "LocalAddresses": ",".join(rule.local_addresses) or firewall_lists.ANY,
        "RemoteAddresses": ",".join(rule.remote_addresses) or firewall_lists.ANY,
        "Direction": _DIRECTIONS[rule.direction],
        "Action": _ACTIONS[rule.action],
        "Profiles": _ALL_PROFILES if whole else sum(_PROFILES[each] for each in rule.profiles),
        "Grouping": rule.group,
        "Enabled": rule.enabled,
    }


def _telling(action: str, name: str) -> AbstractContextManager[None]:
    return telling(action, f"firewall rule {name}", advices=_ADVICES)
