"""`wmcb daemon`: the resident service, seen from the command line."""

from __future__ import annotations

import sys

from agent.cli.failure import DONE, BadUsage, Refused
from agent.cli.streams import say, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.cli.arguments import Request
    from agent.host.port import Host

STOP_WITHIN_SECONDS = 60.0


def run(_: Request) -> int:
    """The service's own process, started by the service control manager."""
    if sys.platform == "win32":
        # Of the host this part alone: a service starts often, and stays.
        from agent.host.errors import NotAService
        from agent.host.windows.service_program import serve
        from service.program import resident

        try:
            return serve("wmcb", resident)
        except NotAService as error:
            raise BadUsage("Windows runs this; start the service with: sc start wmcb") from error
    else:
        raise BadUsage(f"daemon run needs Windows; this is {sys.platform}")


def install(_: Request) -> int:
    """Lays the running exe out under Program Files and registers the service."""
    host = _administrators_host("daemon install")
    if "wmcb_built" not in sys.modules:
        raise BadUsage("daemon install installs the exe that it is called from; this is Python from source")
    from pathlib import PureWindowsPath

    from service import installation

    for setting in installation.install(host, PureWindowsPath(sys.executable)):
        tell(f"wmcb: this Windows does not keep the service's {setting}; it goes without")
    say(
        f"the program is in {installation.place(host)}\n"
        "the service wmcb starts with Windows, or now by: sc start wmcb"
    )
    return DONE


def uninstall(_: Request) -> int:
    """Stops the service, and takes it and the program away."""
    host = _administrators_host("daemon uninstall")
    from service import installation

    left = installation.uninstall(host, STOP_WITHIN_SECONDS)
    if left:
        say(f"the service wmcb is gone; Windows removes {installation.place(host)} when it starts next")
    else:
        say("the service wmcb and its program are gone")
    return DONE


def _administrators_host(command: str) -> Host:
    if sys.platform == "win32":
        from agent.host.windows import open_windows

        host = open_windows()
        if not host.access.is_administrator():
            raise Refused(f"{command} needs an administrator: start it from an elevated prompt")
        return host
    else:  # noqa: RET505 - or the type checker finds it unreachable on Windows
        raise BadUsage(f"{command} needs Windows; this is {sys.platform}")
