"""What Windows is set to, as documents: its features, firewall, Microsoft Defender and WinHTTP's proxy.

What a machine has from elsewhere may be put into these. Nothing is let through, held up or looked at by them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent.host import firewall_lists, winerror
from agent.host.errors import NotFound, host_error
from agent.host.port import DefaultProxy, FeatureState, FirewallRuleDefinition
from agent.host.sandbox.state import Document, State

FEATURES = "features.json"
"""For a feature its `state`, its `parent`, whether it needs a `restart`, and the error code that a change of
it `refuses` with; for all that it does not have a plausible Windows Server is taken."""
FIREWALL = "firewall.json"
"""`rules`, and `refuses`, the error code that each question is answered with."""
DEFENDER = "defender.json"
"""A list for each kind of exclusion. Beside them may stand `refuses`, as above, and `swallows`: it says yes
to everything, and nothing changes."""
_PROXY = "proxy.json"

_PARENT_IS_OFF = 0xC004_000D
_ON, _OFF = FeatureState.ENABLED.name, FeatureState.DISABLED.name
_FEATURES_AT_INSTALLATION: dict[str, dict[str, Any]] = {
    "Containers": {"state": _ON, "restart": True},
    "Microsoft-Hyper-V": {"state": _OFF, "restart": True},
    "RemoteAccess": {"state": _OFF},
    "RemoteAccessServer": {"state": _OFF, "parent": "RemoteAccess", "restart": True},
    "RasRoutingProtocols": {"state": _OFF, "parent": "RemoteAccessServer"},
    "NetFx3": {"state": FeatureState.REMOVED.name},
    "TelnetClient": {"state": _OFF},
}
_PENDING = {FeatureState.ENABLE_PENDING.name: _ON, FeatureState.DISABLE_PENDING.name: _OFF}
"""What waits for a start of Windows, and what it is afterwards."""

_LISTS = ("local_ports", "remote_ports", "local_addresses", "remote_addresses", "profiles")


class SandboxFeatures:
    def __init__(self, state: State) -> None:
        self._state = state

    def state(self, name: str) -> FeatureState | None:
        features = _features(self._state.read(FEATURES))
        key = _key(features, name)
        return None if key is None else FeatureState[features[key]["state"]]

    def enable(self, name: str, *, with_parents: bool) -> bool:
        with self._state.changing(FEATURES) as document:
            features = _features(document)
            chain = [_known(features, "enable", name)]
            while parent := features[chain[-1]].get("parent"):
                chain.append(parent)
            for each in reversed(chain):
                if each != chain[0] and not with_parents and not _is_on(features[each]):
                    raise host_error("enable", f"Windows feature {name}", _PARENT_IS_OFF)
                if features[each]["state"] == FeatureState.REMOVED.name:
                    raise host_error("enable", f"Windows feature {name}", winerror.CBS_E_SOURCE_MISSING)
                _turn(features[each], FeatureState.ENABLED, FeatureState.ENABLE_PENDING)
            document.update(features)
            return any(features[each]["state"] == FeatureState.ENABLE_PENDING.name for each in chain)

    def disable(self, name: str) -> bool:
        with self._state.changing(FEATURES) as document:
            features = _features(document)
            key = _known(features, "disable", name)
            _turn(features[key], FeatureState.DISABLED, FeatureState.DISABLE_PENDING)
            document.update(features)
            return bool(features[key]["state"] == FeatureState.DISABLE_PENDING.name)

    def take_effect(self) -> None:
        """What a start of Windows does first."""
        with self._state.changing(FEATURES) as document:
            for feature in document.values():
                feature["state"] = _PENDING.get(feature["state"], feature["state"])


def _features(document: Document) -> dict[str, dict[str, Any]]:
    names = dict.fromkeys((*_FEATURES_AT_INSTALLATION, *document))
    return {name: {**_FEATURES_AT_INSTALLATION.get(name, {}), **document.get(name, {})} for name in names}


def _key(features: Document, name: str) -> str | None:
    return next((each for each in features if each.lower() == name.lower()), None)


def _known(features: Document, action: str, name: str) -> str:
    key = _key(features, name)
    if key is None:
        raise NotFound(action, f"Windows feature {name}", winerror.DISMAPI_E_UNKNOWN_FEATURE)
    _check(features[key], action, f"Windows feature {name}")
    return key


def _check(document: Document, action: str, subject: str) -> None:
    if code := document.get("refuses"):
        raise host_error(action, subject, code)


def _is_on(feature: Document) -> bool:
    return feature["state"] in (_ON, FeatureState.ENABLE_PENDING.name)


def _turn(feature: Document, goal: FeatureState, meanwhile: FeatureState) -> None:
    """One that waits for a restart to become another is what it was again at once."""
    if feature["state"] in (goal.name, meanwhile.name):
        return
    waits = feature.get("restart") and feature["state"] not in _PENDING
    feature["state"] = meanwhile.name if waits else goal.name


class SandboxFirewall:
    def __init__(self, state: State) -> None:
        self._state = state

    def rules(self, name: str) -> Sequence[FirewallRuleDefinition]:
        document = self._state.read(FIREWALL)
        _check(document, "read", f"firewall rule {name}")
        return [_rule(each) for each in _rules(document) if each["name"].lower() == name.lower()]

    def add(self, rule: FirewallRuleDefinition) -> None:
        with self._state.changing(FIREWALL) as document:
            _check(document, "add", f"firewall rule {rule.name}")
            document.setdefault("rules", []).append(_entry(rule))

    def change(self, rule: FirewallRuleDefinition, group: str) -> None:
        with self._state.changing(FIREWALL) as document:
            _check(document, "change", f"firewall rule {rule.name}")
            rules = _rules(document)
            rules[rules.index(_of_group(rules, rule.name, group))] = _entry(rule)

    def remove(self, name: str, group: str) -> None:
        with self._state.changing(FIREWALL) as document:
            _check(document, "remove", f"firewall rule {name}")
            rules = _rules(document)
            rules.remove(_of_group(rules, name, group))


def _rules(document: Document) -> list[Document]:
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


class SandboxDefender:
    def __init__(self, state: State) -> None:
        self._state = state

    def exclusions(self, what: str) -> Sequence[str]:
        document = self._state.read(DEFENDER)
        _check(document, "read", f"Microsoft Defender's exclusions ({what})")
        return list(document.get(what, []))

    def exclude(self, what: str, path: str) -> None:
        with self._state.changing(DEFENDER) as document:
            _check(document, "exclude", f"{what} {path} from Microsoft Defender")
            if not document.get("swallows") and _place(document, what, path) is None:
                document.setdefault(what, []).append(path)

    def include(self, what: str, path: str) -> None:
        subject = f"Microsoft Defender's exclusion of {what} {path}"
        with self._state.changing(DEFENDER) as document:
            _check(document, "take back", subject)
            place = _place(document, what, path)
            if place is None:
                raise NotFound("take back", subject, winerror.WBEM_E_NOT_FOUND)
            if not document.get("swallows"):
                del document[what][place]


def _place(document: Document, what: str, path: str) -> int | None:
    known = [each.lower() for each in document.get(what, [])]
    return known.index(path.lower()) if path.lower() in known else None


class SandboxProxies:
    """What WinHTTP would go by."""

    def __init__(self, state: State) -> None:
        self._state = state

    def default(self) -> DefaultProxy | None:
        found = self._state.read(_PROXY)
        return DefaultProxy(**found) if found else None

    def set_default(self, proxy: DefaultProxy | None) -> None:
        with self._state.changing(_PROXY) as document:
            document.clear()
            if proxy is not None:
                document.update(server=proxy.server, bypass=proxy.bypass)
