"""Command lines for cmd.exe and PowerShell, as they have to stand there."""

from __future__ import annotations

import pytest

from ansible_collections.wmcb.windows.plugins.module_utils.shells import Cmd, PowerShell, Shell, Unquotable

FOLDER = r"C:\Users\O'Neil & Co\.wmcb"
FILE = rf"{FOLDER}\wmcb.exe"


def test_cmd() -> None:
    shell = Cmd()
    assert shell.run(FILE, ["plan", r"--kubelet=C:\k\\", "a b"]) == (
        rf'"{FILE}" "plan" "--kubelet=C:\k\\\" "a b"'
    )
    assert shell.print_size(FILE) == f'if exist "{FILE}" for %I in ("{FILE}") do @echo %~zI'
    assert shell.make_folder(FOLDER) == f'if not exist "{FOLDER}" mkdir "{FOLDER}"'
    assert shell.move(f"{FILE}.part", FILE) == f'move /y "{FILE}.part" "{FILE}"'
    assert shell.keep_alone(FOLDER, "new") == (
        f'for /d %I in ("{FOLDER}\\*") do @if /i not "%~nxI"=="new" rmdir /s /q "%I"'
    )


def test_powershell() -> None:
    shell = PowerShell()
    it = r"'C:\Users\O''Neil & Co\.wmcb\wmcb.exe'"
    assert shell.run(FILE, ["plan", "--node-name=$env:x"]) == (
        f"& {it} 'plan' '--node-name=$env:x'; exit $LASTEXITCODE"
    )
    assert shell.print_size(FILE).endswith(
        f"; if (Test-Path -LiteralPath {it}) {{ (Get-Item -LiteralPath {it} -Force).Length }}"
    )


def test_a_program_that_failed_does_not_make_powershells_own_commands_fail() -> None:
    """Ansible's PSRP has one runspace for a task, and adds `exit $LASTEXITCODE` to each line."""
    shell = PowerShell()
    lines = [
        shell.print_home(),
        shell.print_size(FILE),
        shell.make_folder(FOLDER),
        shell.move(f"{FILE}.part", FILE),
        shell.remove(FILE),
        shell.keep_alone(FOLDER, "new"),
    ]
    assert [line for line in lines if not line.startswith("$global:LASTEXITCODE = 0; ")] == []


UNQUOTABLE = {
    "a variable, to cmd.exe": (Cmd(), "%PATH%"),
    "a quote, to cmd.exe": (Cmd(), 'a" & calc "'),
    "a line's end, to cmd.exe": (Cmd(), "a\nb"),
    "a quote, which PowerShell 5 does not hand on": (PowerShell(), 'a"b'),
    "a line's end, to PowerShell": (PowerShell(), "a\r"),
}


@pytest.mark.parametrize(("shell", "word"), UNQUOTABLE.values(), ids=UNQUOTABLE)
def test_what_cannot_be_said(shell: Shell, word: str) -> None:
    with pytest.raises(Unquotable, match="cannot be given"):
        shell.run("wmcb.exe", [word])
