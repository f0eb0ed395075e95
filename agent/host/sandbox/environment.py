"""The machine's variables, kept where Windows keeps them."""

from __future__ import annotations

from collections.abc import Mapping

from agent.host.port import RegistryKind, RegistryValue
from agent.host.sandbox.registry import SandboxRegistry
from agent.host.variables import KEY, REFERENCE, check_name, kind_of, resolved

_AT_INSTALLATION = {
    "ComSpec": r"%SystemRoot%\system32\cmd.exe",
    "NUMBER_OF_PROCESSORS": "4",
    "OS": "Windows_NT",
    "Path": r"%SystemRoot%\system32;%SystemRoot%",
    "PATHEXT": ".COM;.EXE;.BAT;.CMD",
    "PROCESSOR_ARCHITECTURE": "AMD64",
    "TEMP": r"%SystemRoot%\TEMP",
    "TMP": r"%SystemRoot%\TEMP",
    "windir": r"%SystemRoot%",
}
_FROM_ELSEWHERE = {"SYSTEMROOT": r"C:\Windows", "SYSTEMDRIVE": "C:"}


class SandboxEnvironment:
    def __init__(self, registry: SandboxRegistry) -> None:
        self._registry = registry

    def install(self) -> None:
        """What every Windows has from the beginning."""
        for name, value in _AT_INSTALLATION.items():
            self.set(name, value)

    def list(self) -> Mapping[str, str]:
        values = self._registry.values(KEY).items()
        return {name: value.data for name, value in values if isinstance(value.data, str)}

    def get(self, name: str) -> str | None:
        value = self._registry.read(KEY, check_name(name))
        return value.data if value and isinstance(value.data, str) else None

    def kind(self, name: str) -> RegistryKind | None:
        value = self._registry.read(KEY, check_name(name))
        return value.kind if value else None

    def set(self, name: str, value: str, kind: RegistryKind | None = None) -> None:
        self._registry.write(KEY, check_name(name), RegistryValue(kind or kind_of(value), value))

    def remove(self, name: str) -> None:
        self._registry.remove(KEY, check_name(name))

    def expanded(self) -> Mapping[str, str]:
        """As a program that starts now gets them."""
        known = dict(_FROM_ELSEWHERE)
        variables = self.list()
        known |= {name.upper(): value for name, value in variables.items() if not REFERENCE.search(value)}
        return {name: resolved(value, known) for name, value in variables.items()}

    def expand(self, text: str) -> str:
        """With variables' values in the place of their names."""
        return resolved(text, _FROM_ELSEWHERE | {n.upper(): value for n, value in self.expanded().items()})
