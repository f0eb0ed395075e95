"""wmcb.exe of another release for a sandbox: this Python's sources by another name, with a fault if need be.

python another_release.py RELEASE FAULT --sandbox DIR --sandbox-run ARGUMENT...
"""

from __future__ import annotations

import sys
from pathlib import Path

import agent.release
from agent.cli.main import run
from agent.host.sandbox import open_sandbox, programs
from agent.host.services import ENDING, ServiceControls

STAYS_DEAF = "stays deaf"
ENDS = "ends"
SAYS_NOTHING = "says nothing"
IS_NOT_INSTALLED = "is not installed"
INSTALLS_NOTHING = "installs nothing"
NONE = "none"


def main(release: str, fault: str, arguments: list[str]) -> int:
    agent.release.RELEASE = release
    plain = programs.script_of_ours
    laid_out = [sys.executable, __file__, release, fault]
    programs.script_of_ours = lambda command: plain([*laid_out, *command[3:]])
    if fault == SAYS_NOTHING:
        return 0
    if "install" in arguments and fault == IS_NOT_INSTALLED:
        sys.stderr.write("no room\n")
        return 5
    if "install" in arguments and fault == INSTALLS_NOTHING:
        return 0
    if "run" in arguments and fault == ENDS:
        return 7
    if "run" in arguments and fault == STAYS_DEAF:
        return serve(arguments[1])
    return run(arguments)


def serve(folder: str) -> int:
    def program(controls: ServiceControls) -> int:
        controls.running()
        while controls.next() not in ENDING:
            pass
        return 0

    return open_sandbox(Path(folder), run_services=True).services.serve("wmcb", program)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
