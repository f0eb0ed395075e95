"""Which machine a command is about: this Windows, or a folder that stands for one."""

from __future__ import annotations

import sys

from agent.cli.arguments import SANDBOX, SANDBOX_RUN
from agent.cli.failure import BadUsage, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.cli.arguments import Request
    from agent.host.port import Host


def is_sandbox(request: Request) -> bool:
    if request.has(SANDBOX_RUN) and not request.has(SANDBOX):
        raise BadUsage(f"{SANDBOX_RUN.name} goes with {SANDBOX.name} DIR", where=SANDBOX_RUN.name)
    return request.has(SANDBOX)


def open_machine(request: Request) -> Host:
    """The machine to ask and to change."""
    if is_sandbox(request):
        return _open_sandbox(request)
    if sys.platform == "win32":
        from agent.host.windows import open_windows

        return open_windows()
    else:  # noqa: RET505 - or the type checker finds it unreachable on Windows
        raise BadUsage(
            f"{' '.join(request.words) or 'to make a node'} needs Windows; this is {sys.platform}"
            f" ({SANDBOX.name} DIR tries it out in a folder)"
        )


def open_to_look(request: Request) -> Host:
    """For commands that change nothing. On another system a bare machine stands for Windows."""
    if is_sandbox(request):
        return open_machine(request)
    if sys.platform == "win32":
        return open_machine(request)
    else:  # noqa: RET505 - or the type checker finds it unreachable on Windows
        return _bare_machine()


def _bare_machine() -> Host:
    import atexit
    import tempfile
    from pathlib import Path

    from agent.host.sandbox import open_sandbox

    folder = tempfile.TemporaryDirectory(prefix="wmcb-")
    atexit.register(folder.cleanup)
    return open_sandbox(Path(folder.name), run_services=False)


def open_as_administrator(request: Request) -> Host:
    """The same, for commands that change it."""
    host = open_machine(request)
    if not host.access.is_administrator():
        command = " ".join(request.words) or "to make a node"
        raise Refused(f"{command} needs an administrator: start it from an elevated prompt")
    return host


def _open_sandbox(request: Request) -> Host:
    from pathlib import Path

    from agent.host.sandbox import open_sandbox

    given = request.value(SANDBOX, "")
    if not given.strip():
        text = f"{SANDBOX.name} {SANDBOX.placeholder} needs the name of a folder; this one is empty"
        raise BadUsage(text, where=SANDBOX.name)
    directory = Path(given)
    if directory.resolve() == Path(directory.resolve().anchor):
        raise BadUsage.of(SANDBOX.name, given, "that is a whole disk; name a folder of the sandbox's own")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadUsage.of(SANDBOX.name, str(directory), error.strerror or str(error)) from error
    return open_sandbox(directory, run_services=request.has(SANDBOX_RUN))
