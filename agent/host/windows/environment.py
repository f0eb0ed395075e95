"""The machine's variables."""

import winreg

from agent.host.port import RegistryKind
from agent.host.variables import RegistryVariables, resolved


class WindowsEnvironment(RegistryVariables):
    def set(self, name: str, value: str, kind: RegistryKind | None = None) -> None:
        super().set(name, value, kind)
        _tell()

    def remove(self, name: str) -> None:
        super().remove(name)
        _tell()

    def expand(self, text: str) -> str:
        known = {name.upper(): value for name, value in self.list().items()}
        # SystemRoot, ProgramFiles and their like are not among the machine's: Windows adds them.
        return winreg.ExpandEnvironmentStrings(winreg.ExpandEnvironmentStrings(resolved(text, known)))


def _tell() -> None:
    from agent.host.windows.api.windows import tell_of_environment  # noqa: PLC0415 - loads user32.dll

    tell_of_environment()
