"""A value in the registry, or that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from agent.host.errors import NotFound
from agent.host.port import Host, RegistryKind
from agent.host.port import RegistryValue as Stored
from agent.resources.kind import Kept, Kind, State, Value, holds_secret, veiled
from agent.secret_names import is_secret_name
from agent.spec.registry_value import RegistryType, RegistryValue, place_of

_ABSENT: State = {"type": None}
"""As it is wanted, and as it is found then."""
_NONE = "REG_NONE"
"""Nobody asks for it, but it may have been there."""


class RegistryValueResource(Kind[RegistryValue]):
    firm = frozenset({"type", "data"})

    def wanted(self, want: RegistryValue) -> State:
        return dict(_ABSENT) if want.type is None else _state(_to_be_stored(want))

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

    def apply(self, host: Host, want: RegistryValue, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - set whatever it was
        if want.type is None:
            _remove(host, want.path, want.name)
        else:
            host.registry.write(want.path, want.name, _to_be_stored(want))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        path, value = place_of(name)
        if before is not None and before != _ABSENT:
            host.registry.write(path, value, _stored(before))
        else:
            _remove(host, path, value)
        return None


def _to_be_stored(want: RegistryValue) -> Stored:
    assert want.type is not None
    assert want.data is not None
    return Stored(RegistryKind[want.type.name], want.data)


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


def _remove(host: Host, path: str, name: str) -> None:
    with suppress(NotFound):
        host.registry.remove(path, name)


KIND = RegistryValueResource()
