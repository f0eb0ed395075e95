"""`python -m lab exe`: builds dist/wmcb.exe with PyInstaller's analysis under Wine."""

from __future__ import annotations

import sys

from lab import machine, windows_python, wine
from lab import prefix as prefixes


def build() -> int:
    return machine.enter([sys.executable, "-m", "lab.exe"])


def _build_inside() -> None:
    place = "/lab/nodes/build"
    prefixes.layer(machine.prepared_prefix(), wine.outside(place))
    environment = wine.environment(f"{place}/prefix")
    command = [wine.LOADER, windows_python.PROGRAM, "-m", "PyInstaller", "--noconfirm", "build.spec"]
    wine.run(command, environment, folder="/repo")


if __name__ == "__main__":
    _build_inside()
