"""`make run`: the program on a Windows machine that is a folder, told step by step."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path, PureWindowsPath

from agent.cli import main
from agent.host.port import Host, Principal, ServiceState
from agent.host.sandbox import open_sandbox
from agent.host.sddl import FILE_READ, FILE_WRITE
from service import installation

LIMIT_SECONDS = 30


def demonstrate(directory: Path) -> int:
    """0 when each step did what it was to do."""
    shutil.rmtree(directory, ignore_errors=True)
    sandbox = ["--sandbox", str(directory), "--sandbox-run"]
    say(f"A Windows machine in {directory}\n")
    if command(*sandbox, "daemon", "install") != 0:
        return 1
    host = open_sandbox(directory, run_services=True)
    show_who_may_do_what(host)
    show_life_of_the_service(host)
    return command(*sandbox, "daemon", "uninstall")


def command(*words: str) -> int:
    say(f"$ wmcb {' '.join(words)}")
    code = main.run(words)
    say("")
    return code


def show_who_may_do_what(host: Host) -> None:
    place = installation.place(host)
    state = host.facts.program_data()
    for path in (place, place / "wmcb.exe", state):
        say(f"{path}")
        for principal in Principal:
            say(f"    {principal.value:17} {what_is_granted(host, path, principal)}")
    say("")


def what_is_granted(host: Host, path: PureWindowsPath, principal: Principal) -> str:
    mask = host.access.granted(host.files.descriptor(path), principal)
    rights = {"reads": FILE_READ, "writes": FILE_WRITE}
    return " and ".join(name for name, bits in rights.items() if mask & bits == bits) or "nothing"


def show_life_of_the_service(host: Host) -> None:
    services = host.services
    services.start("wmcb")
    running = services.wait("wmcb", ServiceState.RUNNING, LIMIT_SECONDS)
    say(f"started: {running.state.name}, process {running.pid}")
    assert running.pid is not None
    host.processes.end(running.pid)
    killed = services.wait("wmcb", ServiceState.STOPPED, LIMIT_SECONDS)
    say(f"its process ended from outside: {killed.state.name}, Windows exit code {killed.exit_code}")
    services.start("wmcb")
    services.wait("wmcb", ServiceState.RUNNING, LIMIT_SECONDS)
    services.stop("wmcb")
    stopped = services.wait("wmcb", ServiceState.STOPPED, LIMIT_SECONDS)
    say(f"started again and stopped: {stopped.state.name}, exit code {stopped.exit_code}\n")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(demonstrate(Path(sys.argv[1])))
