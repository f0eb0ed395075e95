"""`wmcb daemon`: the resident service, seen from the command line."""

from __future__ import annotations

import sys

from agent.cli.failure import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.cli.arguments import Request

SERVICE = "wmcb"


def run(_: Request) -> int:
    """The service's own process, started by the service control manager."""
    if sys.platform == "win32":
        # Of the host this part alone: a service starts often, and stays.
        from agent.host.errors import NotAService
        from agent.host.windows.service_program import serve
        from service.program import resident

        try:
            return serve(SERVICE, resident)
        except NotAService as error:
            raise BadUsage(f"Windows runs this; start the service with: sc start {SERVICE}") from error
    else:
        raise BadUsage(f"daemon run needs Windows; this is {sys.platform}")
