"""`python -m lab`: a Windows node and a cluster on this machine, for proof."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from lab import cache, machine, means

if TYPE_CHECKING:
    from collections.abc import Sequence

COULD_NOT_RUN = 2


def _setup(_: argparse.Namespace) -> int:
    return machine.enter(["true"])


def _enter(chosen: argparse.Namespace) -> int:
    return machine.enter(chosen.command)


def _shell(_: argparse.Namespace) -> int:
    return machine.enter([sys.executable, "-m", "lab.shell"])


def _exe(_: argparse.Namespace) -> int:
    from lab import exe

    return exe.build()


def _test_windows(chosen: argparse.Namespace) -> int:
    return machine.enter([sys.executable, "-m", "lab.windows_tests", *chosen.arguments])


def _test_cluster(chosen: argparse.Namespace) -> int:
    return machine.enter([sys.executable, "-m", "pytest", "tests/cluster", *chosen.arguments])


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, does: str, run: object) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=does, description=does)
        added.set_defaults(run=run)
        return added

    command(
        "setup", "download and build all that the lab needs, so that later commands start at once", _setup
    )
    command("enter", "run a command inside the lab's namespaces", _enter).add_argument(
        "command", nargs="+", metavar="CMD", help="after --"
    )
    command("shell", "a shell in the root, beside a fresh Windows node", _shell)
    command("exe", "build dist/wmcb.exe", _exe)
    for name, does, run in (
        ("test-windows", "the tests that need Windows", _test_windows),
        ("test-cluster", "the tests that need a cluster and a Windows node", _test_cluster),
    ):
        command(name, does, run).add_argument("arguments", nargs=argparse.REMAINDER, help="for pytest")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    chosen = _parse(arguments)
    try:
        code: int = chosen.run(chosen)
    except means.Missing as missing:
        cache.say(str(missing))
        return COULD_NOT_RUN
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
