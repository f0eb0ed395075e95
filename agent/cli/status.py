"""`wmcb status`."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.cli import plan_documents, shown_following, shown_plan
from agent.cli.arguments import VERBOSE, Request
from agent.cli.colours import Colours
from agent.cli.command_line import called, here
from agent.cli.drift_advice import advice
from agent.cli.failure import DONE, FAILED
from agent.cli.looking import looking
from agent.cli.machine import open_to_look
from agent.cli.outstanding import outstanding
from agent.cli.resident_service import paused_until, resident_state
from agent.cli.shown_following import Following
from agent.cli.streams import say
from agent.engine import run as engine
from agent.engine.run import Status
from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.services import ServiceState
from agent.redaction import redacted
from agent.spec import Key
from service import pausing
from service.program import SERVICE

_RESIDENT = {
    ServiceState.RUNNING: "runs",
    ServiceState.STOPPED: f"is stopped; sc.exe start {SERVICE} starts it",
}
_TAIL = 8192
_LINES = 5


def show(request: Request) -> int:
    """FAILED if anything is not as it was made, or is outstanding; a ConfigMap that is refused is neither."""
    host = open_to_look(request)
    with looking(host):
        status = observed(request, host)
        pause, following = pausing.read(host), shown_following.following(host)
    resident = resident_state(host)
    logs = {path: lines for path in _logs(status) if (lines := _last_lines(host, path))}
    if request.wants_json:
        followed = shown_following.document(following)
        say(plan_documents.status_document(status, logs, resident, pause, followed))
    elif not (status.resources or status.interrupted or status.under_way):
        say("wmcb has put nothing on this machine")
    else:
        details = request.has(VERBOSE)
        text = shown_plan.of_status(
            status,
            Colours(sys.stdout),
            details=details,
            called=called(request),
            resident=resident,
            is_paused=pause is not None,
        )
        say(text)
    if not request.wants_json:
        _say_of_the_service(request, resident, pause, following)
        if logs:
            say(shown_plan.of_logs(logs))
    return DONE if status.is_well and outstanding(status.title) is None else FAILED


def observed(request: Request, host: Host) -> Status:
    """Return what the engine knows of the machine, with commands for the machine that the request is about.

    Raises CannotBeSo, HostError.
    """
    status = engine.status(host)
    origins = {
        part: replace(origin, command=here(request, origin.command))
        for part, origin in status.origins.items()
    }
    return replace(status, origins=origins)


def repairing_commands(request: Request, host: Host, keys: Collection[Key]) -> Mapping[Key, str]:
    """Return, for each of these resources that has drifted, what repairs it. Raises CannotBeSo, HostError."""
    status, is_paused = observed(request, host), pausing.read(host) is not None
    resident = resident_state(host)
    return {
        key: "; ".join(advice(status, [standing], called(request), resident=resident, is_paused=is_paused))
        for standing in status.resources
        if (key := standing.record.target.key) in keys
    }


def _say_of_the_service(
    request: Request, resident: ServiceState | None, pause: pausing.Pause | None, following: Following | None
) -> None:
    if resident is not None:
        say(f"the resident service {_RESIDENT.get(resident, 'is starting, or stopping')}")
    if pause is not None:
        say(f"the resident service's repairs are paused {paused_until(request, pause.until)}")
    if following is not None:
        say(f"the resident service {shown_following.line(following)}")


def _logs(status: Status) -> Iterator[PureWindowsPath]:
    """Of the programs that services run."""
    for standing in status.resources:
        log = standing.record.target.manner.get("log")
        if log is not None:
            yield PureWindowsPath(str(log))


def _last_lines(host: Host, log: PureWindowsPath) -> Sequence[str]:
    try:
        tail = host.files.tail(log, _TAIL)
    except HostError:
        return ()  # there is none yet
    # As a whole: a key in it has many lines, none of which looks like one.
    return redacted(tail.decode(errors="replace")).splitlines()[-_LINES:]
