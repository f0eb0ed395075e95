"""HKEY_LOCAL_MACHINE as a document, and what Windows keeps there: variables, event sources and roots."""

import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

from agent.certificates import load_der
from agent.hashing import thumbprint
from agent.host import winerror
from agent.host.errors import NotEmpty, NotFound, host_error
from agent.host.names import check_registry_key
from agent.host.port import ROOT_CERTIFICATES, EventLevel, Registry, RegistryKind, RegistryValue
from agent.host.registry_contents import REFERENCE, EventSources, RegistryVariables, kept_text, resolved
from agent.host.sandbox.places import name_key
from agent.host.sandbox.state import Document, State

_DOCUMENT = "registry.json"


class SandboxRegistry:
    """Keys and names without regard to case."""

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


# fmt: off
_VARIABLES = {
    "ComSpec": r"%SystemRoot%\system32\cmd.exe", "NUMBER_OF_PROCESSORS": "4", "OS": "Windows_NT",
    "Path": r"%SystemRoot%\system32;%SystemRoot%", "PATHEXT": ".COM;.EXE;.BAT;.CMD",
    "PROCESSOR_ARCHITECTURE": "AMD64", "TEMP": r"%SystemRoot%\TEMP", "TMP": r"%SystemRoot%\TEMP",
    "windir": r"%SystemRoot%",
}
# fmt: on
_FROM_ELSEWHERE = {"SYSTEMROOT": r"C:\Windows", "SYSTEMDRIVE": "C:"}


class SandboxEnvironment(RegistryVariables):
    """The machine's variables, kept where Windows keeps them."""

    def install(self) -> None:
        """What every Windows has from the beginning."""
        for name, value in _VARIABLES.items():
            self.set(name, value)

    def expanded(self) -> Mapping[str, str]:
        """As a program that starts now gets them."""
        known = dict(_FROM_ELSEWHERE)
        variables = self.list()
        known |= {name.upper(): value for name, value in variables.items() if not REFERENCE.search(value)}
        return {name: resolved(value, known) for name, value in variables.items()}

    def expand(self, text: str) -> str:
        """With variables' values in the place of their names."""
        return resolved(text, _FROM_ELSEWHERE | {n.upper(): value for n, value in self.expanded().items()})


LOG = "events.jsonl"


class SandboxEventLog(EventSources):
    """The Application log: sources in the registry, records in a file of one JSON document a line."""

    def __init__(self, state: State, registry: SandboxRegistry) -> None:
        super().__init__(registry)
        self._state = state

    def write(self, source: str, level: EventLevel, event_id: int, text: str) -> None:
        line = {"source": source, "level": level.name, "id": event_id, "text": kept_text(text)}
        self._state.add_line(LOG, {"time": time.time()} | line)


_BLOB = "Blob"
_ELEMENT = struct.Struct("<III")
"""Which property, one, and how many bytes follow."""
_ENCODED = 32
"""CERT_CERT_PROP_ID: the certificate itself."""


class SandboxRoots:
    """Whom Windows would believe: in the sandbox's registry, where and how Windows has it in its own."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def read(self, thumbprint: str) -> bytes | None:
        found = self._registry.read(_root_key(thumbprint), _BLOB)
        data = found.data if found is not None and isinstance(found.data, bytes) else b""
        while data:
            what, _, size = _ELEMENT.unpack_from(data)
            content, data = data[_ELEMENT.size : _ELEMENT.size + size], data[_ELEMENT.size + size :]
            if what == _ENCODED:
                return content
        return None

    def add(self, encoded: bytes) -> None:
        try:
            load_der(encoded)
        except ValueError:
            raise host_error(
                "add", f"root certificate {thumbprint(encoded)}", winerror.CRYPT_E_ASN1_BADTAG
            ) from None
        blob = _ELEMENT.pack(_ENCODED, 1, len(encoded)) + encoded
        value = RegistryValue(RegistryKind.BINARY, blob)
        self._registry.write(_root_key(thumbprint(encoded)), _BLOB, value)

    def remove(self, thumbprint: str) -> None:
        if self.read(thumbprint) is None:
            raise NotFound("remove", f"root certificate {thumbprint}", winerror.CRYPT_E_NOT_FOUND)
        self._registry.remove_key(_root_key(thumbprint))


def _root_key(thumbprint: str) -> str:
    return rf"{ROOT_CERTIFICATES}\{thumbprint}"
