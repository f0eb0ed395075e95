"""A variable of the machine's environment."""

from agent.host.port import Host, RegistryKind
from agent.host.registry_contents import VARIABLES_KEY
from agent.resources.kind import Setting, State, Value, holds_secret, veiled
from agent.secret_names import is_path, is_secret_name
from agent.spec import EnvironmentVariable

_ABSENT: State = {"value": None}
"""As it is wanted, and as it is found then. One that is no text has a type."""
_UNLESS_A_PATH = "unless a path"  # of TLS_KEY and its like, each a key or its file


class EnvironmentVariableResource(Setting[EnvironmentVariable]):
    firm = frozenset({"value"})
    common_keys = (VARIABLES_KEY,)

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

    def put(self, host: Host, name: str, state: State) -> None:
        if state == _ABSENT:
            self.take_away(host, name)
            return
        kind = RegistryKind[str(state["type"])] if "type" in state else None
        host.environment.set(name, str(state["value"]), kind)

    def remove(self, host: Host, name: str) -> None:
        host.environment.remove(name)


KIND = EnvironmentVariableResource()
