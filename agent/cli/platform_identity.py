"""What the platform that this machine runs on calls it."""

from __future__ import annotations

from agent.cli import options
from agent.cli.arguments import Request
from agent.cli.failure import Failure
from agent.fetch import metadata
from agent.fetch.connection import Headers
from agent.fetch.failure import Failed
from agent.host.errors import NotFound
from agent.host.port import Host
from agent.sources import platforms

_TCPIP = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"


def platform_identity(request: Request, host: Host) -> platforms.Identity:
    """Raises BadUsage for an unknown platform, Failure where it does not answer."""
    platform = request.value(options.PLATFORM, "")
    machine = platforms.Machine(host.facts.host_name(), _domain(host))
    try:
        return platforms.identity(platform, machine, _ask)
    except platforms.UnknownPlatform as fault:
        raise options.PLATFORM.misused(f": {fault}") from fault
    except (Failed, platforms.BadAnswer) as fault:
        advice = f"or leave it out and name the node with {options.NODE_NAME.name}"
        text = f"{options.PLATFORM.name} {platform}: {fault}; {advice}"
        raise Failure(text, where=options.PLATFORM.name) from fault


def _ask(url: str, headers: Headers, method: str) -> bytes:
    return metadata.get(url, headers, method)


def _domain(host: Host) -> str:
    """The primary DNS suffix."""
    try:
        found = host.registry.read(_TCPIP, "NV Domain")
    except NotFound:
        return ""
    return str(found.data) if found else ""
