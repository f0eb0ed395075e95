"""Run on the node: tells when routes that programs make are there, and when they are gone (lab/routes.py)."""

from __future__ import annotations

import sys
import time

assert sys.platform == "win32"

import winreg  # noqa: E402 - there is none elsewhere

KEY = r"SOFTWARE\Lab\Routes"
_PAUSE_SECONDS = 0.01


def names() -> set[str]:
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, KEY) as key:
        return {winreg.EnumValue(key, number)[0] for number in range(winreg.QueryInfoKey(key)[1])}


def main() -> None:
    known: set[str] = set()
    while True:
        try:
            found = names()
        except OSError:
            continue  # one went away meanwhile
        now = time.time()
        for sign, changed in (("+", found - known), ("-", known - found)):
            for name in sorted(changed):
                sys.stdout.write(f"{sign}\t{now}\t{name}\n")
        sys.stdout.flush()
        known = found
        time.sleep(_PAUSE_SECONDS)


main()
