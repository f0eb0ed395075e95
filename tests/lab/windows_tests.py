"""Inside: our suites under Windows Python, and the tests that drive a whole node."""

from __future__ import annotations

import subprocess
import sys

from lab import machine, prefix, windows_python, wine

SUITES = ("tests/contract", "tests/unit")


def run_python(arguments: list[str]) -> int:
    """Windows Python on a machine of its own, in the repository's folder."""
    node = "/lab/nodes/python"
    prefix.layer(machine.prepared_prefix(), wine.outside(node))
    environment = wine.environment(f"{node}/prefix")
    command = wine.command([wine.LOADER, windows_python.PROGRAM, *arguments], environment, "/repo")
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


def main(arguments: list[str]) -> int:
    """Both parts, and the worse of their exit codes; with arguments for pytest the second part alone."""
    suites = 0 if arguments else run_python(["-m", "pytest", *SUITES])
    whole = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/windows", *arguments], check=False
    ).returncode
    return max(suites, whole)


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    sys.exit(run_python(given) if what == "python" else main(given))
