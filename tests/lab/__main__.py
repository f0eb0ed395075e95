"""`python -m lab`: a Windows node and a cluster on this machine, for proof."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab import bench, buildkit, cache, exe, kubernetes, machine, means, workers
from lab.cluster import many

COULD_NOT_RUN = 2


@dataclass(frozen=True)
class Command:
    usage: str
    does: str
    run: Callable[[Sequence[str]], int]
    takes_arguments: bool = True


def _setup(_: Sequence[str]) -> int:
    machine.prepare()
    kubernetes.prepare()
    buildkit.programs()
    return 0


def _enter(arguments: Sequence[str]) -> int:
    return machine.enter(arguments[1:] if arguments[:1] == ["--"] else arguments)


def _shell(_: Sequence[str]) -> int:
    return machine.enter([sys.executable, "-m", "lab.shell"])


def _python(arguments: Sequence[str]) -> int:
    return machine.enter([sys.executable, "-m", "lab.python", *arguments])


def _exe(arguments: Sequence[str]) -> int:
    return exe.build_again() if "--again" in arguments else exe.build()


def _bench(arguments: Sequence[str]) -> int:
    return bench.run(arguments)


def _many(arguments: Sequence[str]) -> int:
    return many.run(arguments)


def _test_windows(arguments: Sequence[str]) -> int:
    return workers.run("tests/windows", arguments)


def _test_cluster(arguments: Sequence[str]) -> int:
    kubernetes.prepare()
    buildkit.programs()
    return workers.run("tests/cluster", arguments)


COMMANDS = {
    "setup": Command(
        "", "download and build what the lab needs, so that the rest starts at once", _setup, False
    ),
    "enter": Command("-- CMD...", "run a command inside the lab's namespaces", _enter),
    "shell": Command("", "a shell beside a fresh Windows node: `wine cmd` is its prompt", _shell, False),
    "python": Command("[ARG...]", "Windows Python on a fresh node, in the repository", _python),
    "exe": Command(
        "[--again]", "build dist/wmcb.exe; or its commit again elsewhere, and compare the bytes", _exe
    ),
    "bench": Command(
        "[--also EXE]", "time and size of dist/wmcb.exe beside the least there could be", _bench
    ),
    "many": Command(
        "[COUNT]", "many services that follow one ConfigMap, and what they cost the server", _many
    ),
    "test-windows": Command(
        "[ARG...]", "all of tests/windows, in several labs at once; -k NAME: some", _test_windows
    ),
    "test-cluster": Command("[ARG...]", "tests/cluster likewise; one file: see enter", _test_cluster),
}


def _help() -> str:
    lines = [f"  {f'{name} {command.usage}':24} {command.does}" for name, command in COMMANDS.items()]
    return "\n".join(["usage: python -m lab COMMAND", "", *lines, ""])


def main(arguments: Sequence[str]) -> int:
    if list(arguments[:1]) in (["-h"], ["--help"]):
        sys.stdout.write(_help())
        return 0
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is None or (arguments[1:] and not command.takes_arguments):
        sys.stderr.write(_help())
        return COULD_NOT_RUN
    try:
        means.ensure(*means.DEBIAN_PACKAGES)
        return command.run(arguments[1:])
    except means.Missing as missing:
        cache.say(str(missing))
        return COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
