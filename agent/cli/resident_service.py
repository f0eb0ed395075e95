"""The resident service as other commands see it: whether it runs, what became of what it follows.

A sandbox has no other program that starts services: `serve` does.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from agent.cli.arguments import SANDBOX_RUN, Request
from agent.cli.command_line import called
from agent.cli.failure import DONE, BadUsage, Refused
from agent.cli.machine import open_machine
from agent.cli.streams import say
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError, NotAService
from agent.host.port import Host
from agent.host.services import ServiceProgram, ServiceState
from agent.resources.kind import Value
from service import installation, standing
from service.arguments import Followed, followed_in
from service.program import SERVICE
from service.standing import Standing, State

START_WITHIN_SECONDS = 60.0
Following = tuple[Followed, Standing]

_STATES = {
    State.WAITING: "nothing of it has been seen yet",
    State.APPLIED: "applied",
    State.PENDING: "a change is pending",
    State.REFUSED: "refused, and nothing was changed",
    State.FAILED: "failed and taken back, and not tried again until it is changed",
    State.MISSING: "there is none, and what it made stays",
}


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


def serve(request: Request, name: str, program: Callable[[Callable[[], bool]], ServiceProgram]) -> int:
    """Run as the service where it was started as that, else start it. `program` takes what tells a node."""
    host = open_machine(request)
    try:
        return host.services.serve(name, program(lambda: _has_memory(host)))
    except NotAService:
        return _start(request, name)


def _start(request: Request, name: str) -> int:
    if not request.has(SANDBOX_RUN):
        text = f"a sandbox starts programs with {SANDBOX_RUN.name} alone; install the service with it, too"
        raise BadUsage(text, where=SANDBOX_RUN.name)
    services = open_machine(request).services
    if services.read(name) is None:
        raise Refused(f"there is no service {name} here: {called(request)} daemon install makes it")
    services.start(name)
    status = services.wait(name, ServiceState.RUNNING, START_WITHIN_SECONDS)
    say(f"the service {name} runs as process {status.pid}; {called(request)} daemon uninstall stops it")
    return DONE


def _has_memory(host: Host) -> bool:
    folder = StateFolder.of(host)
    return any(host.files.observe(path) is not None for path in (folder.inventory, folder.journal))


def following(host: Host) -> Following | None:
    """None where none is followed. Raises CannotBeSo."""
    followed = followed_in(installation.arguments(host))
    if followed is None:
        return None
    known = standing.read(host)
    if known is None or known.followed != followed.place:
        known = Standing(followed.place)
    return followed, known


def following_line(found: Following) -> str:
    followed, known = found
    text = f"follows {followed}: {_STATES[known.state]}"
    if known.turn is not None:
        text += time.strftime(", its turn comes at %Y-%m-%dT%H:%M:%SZ", time.gmtime(known.turn))
    if known.error:
        text += f": {known.error}"
    if known.unheard:
        text += f"; nothing is heard of it just now: {known.unheard}"
    if known.pause is not None:
        text += f"; it wants a pause{f' ({known.pause})' if known.pause else ''}"
    return text


def following_document(found: Following | None) -> Mapping[str, Value] | None:
    if found is None:
        return None
    followed, known = found
    return {
        "config_map": followed.place,
        "is_signed": bool(followed.key),
        "state": known.state.value,
        "error": known.error or None,
        "unheard": known.unheard or None,
        "applied": known.applied or None,
        "resource_version": known.version or None,
        "turn": None if known.turn is None else int(known.turn),
        "pause": known.pause,
    }
