"""A shell in the root, with Wine's environment and a fresh prefix: `wine cmd` is a Windows prompt."""

from __future__ import annotations

import os

from lab import machine, prefix, wine

NODE = "/lab/nodes/shell"


def main() -> None:
    prefix.layer(machine.prepared_prefix(), wine.outside(NODE))
    environment = {**wine.environment(f"{NODE}/prefix"), "TERM": os.environ.get("TERM", "dumb")}
    command = wine.command(["bash", "--norc", "-i"], environment, f"{NODE}/prefix/drive_c")
    os.execvp(command[0], command)  # noqa: S606 - the shell takes this process's place


if __name__ == "__main__":
    main()
