"""Run on the node: tells when routes that programs make are there, and when they are gone (lab/routes.py)."""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

KEY, ROWS = r"SOFTWARE\Lab\Routes", "Rows"
_ROW, _DESTINATION_AT, _LENGTH_AT, _GATEWAY_AT, _METRIC_AT = 104, 16, 40, 48, 84
"""MIB_IPFORWARD_ROW2."""
_PAUSE_SECONDS = 0.01


def read(rows: bytes) -> Iterator[tuple[str, int]]:
    """Each as `10.244.3.0/24 over 192.0.2.33`, and its metric."""
    for at in range(0, len(rows), _ROW):
        row = rows[at : at + _ROW]
        destination, gateway = (
            ".".join(map(str, row[place : place + 4])) for place in (_DESTINATION_AT, _GATEWAY_AT)
        )
        yield (
            f"{destination}/{row[_LENGTH_AT]} over {gateway}",
            struct.unpack_from("<I", row, _METRIC_AT)[0],
        )


def main() -> None:
    winreg: Any = import_module("winreg")  # there is none elsewhere
    known: set[str] = set()
    while True:
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, KEY) as key:
                found = {name for name, _ in read(winreg.QueryValueEx(key, ROWS)[0])}
        except OSError:
            found = set()  # nobody has made one yet
        now = time.time()
        for sign, changed in (("+", found - known), ("-", known - found)):
            for name in sorted(changed):
                sys.stdout.write(f"{sign}\t{now}\t{name}\n")
        sys.stdout.flush()
        known = found
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main()
