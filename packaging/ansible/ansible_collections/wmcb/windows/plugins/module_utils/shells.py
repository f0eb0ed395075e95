"""Command lines for what a Windows machine is reached by: cmd.exe over SSH, PowerShell over WinRM and PSRP.

Six things are asked of a shell beside running a program. cmd.exe does them without PowerShell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

# cmd.exe looks for variables between these also inside of quotes, and nothing keeps it from that.
_NOT_FOR_CMD = "%"
_NOT_FOR_ANY = '"\r\n\0'


class Unquotable(Exception):
    """A word that a shell would take for something else. The text says which."""


class Shell(ABC):
    @abstractmethod
    def run(self, program: str, arguments: Sequence[str]) -> str: ...

    @abstractmethod
    def print_home(self) -> str:
        """The folder of whoever has logged in, which is closed to all but that person and administrators."""

    @abstractmethod
    def print_size(self, path: str) -> str:
        """Of a file in bytes; nothing where there is none."""

    @abstractmethod
    def make_folder(self, path: str) -> str: ...

    @abstractmethod
    def move(self, old: str, new: str) -> str:
        """In one step, in place of what is there."""

    @abstractmethod
    def remove(self, path: str) -> str:
        """A file or a folder with all in it, if it is there."""

    @abstractmethod
    def keep_alone(self, folder: str, name: str) -> str:
        """Removes the other folders in a folder."""


class Cmd(Shell):
    def run(self, program: str, arguments: Sequence[str]) -> str:
        return " ".join(_quoted_for_cmd(word) for word in (program, *arguments))

    def print_home(self) -> str:
        return "echo %USERPROFILE%"

    def print_size(self, path: str) -> str:
        it = _quoted_for_cmd(path)
        return f"if exist {it} for %I in ({it}) do @echo %~zI"

    def make_folder(self, path: str) -> str:
        it = _quoted_for_cmd(path)
        return f"if not exist {it} mkdir {it}"

    def move(self, old: str, new: str) -> str:
        return f"move /y {_quoted_for_cmd(old)} {_quoted_for_cmd(new)}"

    def remove(self, path: str) -> str:
        it = _quoted_for_cmd(path)
        folder = _quoted_for_cmd(path + "\\")
        return f"if exist {folder} (rmdir /s /q {it}) else if exist {it} del /f /q {it}"

    def keep_alone(self, folder: str, name: str) -> str:
        others = _quoted_for_cmd(folder + "\\*")
        return f'for /d %I in ({others}) do @if /i not "%~nxI"=={_quoted_for_cmd(name)} rmdir /s /q "%I"'


class PowerShell(Shell):
    def run(self, program: str, arguments: Sequence[str]) -> str:
        words = " ".join(_quoted_for_powershell(word) for word in (program, *arguments))
        return f"& {words}; exit $LASTEXITCODE"

    def print_home(self) -> str:
        return _cmdlets("$env:USERPROFILE")

    def print_size(self, path: str) -> str:
        it = _quoted_for_powershell(path)
        return _cmdlets(f"if (Test-Path -LiteralPath {it}) {{ (Get-Item -LiteralPath {it} -Force).Length }}")

    def make_folder(self, path: str) -> str:
        return _cmdlets(f"$null = New-Item -ItemType Directory -Force -Path {_quoted_for_powershell(path)}")

    def move(self, old: str, new: str) -> str:
        old, new = _quoted_for_powershell(old), _quoted_for_powershell(new)
        return _cmdlets(f"Move-Item -Force -LiteralPath {old} -Destination {new} -ErrorAction Stop")

    def remove(self, path: str) -> str:
        it = _quoted_for_powershell(path)
        removal = f"Remove-Item -Recurse -Force -LiteralPath {it} -ErrorAction Stop"
        return _cmdlets(f"if (Test-Path -LiteralPath {it}) {{ {removal} }}")

    def keep_alone(self, folder: str, name: str) -> str:
        found = f"Get-ChildItem -Directory -LiteralPath {_quoted_for_powershell(folder)}"
        others = f"{found} | Where-Object Name -ne {_quoted_for_powershell(name)}"
        return _cmdlets(f"{others} | Remove-Item -Recurse -Force")


def of_family(name: str) -> Shell:
    """By what Ansible calls the family of a connection's shell."""
    return Cmd() if name == "cmd" else PowerShell()


def _cmdlets(line: str) -> str:
    """PSRP ends it with what the task's last program ended with, which no cmdlet changes."""
    return f"$global:LASTEXITCODE = 0; {line}"


def _quoted_for_cmd(word: str) -> str:
    _check(word, _NOT_FOR_ANY + _NOT_FOR_CMD)
    # A backslash before the closing quote would be taken for one that belongs to it.
    return f'"{word}\\"' if word.endswith("\\") else f'"{word}"'


def _quoted_for_powershell(word: str) -> str:
    _check(word, _NOT_FOR_ANY)
    escaped = word.replace("'", "''")
    return f"'{escaped}'"


def _check(word: str, unwanted: str) -> None:
    for character in unwanted:
        if character in word:
            raise Unquotable(f"{word!r} has a {character!r}, which cannot be given to a program on the node")
