"""`wmcb status`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent.cli import shown_plan
from agent.cli.arguments import OUTPUT
from agent.cli.colours import Colours
from agent.cli.failure import DONE, FAILED, Failure
from agent.cli.machine import open_to_look
from agent.cli.streams import say
from agent.engine import run as engine
from agent.resources.kind import CannotBeSo

if TYPE_CHECKING:
    from agent.cli.arguments import Request


def show(request: Request) -> int:
    """FAILED if anything is not as it was made."""
    host = open_to_look(request)
    try:
        status = engine.status(host)
    except CannotBeSo as obstacle:
        raise Failure(str(obstacle)) from obstacle
    if request.value(OUTPUT, "text") == "json":
        say(shown_plan.status_document(status))
    elif not status.resources and not status.interrupted:
        say("wmcb has put nothing on this machine")
    else:
        say(shown_plan.of_status(status, Colours(sys.stdout)))
    return DONE if status.is_well else FAILED
