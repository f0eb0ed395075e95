"""HKEY_LOCAL_MACHINE as a document; keys and names without regard to case."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.host import winerror
from agent.host.errors import NotEmpty, NotFound
from agent.host.names import check_registry_key
from agent.host.port import RegistryKind, RegistryValue
from agent.host.sandbox.places import name_key
from agent.host.sandbox.state import Document, State

_DOCUMENT = "registry.json"


class SandboxRegistry:
    def __init__(self, state: State) -> None:
        self._state = state

    def read(self, key: str, name: str) -> RegistryValue | None:
        found = self._state.read(_DOCUMENT).get(_key(key))
        entry = found["values"].get(name_key(name)) if found else None
        return _value(entry) if entry else None

    def values(self, key: str) -> Mapping[str, RegistryValue]:
        found = _existing(self._state.read(_DOCUMENT), "read", key)
        return {entry["name"]: _value(entry) for entry in found["values"].values()}

    def keys(self, key: str) -> Sequence[str]:
        document = self._state.read(_DOCUMENT)
        _existing(document, "list", key)
        above = _key(key) + "\\"
        below = [entry["name"] for path, entry in document.items() if path.startswith(above)]
        return sorted(
            (name[len(above) :] for name in below if "\\" not in name[len(above) :]), key=str.casefold
        )

    def write(self, key: str, name: str, value: RegistryValue) -> None:
        with self._state.changing(_DOCUMENT) as document:
            _make(document, key)
            document[_key(key)]["values"][name_key(name)] = _entry(name, value)

    def make_key(self, key: str) -> None:
        with self._state.changing(_DOCUMENT) as document:
            _make(document, key)

    def remove(self, key: str, name: str) -> None:
        with self._state.changing(_DOCUMENT) as document:
            found = _existing(document, "remove a value of", key)
            if found["values"].pop(name_key(name), None) is None:
                raise NotFound("remove", f"value {name} of registry key {key}", winerror.ERROR_FILE_NOT_FOUND)

    def remove_empty_key(self, key: str) -> None:
        with self._state.changing(_DOCUMENT) as document:
            found = _existing(document, "remove", key)
            if found["values"] or any(path.startswith(_key(key) + "\\") for path in document):
                raise NotEmpty("remove", f"registry key {key}", winerror.ERROR_DIR_NOT_EMPTY)
            del document[_key(key)]

    def remove_key(self, key: str) -> None:
        with self._state.changing(_DOCUMENT) as document:
            _existing(document, "remove", key)
            for path in [path for path in document if (path + "\\").startswith(_key(key) + "\\")]:
                del document[path]

    def flush(self) -> None:
        """No power is cut here, see agent.host.sandbox.state."""


def _make(document: Document, key: str) -> None:
    parts = check_registry_key(key).strip("\\").split("\\")
    for length in range(1, len(parts) + 1):
        path = "\\".join(parts[:length])
        document.setdefault(name_key(path), {"name": path, "values": {}})


def _existing(document: Document, action: str, key: str) -> Any:
    found = document.get(_key(key))
    if found is None:
        raise NotFound(action, f"registry key {key}", winerror.ERROR_FILE_NOT_FOUND)
    return found


def _key(key: str) -> str:
    return name_key(check_registry_key(key).rstrip("\\"))


def _entry(name: str, value: RegistryValue) -> Document:
    data = value.data.hex() if isinstance(value.data, bytes) else value.data
    return {"name": name, "kind": value.kind.name, "data": data}


def _value(entry: Document) -> RegistryValue:
    kind, data = RegistryKind[entry["kind"]], entry["data"]
    if kind in (RegistryKind.BINARY, RegistryKind.NONE):
        return RegistryValue(kind, bytes.fromhex(data))
    return RegistryValue(kind, tuple(data) if kind is RegistryKind.STRINGS else data)
