"""The machine's DNS suffixes, by the registry, and by a word to the resolver, which reads it then."""

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from agent.host.errors import NotFound, ServiceCannotAccept, ServiceNotRunning
from agent.host.port import Host, RegistryKind, RegistryValue
from agent.resources.kind import Kept, Kind, State, Value
from agent.spec.machine import DnsSuffixes

_KEY = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
_BY_POLICY = r"SOFTWARE\Policies\Microsoft\Windows NT\DNSClient"
_NAME = "SearchList"
_RESOLVER = "Dnscache"


class DnsSuffixesResource(Kind[DnsSuffixes]):
    firm = frozenset({"suffixes"})
    common_keys = (_KEY,)

    def wanted(self, want: DnsSuffixes) -> State:
        return {"suffixes": list(want.suffixes)}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is one
        found, policy = (_text(host, key) for key in (_KEY, _BY_POLICY))
        if not found and not policy:
            return None
        state: dict[str, Value] = {"suffixes": _listed(found), "stored": found}
        return {**state, "by_policy": policy} if policy else state

    def same(self, field: str, wanted: Value, found: Value) -> bool:  # noqa: ARG002 - there is one
        return _folded(wanted) == _folded(found)

    def shown(self, field: str, value: Value, manner: State) -> str:
        return ", ".join(map(str, value)) if isinstance(value, list) else super().shown(field, value, manner)

    def obstacle(self, want: DnsSuffixes, found: State | None) -> str | None:  # noqa: ARG002 - whatever is wanted
        if found is not None and found.get("by_policy"):
            return f"a group policy says the DNS suffixes ({found['by_policy']}), and counts; change it there"
        return None

    def apply(self, host: Host, want: DnsSuffixes, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - set whatever it was
        _store(host, ",".join(want.suffixes))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is None:
            with suppress(NotFound):
                host.registry.remove(_KEY, _NAME)
            _tell(host)
        else:
            _store(host, str(before.get("stored", ",".join(_folded(before["suffixes"])))))
        return None


def _text(host: Host, key: str) -> str:
    value = host.registry.read(key, _NAME)
    return value.data if value is not None and isinstance(value.data, str) else ""


def _listed(stored: str) -> list[Value]:
    """Windows takes blanks for commas."""
    return list(stored.replace(",", " ").split())


def _folded(suffixes: Value) -> list[str]:
    return [str(each).lower() for each in cast("Sequence[Value]", suffixes or ())]


def _store(host: Host, suffixes: str) -> None:
    host.registry.write(_KEY, _NAME, RegistryValue(RegistryKind.STRING, suffixes))
    _tell(host)


def _tell(host: Host) -> None:
    """It reads the list when it starts, and when it is told."""
    with suppress(NotFound, ServiceNotRunning, ServiceCannotAccept):
        host.services.tell_of_parameters(_RESOLVER)


KIND = DnsSuffixesResource()
