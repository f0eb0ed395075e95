"""What this machine is a node of already, by the title of what was made on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli.command_line import called
from agent.cli.failure import Refused
from agent.engine import run as engine
from agent.sources.node_titles import USER_DATA, name_in_title

if TYPE_CHECKING:
    from agent.cli.arguments import Request
    from agent.host.port import Host


def title_of(host: Host) -> str:
    """Of what is on the machine. Empty for whoever may not read it: he is told that he may change nothing."""
    return engine.title(host) if host.access.is_administrator() else ""


def refuse_node_of_ignition(request: Request, host: Host) -> None:
    """It has its credentials where a join's kubelet looks for its own."""
    title = title_of(host)
    if not title or title.startswith(USER_DATA):
        return
    if not name_in_title(title):
        reset = f"run {called(request)} reset first, which takes it out of that"
        raise Refused(f"this machine is a node of {title}; {reset}")
