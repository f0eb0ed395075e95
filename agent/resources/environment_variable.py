"""A variable of the machine's environment."""

from __future__ import annotations

from contextlib import suppress

from agent.host.errors import NotFound
from agent.host.port import Host, RegistryKind
from agent.host.variables import KEY
from agent.resources.kind import Kept, Kind, State, Value, holds_secret, veiled
from agent.secret_names import is_path, is_secret_name
from agent.spec import EnvironmentVariable

_ABSENT: State = {"value": None}
"""As it is wanted, and as it is found then. One that is no text has a type."""
_UNLESS_A_PATH = "unless a path"  # of TLS_KEY and its like, each a key or its file


class EnvironmentVariableResource(Kind[EnvironmentVariable]):
    firm = frozenset({"value"})

    def wanted(self, want: EnvironmentVariable) -> State:
        return {"value": want.value}

    def manner(self, want: EnvironmentVariable) -> State:
        if want.secret or is_secret_name(want.name, "C:\\"):
            return {"secret": True}
        return {"secret": _UNLESS_A_PATH} if is_secret_name(want.name) else {}

    def shown(self, field: str, value: Value, manner: State) -> str:
        is_place = manner.get("secret") == _UNLESS_A_PATH and is_path(str(value))
        if value is not None and ((manner.get("secret") and not is_place) or holds_secret(value)):
            return veiled(value)
        return super().shown(field, value, manner)

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        kind = host.environment.kind(name)
        if kind is None:
            return dict(_ABSENT) if wanted == _ABSENT else None
        return {"value": host.environment.get(name), "type": kind.name}

    def obstacle(self, want: EnvironmentVariable, found: State | None) -> str | None:
        if found is not None and found["value"] is None and found != _ABSENT:
            return f"variable {want.name} is no text in the registry ({found['type']}); remove it"
        return None

    def registry_keys(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - all lie there
        return (KEY,)

    def apply(self, host: Host, want: EnvironmentVariable, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - set whatever it was
        if want.value is not None:
            host.environment.set(want.name, want.value)
        else:
            _remove(host, want.name)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is not None and before != _ABSENT:
            kind = RegistryKind[str(before["type"])] if "type" in before else None
            host.environment.set(name, str(before["value"]), kind)
            return None
        _remove(host, name)
        return None


def _remove(host: Host, name: str) -> None:
    with suppress(NotFound):
        host.environment.remove(name)


KIND = EnvironmentVariableResource()
