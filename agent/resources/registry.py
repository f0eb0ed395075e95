"""Keys and values of the registry."""

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from agent.host.errors import HostError, NotEmpty, NotFound
from agent.host.port import Host, RegistryKind
from agent.host.port import RegistryValue as Stored
from agent.resources.kind import Setting, State, Value, holds_secret, veiled
from agent.resources.trees import of_others
from agent.secret_patterns import is_secret_name
from agent.spec.machine import ROOT, RegistryKey, RegistryType, RegistryValue, place_of

_THERE: State = {"is_there": True}


class RegistryKeyResource(Setting[RegistryKey]):
    """A key of the registry that something of ours lies in."""

    firm = frozenset({"is_there"})
    wanted_of_all = _THERE

    def is_content(self, manner: State) -> bool:  # noqa: ARG002 - all alike
        return True

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it is there or not
        try:
            host.registry.keys(_path(name))
        except NotFound:
            return None
        return dict(_THERE)

    def registry_keys(self, name: str) -> tuple[str, ...]:
        return (_path(name),)

    def put(self, host: Host, name: str, state: State) -> None:  # noqa: ARG002 - all alike
        host.registry.make_key(_path(name))

    def take_away(self, host: Host, name: str) -> str | None:
        try:
            with suppress(NotFound):
                host.registry.remove_empty_key(_path(name))
        except NotEmpty:
            return f"registry key {name} {of_others(_names_in(host, _path(name)))}, and stays"
        return None


def _names_in(host: Host, path: str) -> Sequence[str]:
    try:
        return [*host.registry.keys(path), *host.registry.values(path)]
    except HostError:
        return ()


def _path(name: str) -> str:
    return name.removeprefix(f"{ROOT}\\")


_ABSENT: State = {"type": None}
"""As it is wanted, and as it is found then."""
_NONE = "REG_NONE"
"""Nobody asks for it, but it may have been there."""


class RegistryValueResource(Setting[RegistryValue]):
    """A value in the registry, or that there is none."""

    firm = frozenset({"type", "data"})

    def wanted(self, want: RegistryValue) -> State:
        if want.type is None:
            return dict(_ABSENT)
        assert want.data is not None
        return _state(Stored(RegistryKind[want.type.name], want.data))

    def manner(self, want: RegistryValue) -> State:
        is_number = want.type in (RegistryType.NUMBER, RegistryType.LONG_NUMBER)
        return {"secret": True} if want.secret or (not is_number and is_secret_name(want.name)) else {}

    def shown(self, field: str, value: Value, manner: State) -> str:
        if field == "data" and value is not None and (manner.get("secret") or holds_secret(value)):
            return veiled(value)
        if isinstance(value, list):
            return ", ".join(map(str, value)) or "no text"
        return super().shown(field, value, manner)

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        found = host.registry.read(*place_of(name))
        if found is None:
            return dict(_ABSENT) if wanted == _ABSENT else None
        return _state(found)

    def registry_keys(self, name: str) -> tuple[str, ...]:
        return (place_of(name)[0],)

    def put(self, host: Host, name: str, state: State) -> None:
        if state == _ABSENT:
            self.take_away(host, name)
        else:
            host.registry.write(*place_of(name), _stored(state))

    def remove(self, host: Host, name: str) -> None:
        host.registry.remove(*place_of(name))


def _state(value: Stored) -> State:
    """Fit for JSON."""
    known = value.kind is not RegistryKind.NONE
    data: Value = value.data.hex() if isinstance(value.data, bytes) else value.data
    return {
        "type": RegistryType[value.kind.name].value if known else _NONE,
        "data": list(value.data) if isinstance(value.data, tuple) else data,
    }


def _stored(state: State) -> Stored:
    if state["type"] == _NONE:
        return Stored(RegistryKind.NONE, bytes.fromhex(str(state["data"])))
    kind, data = RegistryKind[RegistryType(state["type"]).name], state["data"]
    if kind is RegistryKind.BINARY:
        return Stored(kind, bytes.fromhex(str(data)))
    if kind is RegistryKind.STRINGS:
        return Stored(kind, tuple(map(str, cast("Sequence[Value]", data))))
    assert isinstance(data, str | int)
    return Stored(kind, data)
