"""The program that runs, as what is laid out under Program Files."""

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath

from agent.cli.arguments import SANDBOX, SANDBOX_RUN, Request
from agent.cli.failure import BadUsage, Refused
from agent.cli.machine import is_imagined, is_sandbox
from agent.host.port import Host
from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE, exchangeable
from agent.resources.trees import inside
from service.installation import folder_of, folder_of_content
from service.program_folder import INTERNAL, PROGRAM, place


@contextmanager
def running_program(request: Request, host: Host) -> Iterator[PureWindowsPath]:
    """What is to be laid out under Program Files: this exe, with the folder of what it loads beside it.

    Raises Refused where users may change any of it: what is laid out runs as SYSTEM.
    """
    if is_sandbox(request):
        with _program_of_the_sandbox(request, host) as program:
            _refuse_changeable(host, program)
            yield program
    elif getattr(sys, "frozen", False):  # set by PyInstaller's loader
        program = PureWindowsPath(sys.executable)
        _refuse_changeable(host, program)
        yield program
    else:
        raise BadUsage("what is laid out is the exe that is called; this is Python from source")


def check_program(request: Request, host: Host) -> None:
    """Raise before a run what `running_program` would raise at its end.

    Without administrator's rights the run is refused for that, and some folders cannot be judged.
    """
    if not host.access.is_administrator():
        return
    with running_program(request, host):
        pass


def _refuse_changeable(host: Host, program: PureWindowsPath) -> None:
    """The ZIP of the program may have been extracted anywhere; what the shipped exe unpacks is private."""
    loaded = (path for path, _ in inside(host.files, program.parent / INTERNAL))
    for path in (program, program.parent / INTERNAL, *loaded):
        changeable = exchangeable(host, path)
        if changeable is not None:
            raise Refused(
                f"{program} would run as SYSTEM, and users may change {changeable}: extract the ZIP where"
                " only administrators may write, or use the MSI or the single wmcb.exe",
                where=str(changeable),
            )


def own_folder(request: Request, host: Host) -> PureWindowsPath:
    """Return the folder under Program Files that the running program is in when it is laid out."""
    if is_sandbox(request):
        return folder_of_content(host, _script(request))
    if is_imagined(request) or not getattr(sys, "frozen", False):
        return place(host)  # to show it alone: Python from source is not laid out
    return folder_of(host, PureWindowsPath(sys.executable))


@contextmanager
def _program_of_the_sandbox(request: Request, host: Host) -> Iterator[PureWindowsPath]:
    unpacked = host.facts.system_directory() / "Temp" / f"wmcb-{secrets.token_hex(8)}"
    program, internal = unpacked / PROGRAM, unpacked / INTERNAL
    for folder in (unpacked, internal):
        host.files.make_directory(folder, PROGRAM_DIRECTORY)
    host.files.write(program, _script(request), PROGRAM_FILE)
    try:
        yield program
    finally:
        host.files.remove(program)
        for folder in (internal, unpacked):
            host.files.remove_directory(folder)


def _script(request: Request) -> bytes:
    """Return a script that starts this Python, for the exe: the sandbox runs what its system can run."""
    from agent.host.sandbox.programs import script_of_ours  # noqa: PLC0415 - the sandbox with psutil, 8.5 MB

    start = "import agent.cli.main as main; main.console()"
    words = [sys.executable, "-c", start, SANDBOX.name, str(Path(request.value(SANDBOX, "")).resolve())]
    words += [SANDBOX_RUN.name] * request.has(SANDBOX_RUN)
    return script_of_ours(words)
