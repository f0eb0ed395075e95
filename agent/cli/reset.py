"""`wmcb reset`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent.cli import options, shown_plan
from agent.cli.arguments import OUTPUT, VERBOSE
from agent.cli.colours import Colours
from agent.cli.engine_run import recorded
from agent.cli.failure import DONE, Failure
from agent.cli.machine import open_as_administrator, open_or_imagine
from agent.cli.progress import display
from agent.cli.streams import say
from agent.engine import run as engine
from agent.release import RELEASE
from agent.resources.kind import CannotBeSo
from agent.spec import Specification

if TYPE_CHECKING:
    from agent.cli.arguments import Request


def run(request: Request) -> int:
    """Takes away what wmcb put on the machine, its own memory and logs with it."""
    as_json = request.value(OUTPUT, "text") == "json"
    if request.has(options.DRY_RUN):
        return _preview(request, as_json=as_json)
    host = open_as_administrator(request)
    with recorded(host, "reset", display(request)) as told:
        done = engine.reset(host, RELEASE, told)
    told.log.remove()
    if as_json:
        say(shown_plan.result_document(done))
    elif not done.plan.changes:
        say("nothing to do: wmcb has put nothing on this machine")
    else:
        say("\n".join(["the machine is as it was before wmcb", *(f"  {line}" for line in done.left)]))
    return DONE


def _preview(request: Request, *, as_json: bool) -> int:
    try:
        planned = engine.preview(open_or_imagine(request), Specification())
    except CannotBeSo as obstacle:
        raise Failure(str(obstacle)) from obstacle
    if as_json:
        say(shown_plan.plan_document(planned))
    else:
        say(shown_plan.of_plan(planned, Colours(sys.stdout), details=request.has(VERBOSE)))
    return DONE
