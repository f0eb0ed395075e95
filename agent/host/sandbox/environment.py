"""The machine's variables, kept where Windows keeps them."""

from collections.abc import Mapping

from agent.host.variables import REFERENCE, RegistryVariables, resolved

# fmt: off
_AT_INSTALLATION = {
    "ComSpec": r"%SystemRoot%\system32\cmd.exe", "NUMBER_OF_PROCESSORS": "4", "OS": "Windows_NT",
    "Path": r"%SystemRoot%\system32;%SystemRoot%", "PATHEXT": ".COM;.EXE;.BAT;.CMD",
    "PROCESSOR_ARCHITECTURE": "AMD64", "TEMP": r"%SystemRoot%\TEMP", "TMP": r"%SystemRoot%\TEMP",
    "windir": r"%SystemRoot%",
}
# fmt: on
_FROM_ELSEWHERE = {"SYSTEMROOT": r"C:\Windows", "SYSTEMDRIVE": "C:"}


class SandboxEnvironment(RegistryVariables):
    def install(self) -> None:
        """What every Windows has from the beginning."""
        for name, value in _AT_INSTALLATION.items():
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
