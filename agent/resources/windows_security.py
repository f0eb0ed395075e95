"""Windows Security: rules of the firewall, and what Microsoft Defender does not look at."""

from contextlib import suppress
from typing import Any

from agent.host import firewall_lists
from agent.host.errors import NotFound, NotInstalled
from agent.host.port import FirewallRuleDefinition, Host
from agent.resources.kind import Kept, Kind, NotWell, Setting, State, Value
from agent.spec.machine import DefenderExclusion
from agent.spec.networks import FirewallRule

GROUP = "wmcb"
"""By which our rules are known, and shown together in Windows' own lists of them."""

_RULES_KEY = r"SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules"
_LISTS = ("local_ports", "remote_ports", "local_addresses", "remote_addresses", "profiles")
_SEPARATOR = ", "
_ANY = "any"
_NEVER_CHANGED = ("protocol", "program", "service")
"""Of another's rule: it would have to be removed for that, and with it what we know nothing of."""
_ALIKE = "alike"


class FirewallRuleResource(Kind[FirewallRule]):
    """A rule of Windows' firewall."""

    firm = frozenset(FirewallRuleDefinition.__match_args__) - {"name", "description"}
    common_keys = (_RULES_KEY,)

    def wanted(self, want: FirewallRule) -> State:
        return _state(
            FirewallRuleDefinition(
                want.name,
                GROUP,
                want.description,
                want.direction,
                want.action,
                want.protocol,
                firewall_lists.ports(want.local_ports),
                firewall_lists.ports(want.remote_ports),
                (),
                firewall_lists.addresses(want.remote_addresses),
                want.program,
                want.service,
                firewall_lists.profiles(want.profiles),
            )
        )

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all of it in one look
        there = host.firewall.rules(name)
        ours = next((rule for rule in there if rule.group == GROUP), None)
        if ours is not None:
            return _state(ours)
        if not there:
            return None
        return {**_state(there[0]), _ALIKE: len(there)}

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        if field in ("program", "service"):
            return str(wanted).lower() == str(found).lower()
        return super().same(field, wanted, found)

    def obstacle(self, want: FirewallRule, found: State | None) -> str | None:
        if found is None or found["group"] == GROUP:
            return None
        what = f"firewall rule {want.name} is there and not wmcb's (group {found['group'] or 'none'})"
        if not want.takes_over:
            return f"{what}; choose another name, remove it, or have it taken over"
        if found[_ALIKE] != 1:
            return f"{what}, {found[_ALIKE]} times; choose another name"
        wanted = self.wanted(want)
        for field in _NEVER_CHANGED:
            if not self.same(field, wanted[field], found[field]):
                return f"{what}, and for another {field}; choose another name, or remove it"
        return None

    def manner(self, want: FirewallRule) -> State:
        return {"takes_over": True} if want.takes_over else {}

    def apply(self, host: Host, want: FirewallRule, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it has no content
        rule = _definition(want.key.name, self.wanted(want))
        if found is None:
            host.firewall.add(rule)
        else:
            host.firewall.change(rule, str(found["group"]))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is None:
            with suppress(NotFound):
                host.firewall.remove(name, GROUP)
            return None
        rule, found = _definition(name, before), self.observe(host, name, before)
        is_it = found is not None and (manner.get("takes_over") or found["group"] in (GROUP, rule.group))
        if found is not None and is_it:
            host.firewall.change(rule, str(found["group"]))
        else:
            host.firewall.add(rule)  # perhaps beside one that somebody else has made since
        return None


def _state(rule: FirewallRuleDefinition) -> State:
    fields = (name for name in FirewallRuleDefinition.__match_args__ if name != "name")
    values = ((name, getattr(rule, name)) for name in fields)
    return {name: _SEPARATOR.join(value) or _ANY if name in _LISTS else value for name, value in values}


def _definition(name: str, state: State) -> FirewallRuleDefinition:
    fields: dict[str, Any] = {
        field: _listed(str(state[field])) if field in _LISTS else state[field]
        for field in FirewallRuleDefinition.__match_args__
        if field in state
    }
    return FirewallRuleDefinition(name, **fields)


def _listed(text: str) -> tuple[str, ...]:
    return () if text == _ANY else tuple(text.split(_SEPARATOR))


_EXCLUSIONS_KEY = r"SOFTWARE\Microsoft\Windows Defender\Exclusions"
_KEYS = {"path": "Paths", "process": "Processes"}
_EXCLUDED: State = {"excluded": True}
_NOBODY_LOOKS: State = {"excluded": False}
"""Where there is no Defender."""


class DefenderExclusionResource(Setting[DefenderExclusion]):
    """What Microsoft Defender does not look at."""

    firm = frozenset({"excluded"})
    wanted_of_all = _EXCLUDED

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it has one field
        what, _, path = name.partition(" ")
        try:
            excluded = (_comparable(each) for each in host.defender.exclusions(what))
        except NotInstalled:
            return dict(_NOBODY_LOOKS)
        return dict(_EXCLUDED) if _comparable(path) in excluded else None

    def registry_keys(self, name: str) -> tuple[str, ...]:
        return (rf"{_EXCLUSIONS_KEY}\{_KEYS[name.partition(' ')[0]]}",)

    def obstacle(self, want: DefenderExclusion, found: State | None) -> str | None:
        if found == _NOBODY_LOOKS:
            return f"this Windows has no Microsoft Defender to exclude {want.key.name} from; leave it out"
        return None

    def put(self, host: Host, name: str, state: State) -> None:  # noqa: ARG002 - it has one state
        if not self._is_there(host, name):
            self._exclude(host, name)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:
        """Where there was no Defender, nothing was excluded."""
        return super().restore(host, name, None if before == _NOBODY_LOOKS else before, manner, kept)

    def take_away(self, host: Host, name: str) -> str | None:
        what, _, path = name.partition(" ")
        with suppress(NotFound, NotInstalled):
            host.defender.include(what, path)
        if self._is_there(host, name):
            return f"Microsoft Defender keeps its exclusion of {name}: a policy or tamper protection may"
        return None

    def _exclude(self, host: Host, name: str) -> None:
        what, _, path = name.partition(" ")
        host.defender.exclude(what, path)
        if not self._is_there(host, name):
            # It says that it has done so, also where it does not.
            raise NotWell(
                f"Microsoft Defender took the exclusion of {name} and does not have it: tamper protection or"
                " a group policy does not let it; have it excluded there, or leave it out"
            )

    def _is_there(self, host: Host, name: str) -> bool:
        return self.observe(host, name, _EXCLUDED) == _EXCLUDED


def _comparable(path: str) -> str:
    return path.rstrip("\\").lower()
