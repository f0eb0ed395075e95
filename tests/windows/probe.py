"""Run in the place of wmcb.exe's own script: imports each module given, and says which it cannot."""

import importlib
import sys

for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is said
        sys.stdout.write(f"{name}: {type(error).__name__}: {error}\n")
