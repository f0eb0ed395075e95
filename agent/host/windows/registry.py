"""HKEY_LOCAL_MACHINE, its 64-bit view."""

import winreg
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agent.host import winerror
from agent.host.names import check_registry_key
from agent.host.port import RegistryKind, RegistryValue
from agent.host.windows.failure import failed, telling

_HIVES = ("SYSTEM", "SOFTWARE")
"""Each is a file: services, variables and routes are in the one, what programs keep in the other."""
_KINDS = {kind.value: kind for kind in RegistryKind}


class WindowsRegistry:
    def read(self, key: str, name: str) -> RegistryValue | None:
        with telling("read", f"{name} in {_shown(key)}"), suppress(FileNotFoundError), _opened(key) as handle:
            return _value(*winreg.QueryValueEx(handle, name))
        return None

    def values(self, key: str) -> Mapping[str, RegistryValue]:
        with telling("read", _shown(key)), _opened(key) as handle:
            return {name: _value(data, kind) for name, data, kind in _each(winreg.EnumValue, handle)}

    def keys(self, key: str) -> Sequence[str]:
        with telling("read", _shown(key)), _opened(key) as handle:
            return sorted(_each(winreg.EnumKey, handle), key=str.casefold)

    def write(self, key: str, name: str, value: RegistryValue) -> None:
        data = list(value.data) if isinstance(value.data, tuple) else value.data
        access = winreg.KEY_SET_VALUE | winreg.KEY_WOW64_64KEY
        with (
            telling("write", f"{name} in {_shown(key)}"),
            winreg.CreateKeyEx(winreg.HKEY_LOCAL_MACHINE, check_registry_key(key), 0, access) as handle,
        ):
            winreg.SetValueEx(handle, name, 0, value.kind.value, data)

    def make_key(self, key: str) -> None:
        access = winreg.KEY_CREATE_SUB_KEY | winreg.KEY_WOW64_64KEY
        with telling("make", _shown(key)):
            winreg.CreateKeyEx(winreg.HKEY_LOCAL_MACHINE, check_registry_key(key), 0, access).Close()

    def remove(self, key: str, name: str) -> None:
        with telling("remove", f"{name} in {_shown(key)}"), _opened(key, winreg.KEY_SET_VALUE) as handle:
            winreg.DeleteValue(handle, name)

    def remove_empty_key(self, key: str) -> None:
        with telling("remove", _shown(key)):
            with _opened(key) as handle:
                keys, values, _ = winreg.QueryInfoKey(handle)
            if keys or values:
                raise failed(winerror.ERROR_DIR_NOT_EMPTY, "RegQueryInfoKeyW")
            # It refuses one with keys below, should there be one by now.
            winreg.DeleteKeyEx(winreg.HKEY_LOCAL_MACHINE, check_registry_key(key), winreg.KEY_WOW64_64KEY)

    def remove_key(self, key: str) -> None:
        import win32api  # noqa: PLC0415 - loads shell32.dll, 1.2 MB of the resident service

        with telling("remove", _shown(key)):
            win32api.RegDeleteTree(winreg.HKEY_LOCAL_MACHINE, check_registry_key(key))  # type: ignore[arg-type]

    def flush(self) -> None:
        for hive in _HIVES:
            with telling("flush", _shown(hive)), _opened(hive) as handle:
                winreg.FlushKey(handle)


def _opened(key: str, access: int = winreg.KEY_READ) -> winreg.HKEYType:
    return winreg.OpenKey(
        winreg.HKEY_LOCAL_MACHINE, check_registry_key(key), 0, access | winreg.KEY_WOW64_64KEY
    )


def _shown(key: str) -> str:
    return f"registry key HKLM\\{key}"


def _value(data: Any, kind: int) -> RegistryValue:
    known = _KINDS.get(kind, RegistryKind.BINARY)
    if known is RegistryKind.STRINGS:
        return RegistryValue(known, tuple(data or ()))
    if data is None:
        # What winreg makes of nothing at all.
        data = b"" if known in (RegistryKind.BINARY, RegistryKind.NONE) else ""
    return RegistryValue(known, data)


def _each(ask: Any, handle: winreg.HKEYType) -> Iterator[Any]:
    number = 0
    while True:
        try:
            item = ask(handle, number)
        except OSError as failure:
            if failure.winerror == winerror.ERROR_NO_MORE_ITEMS:
                return
            raise
        yield item
        number += 1
