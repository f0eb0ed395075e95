"""Which machine a command is about: this Windows, or a folder that stands for one."""

from __future__ import annotations

import atexit
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.cli.arguments import SANDBOX, SANDBOX_RUN, Request
from agent.cli.failure import BadUsage, Refused
from agent.cli.options import DRY_RUN
from agent.cli.streams import tell
from agent.host.port import Host

if TYPE_CHECKING:
    from pathlib import Path


def is_sandbox(request: Request) -> bool:
    if request.has(SANDBOX_RUN) and not request.has(SANDBOX):
        raise SANDBOX_RUN.misused(f" goes with {SANDBOX.name} DIR")
    return request.has(SANDBOX)


def runs_programs(request: Request) -> bool:
    """Whether what is started really runs."""
    return not is_sandbox(request) or request.has(SANDBOX_RUN)


def open_machine(request: Request) -> Host:
    """The machine to ask and to change."""
    host = _sandbox(request) if is_sandbox(request) else _this_windows(request)
    if not request.has(DRY_RUN) and host.access.is_administrator():
        _take_over_state(host)
    return host


def _take_over_state(host: Host) -> None:
    """A folder that a user made in the place of wmcb's own is moved aside. Raises CannotBeSo."""
    from agent.engine.state_folder import StateFolder  # noqa: PLC0415 - 0.4 MB of a service without a node

    folder = StateFolder.of(host)
    aside = folder.take_over()
    if aside is not None:
        from agent.cli.run_log import RunLog  # noqa: PLC0415 - 0.3 MB, seldom needed

        line = f"{folder.path} had been made by a user: it is {aside} now, and nothing in it was read"
        tell(f"wmcb: warning: {line}")
        RunLog(host).write(f"warning: {line}")


def open_as_administrator(request: Request) -> Host:
    """The same, for commands that change it."""
    host = open_machine(request)
    if not host.access.is_administrator():
        raise Refused(
            f"{_called(request)} needs an administrator: start it from an elevated prompt",
            where="administrator",
        )
    return host


def open_to_look(request: Request) -> Host:
    """For commands that change nothing: they make nothing either, no sandbox where there is none yet."""
    if is_sandbox(request):
        return _sandbox_to_look(request)
    return _this_windows(request)


def open_or_imagine(request: Request) -> Host:
    """The same, for what can be shown anywhere: on another system a bare machine stands for Windows."""
    if not is_imagined(request):
        return open_to_look(request)
    from agent.host.sandbox import open_imagined  # noqa: PLC0415 - the sandbox with psutil, 8.5 MB

    return open_imagined(_passing_folder())


def tell_of_imagined(request: Request) -> None:
    """Beside what is shown of it."""
    if is_imagined(request):
        tell(
            f"wmcb: this is {sys.platform}: a Windows machine fresh from its installation is imagined,"
            f" its name and addresses, too ({SANDBOX.name} DIR is for one that stays)"
        )


def is_imagined(request: Request) -> bool:
    """Whether `open_or_imagine` gives a machine that is nowhere."""
    return sys.platform != "win32" and not is_sandbox(request)


def _this_windows(request: Request) -> Host:
    if sys.platform == "win32":
        from agent.host.windows.machine import open_windows  # noqa: PLC0415 - 3 MB of a service without a node

        return open_windows()
    else:  # noqa: RET505 - or the type checker finds it unreachable on Windows
        raise BadUsage(
            f"{_called(request)} needs Windows; this is {sys.platform}"
            f" ({SANDBOX.name} DIR tries it out in a folder)"
        )


def _called(request: Request) -> str:
    """Without what stands behind the command's name, which may be anything."""
    return (request.command.name if request.command else "") or "to make a node"


def _passing_folder() -> Path:
    """Which is gone when this process ends."""
    import tempfile  # noqa: PLC0415 - tempfile, 1.4 MB of the resident service
    from pathlib import Path  # noqa: PLC0415 - pathlib, 0.3 MB of a service without a node

    folder = tempfile.TemporaryDirectory(prefix="wmcb-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _opened_sandbox(directory: Path, *, run_services: bool = False) -> Host:
    from agent.host.sandbox import open_sandbox  # noqa: PLC0415 - the sandbox with psutil, 8.5 MB

    return open_sandbox(directory, run_services=run_services)


def _sandbox(request: Request) -> Host:
    directory = _sandbox_folder(request)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return _as_called(request, _opened_sandbox(directory, run_services=request.has(SANDBOX_RUN)))
    except (FileExistsError, NotADirectoryError) as error:
        raise _is_a_file(directory) from error
    except PermissionError as error:
        fault = "it may not be written to; name a folder of your own"
        raise BadUsage.of(SANDBOX.name, str(directory), fault) from error
    except OSError as error:
        raise BadUsage.of(SANDBOX.name, str(directory), error.strerror or str(error)) from error


def _sandbox_to_look(request: Request) -> Host:
    from agent.host.sandbox import is_sandbox_folder  # noqa: PLC0415 - the sandbox with psutil, 8.5 MB

    directory = _sandbox_folder(request)
    if is_sandbox_folder(directory):
        return _sandbox(request)
    try:
        is_bare = not directory.exists() or not any(directory.iterdir())
    except NotADirectoryError as error:
        raise _is_a_file(directory) from error
    except OSError as error:
        raise BadUsage.of(SANDBOX.name, str(directory), error.strerror or str(error)) from error
    if not is_bare:
        fault = "it is no sandbox yet, and other things are in it; name a folder of the sandbox's own"
        raise BadUsage.of(SANDBOX.name, str(directory), fault)
    tell(f"wmcb: there is no sandbox in {directory} yet; a machine fresh from its installation stands for it")
    return _as_called(request, _opened_sandbox(_passing_folder()))


def _as_called(request: Request, host: Host) -> Host:
    """Who tells of a command elsewhere than here knows the machine alone."""
    from agent.cli.command_line import called  # noqa: PLC0415 - 0.1 MB of a service without a node

    return replace(host, called=called(request))


def _is_a_file(directory: Path) -> BadUsage:
    return BadUsage.of(SANDBOX.name, str(directory), "it is a file, or lies below one; name a folder")


def _sandbox_folder(request: Request) -> Path:
    from pathlib import Path  # noqa: PLC0415 - pathlib, 0.3 MB of a service without a node

    given = request.value(SANDBOX, "")
    if not given.strip():
        raise SANDBOX.misused(f" {SANDBOX.placeholder} needs the name of a folder; this one is empty")
    directory = Path(given)
    if directory.resolve() == Path(directory.resolve().anchor):
        raise BadUsage.of(SANDBOX.name, given, "that is a whole disk; name a folder of the sandbox's own")
    return directory
