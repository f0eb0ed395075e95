"""A look at what the engine knows of a machine."""

from collections.abc import Iterator
from contextlib import contextmanager

from agent.cli.failure import Failure
from agent.host.errors import AccessDenied
from agent.host.port import Host
from agent.resources.kind import CannotBeSo

ELEVATE = "start this from an elevated prompt, to see what administrators may"


@contextmanager
def looking(host: Host) -> Iterator[None]:
    """What stands in the way ends the command."""
    try:
        yield
    except CannotBeSo as obstacle:
        raise Failure(str(obstacle)) from obstacle
    except AccessDenied as fault:
        if host.access.is_administrator():
            raise
        raise Failure(f"{fault}; {ELEVATE}", where=fault.subject) from fault
