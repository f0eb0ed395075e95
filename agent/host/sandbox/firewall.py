"""The firewall as a list of rules; nothing is let through or held up by it.

What a machine has from elsewhere may be put into firewall.json: `rules`, and `refuses`, the error code that
each question is answered with.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent.host import firewall_lists, winerror
from agent.host.errors import NotFound, host_error
from agent.host.port import FirewallRuleDefinition
from agent.host.sandbox.state import Document, State

DOCUMENT = "firewall.json"
_LISTS = ("local_ports", "remote_ports", "local_addresses", "remote_addresses", "profiles")


class SandboxFirewall:
    def __init__(self, state: State) -> None:
        self._state = state

    def rules(self, name: str) -> Sequence[FirewallRuleDefinition]:
        document = self._state.read(DOCUMENT)
        _check(document, "read", name)
        return [_rule(each) for each in _all(document) if each["name"].lower() == name.lower()]

    def add(self, rule: FirewallRuleDefinition) -> None:
        with self._state.changing(DOCUMENT) as document:
            _check(document, "add", rule.name)
            document.setdefault("rules", []).append(_entry(rule))

    def change(self, rule: FirewallRuleDefinition, group: str) -> None:
        with self._state.changing(DOCUMENT) as document:
            _check(document, "change", rule.name)
            rules = _all(document)
            rules[rules.index(_of_group(rules, rule.name, group))] = _entry(rule)

    def remove(self, name: str, group: str) -> None:
        with self._state.changing(DOCUMENT) as document:
            _check(document, "remove", name)
            rules = _all(document)
            rules.remove(_of_group(rules, name, group))


def _check(document: Document, action: str, name: str) -> None:
    if code := document.get("refuses"):
        raise host_error(action, f"firewall rule {name}", code)


def _all(document: Document) -> list[Document]:
    rules: list[Document] = document.get("rules", [])
    return rules


def _of_group(rules: Sequence[Document], name: str, group: str) -> Document:
    for each in rules:
        if each["name"].lower() == name.lower() and each.get("group", "") == group:
            return each
    raise NotFound(
        "find", f"firewall rule {name} of group {group or '(none)'}", winerror.ERROR_FILE_NOT_FOUND
    )


def _entry(rule: FirewallRuleDefinition) -> Document:
    spelled = replace(
        rule,
        local_ports=firewall_lists.ports(rule.local_ports),
        remote_ports=firewall_lists.ports(rule.remote_ports),
        local_addresses=firewall_lists.addresses(rule.local_addresses),
        remote_addresses=firewall_lists.addresses(rule.remote_addresses),
        profiles=firewall_lists.profiles(rule.profiles),
    )
    return {name: getattr(spelled, name) for name in FirewallRuleDefinition.__match_args__}


def _rule(entry: Document) -> FirewallRuleDefinition:
    given: dict[str, Any] = {n: tuple(value) if n in _LISTS else value for n, value in entry.items()}
    return FirewallRuleDefinition(**given)
