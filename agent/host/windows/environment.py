"""The machine's variables."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import winreg
from collections.abc import Mapping

from agent.host.port import Registry, RegistryKind, RegistryValue
from agent.host.variables import KEY, check_name, kind_of, resolved


class WindowsEnvironment:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def list(self) -> Mapping[str, str]:
        return {
            name: value.data
            for name, value in self._registry.values(KEY).items()
            if isinstance(value.data, str)
        }

    def get(self, name: str) -> str | None:
        value = self._registry.read(KEY, check_name(name))
        return value.data if value and isinstance(value.data, str) else None

    def kind(self, name: str) -> RegistryKind | None:
        value = self._registry.read(KEY, check_name(name))
        return value.kind if value else None

    def set(self, name: str, value: str, kind: RegistryKind | None = None) -> None:
        self._registry.write(KEY, check_name(name), RegistryValue(kind or kind_of(value), value))
        _tell()

    def remove(self, name: str) -> None:
        self._registry.remove(KEY, check_name(name))
        _tell()

    def expand(self, text: str) -> str:
        known = {name.upper(): value for name, value in self.list().items()}
        # SystemRoot, ProgramFiles and their like are not among the machine's: Windows adds them.
        return winreg.ExpandEnvironmentStrings(winreg.ExpandEnvironmentStrings(resolved(text, known)))


def _tell() -> None:
    from agent.host.windows.api.windows import tell_of_environment  # noqa: PLC0415 - loads user32.dll

    tell_of_environment()
