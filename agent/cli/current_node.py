"""Which node this machine is already: the engine keeps the title of what it made here."""

from agent.cli.arguments import Request
from agent.cli.command_line import called
from agent.cli.failure import Refused
from agent.engine import run as engine
from agent.host.port import Host
from agent.sources.node_names import USER_DATA, name_in_title


def title_of(host: Host) -> str:
    """Return the title of what is on the machine; empty for a user who may not read it."""
    return engine.title(host) if host.access.is_administrator() else ""


def refuse_node_of_ignition(request: Request, host: Host) -> None:
    """Raise Refused on a node of an Ignition: its credentials lie where a join's kubelet looks for them."""
    title = title_of(host)
    if not title or title.startswith(USER_DATA):
        return
    if not name_in_title(title):
        reset = f"run {called(request)} reset first, which takes it out of that"
        raise Refused(f"this machine is a node of {title}; {reset}")
