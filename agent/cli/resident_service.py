"""The resident service as other commands see it: whether it runs, and word to it."""

import time
from contextlib import suppress

from agent.cli.arguments import Request
from agent.cli.command_line import called
from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.services import ServiceState
from service.program import SERVICE

START_WITHIN_SECONDS = 60.0


def tell_of_change(host: Host) -> None:
    """To the resident service, which may not be there, or not look at this machine yet."""
    with suppress(HostError):
        host.services.tell_of_parameters(SERVICE)


def resident_state(host: Host) -> ServiceState | None:
    """None where the service is not installed, or does not let this caller ask."""
    with suppress(HostError):
        if host.services.read(SERVICE) is not None:
            return host.services.status(SERVICE).state
    return None


def paused_until(request: Request, until: float | None) -> str:
    """For a person."""
    if until is None:
        return f"until: {called(request)} daemon resume"
    return time.strftime("until %Y-%m-%d %H:%M:%S UTC", time.gmtime(until))
