"""The machine's environment: its variables, and the entries of its Path."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from agent.host.port import Host, RegistryKind
from agent.host.registry_contents import VARIABLES_KEY
from agent.resources.kind import Kept, Kind, Setting, State, Value, holds_secret, veiled
from agent.secret_patterns import is_path, is_secret_name
from agent.spec import EnvironmentVariable
from agent.spec.machine import PathEntry

_ABSENT: State = {"value": None}
"""As it is wanted, and as it is found then. One that is no text has a type."""
_UNLESS_A_PATH = "unless a path"  # of TLS_KEY and its like, each a key or its file


class EnvironmentVariableResource(Setting[EnvironmentVariable]):
    """A variable of the machine's environment."""

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


PATH = "Path"
_TEXTS = (None, RegistryKind.STRING, RegistryKind.EXPANDABLE)


class PathEntryResource(Kind[PathEntry]):
    """One entry of the machine's Path, among those of others."""

    firm = frozenset({"is_there"})
    common_keys = (VARIABLES_KEY,)
    wanted_of_all: ClassVar[State] = {"is_there": True}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all of it is cheap
        if host.environment.kind(PATH) not in _TEXTS:
            return {"is_there": None}
        entries, mine = _entries(host), _folded(name)
        at = next((at for at, folder in enumerate(_meant(host, entries)) if folder == mine), None)
        if at is None:
            return None
        # As it is written, and after what: should it have to come back.
        return {"is_there": True, "entry": entries[at], "after": entries[at - 1] if at else ""}

    def obstacle(self, want: PathEntry, found: State | None) -> str | None:  # noqa: ARG002 - of all alike
        if found is not None and found["is_there"] is None:
            return f"the machine's {PATH} is no text in the registry; put that right first"
        return None

    def apply(self, host: Host, want: PathEntry, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it has no content
        if found is None:
            _put(host, str(want.folder), None)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        now = self.observe(host, name, {})
        if before is not None and before["is_there"]:
            if now is None:
                _put(host, str(before.get("entry", name)), before.get("after"))
            return None
        entries = _entries(host)
        if name in entries:
            entries.remove(name)  # one that is written otherwise is somebody else's
            _set(host, entries)
        return None


def _entries(host: Host) -> list[str]:
    found = host.environment.get(PATH)
    return found.split(";") if found else []


def _put(host: Host, entry: str, after: Value) -> None:
    """After what it was after; else behind all, but before a semicolon that ends it."""
    entries = _entries(host)
    place = len(entries) - (entries[-1:] == [""])
    if after == "":
        place = 0
    elif after in entries:
        place = entries.index(str(after)) + 1
    _set(host, [*entries[:place], entry, *entries[place:]])


def _set(host: Host, entries: Sequence[str]) -> None:
    kind = host.environment.kind(PATH) or RegistryKind.EXPANDABLE
    host.environment.set(PATH, ";".join(entries), kind)


def _meant(host: Host, entries: Sequence[str]) -> Iterator[str]:
    expands = host.environment.kind(PATH) is RegistryKind.EXPANDABLE
    for entry in entries:
        yield _folded(host.environment.expand(entry) if expands and "%" in entry else entry)


def _folded(folder: str) -> str:
    """What Windows takes for the same folder."""
    return folder.strip().strip('"').replace("/", "\\").rstrip("\\").upper()
