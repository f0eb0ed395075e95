"""Inside: Windows Python on a machine of its own, in the repository's folder."""

from __future__ import annotations

import subprocess
import sys

from lab import machine, prefix, windows_python, wine

NODE = "/lab/nodes/python"


def main() -> int:
    prefix.layer(machine.prepared_prefix(), wine.outside(NODE))
    environment = wine.environment(f"{NODE}/prefix")
    command = wine.command([wine.LOADER, windows_python.PROGRAM, *sys.argv[1:]], environment, "/repo")
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
