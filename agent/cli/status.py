"""`wmcb status`, and its advice about drift: for each owner of what has drifted, what repairs it."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.cli import options, plan_documents, shown_values
from agent.cli.arguments import VERBOSE, Request
from agent.cli.command_line import HIDDEN, called, here
from agent.cli.engine_run import ELEVATE, looking
from agent.cli.failure import DONE, FAILED
from agent.cli.machine import open_to_look
from agent.cli.resident_service import (
    Following,
    following,
    following_document,
    following_line,
    paused_until,
    resident_state,
)
from agent.cli.shown_plan import short
from agent.cli.streams import Colours, many, say
from agent.engine import run as engine
from agent.engine.inventory import Origin
from agent.engine.parts import AUDITED, CONFIGURED, OF_OPERATOR, PREPARED
from agent.engine.planning import Difference
from agent.engine.run import Standing, Status
from agent.engine.target import NODE
from agent.host.port import Host
from agent.host.services import ServiceState
from agent.resources.service import last_lines
from agent.sources.node_names import USER_DATA, outstanding
from agent.spec import Key, Service
from service import pausing
from service.program import SERVICE

_RESIDENT = {
    ServiceState.RUNNING: "runs",
    ServiceState.STOPPED: f"is stopped; sc.exe start {SERVICE} starts it",
}
_LINES = 5
_KUBELET = Key(Service.kind, "kubelet")
"""Of user data only a join makes it."""
_OPERATED = "the operator's daemon (wmcb controller) repairs it while its service runs"
_WITHOUT_A_COMMAND: Mapping[str, str] = {
    NODE: "run {called} again, with the command and the options that made this, to repair that",
    PREPARED: "run {called} prepare again, with the options that made this, to repair that",
    CONFIGURED: f"run the command with {options.NODE_CONFIG.name} again that made this, to repair that",
}


def show(request: Request) -> int:
    """FAILED if anything is not as it was made, or is outstanding; a ConfigMap that is refused is neither."""
    host = open_to_look(request)
    with looking(host):
        status = observed(request, host)
        pause, followed = pausing.read(host), following(host)
    resident = resident_state(host)
    logs = {path: lines for path in _logs(status) if (lines := last_lines(host, path, _LINES))}
    if request.wants_json:
        document = following_document(followed)
        say(plan_documents.status_document(status, logs, resident, pause, document))
    elif not (status.resources or status.interrupted or status.under_way):
        say("wmcb has put nothing on this machine")
    else:
        command = called(request)
        service = _service(command, resident, is_paused=pause is not None)
        say(of_status(status, Colours(sys.stdout), command, service, details=request.has(VERBOSE)))
    if not request.wants_json:
        _say_of_the_service(request, resident, pause, followed)
        if logs:
            say(of_logs(logs))
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
    status, command = observed(request, host), called(request)
    service = _service(command, resident_state(host), is_paused=pausing.read(host) is not None)
    return {
        key: "; ".join(advice(status, [standing], command, service))
        for standing in status.resources
        if (key := standing.record.target.key) in keys
    }


def _say_of_the_service(
    request: Request, resident: ServiceState | None, pause: pausing.Pause | None, followed: Following | None
) -> None:
    if resident is not None:
        say(f"the resident service {_RESIDENT.get(resident, 'is starting, or stopping')}")
    if pause is not None:
        say(f"the resident service's repairs are paused {paused_until(request, pause.until)}")
    if followed is not None:
        say(f"the resident service {following_line(followed)}")


def _logs(status: Status) -> Iterator[PureWindowsPath]:
    """Of the programs that services run."""
    for standing in status.resources:
        log = standing.record.target.manner.get("log")
        if log is not None:
            yield PureWindowsPath(str(log))


def of_status(status: Status, colours: Colours, called: str, service: str, *, details: bool) -> str:
    """`called` is what a command about this machine begins with; `service` what its resident service does."""
    otherwise = [
        each
        for each in status.resources
        if each.found is None or each.differences or each.unseen or each.record.is_leaving
    ]
    lines = [line for each in otherwise for line in _standing(each, colours, details=details)]
    lines += status.awaiting
    lines += advice(status, otherwise, called, service)
    if denied := sum(each.is_denied for each in otherwise):
        lines.append(f"{many(denied, 'thing')} could not be looked at: {ELEVATE}")
    if number := len(status.resources):  # none is made until a first run has ended
        title = f", from {status.title}" if status.title else ""
        unseen = sum(bool(each.unseen) and not each.differences for each in otherwise)
        not_known = f", {unseen} not known" if unseen else ""
        lines.append(f"{number - len(otherwise)} of {number} as wanted{not_known}{title}")
    return "\n".join(lines)


def _standing(standing: Standing, colours: Colours, *, details: bool) -> Iterator[str]:
    target = standing.record.target
    if standing.unseen:
        yield colours.paint("yellow", f"? {target.key}: {standing.unseen}")
        if not standing.differences:
            return
    if standing.record.is_leaving:
        yield colours.paint("yellow", f"< {target.key} is left of a reset")
        return
    if standing.found is None:
        yield colours.paint("red", f"- {target.key} is gone")
        return
    yield colours.paint("yellow", f"~ {target.key}")
    differences = different_type(standing) or standing.differences
    for line in shown_values.lines(target, differences, is_there=True, details=details):
        yield f"    {line}"


def of_logs(logs: Mapping[PureWindowsPath, Sequence[str]]) -> str:
    lines: list[str] = []
    for path, last in logs.items():
        lines += [f"Last lines of {path}:", *(f"    {short(line)}" for line in last)]
    return "\n".join(lines)


def advice(status: Status, drifted: Sequence[Standing], called: str, service: str) -> Iterator[str]:
    """Yield what to do about drift: a line for each owner of something in `drifted`, or the one that goes
    before all of them.
    """
    if first := _before_all_else(status, called):
        yield first
        return
    yield from dict.fromkeys(
        line
        for owner, mine in _by_owner(drifted).items()
        for line in _for_owner(status, owner, mine, called, service)
    )


def different_type(standing: Standing) -> Sequence[Difference]:
    """A folder in a file's place, say: a run would not touch it. Of what is in it nothing can be compared."""
    return [each for each in standing.differences if each.field == "type"] if standing.found else []


def _before_all_else(status: Status, called: str) -> str | None:
    if status.under_way:
        return "a run is under way on this machine: ask again when it has ended"
    if status.interrupted:
        told = "the last run was interrupted: run it again to finish it"
        return f"{told}, or {called} --rollback to take it back"
    if outstanding(status.title) is not None:
        told = "this user data was not carried out to its end"
        return f"{told}: run {called} --user-data with it again to go on"
    if status.leaving:
        return f"a reset could not take all of it back: run {called} reset again"
    return None


def _by_owner(drifted: Sequence[Standing]) -> Mapping[str, list[Standing]]:
    """What cannot be looked at, and is not seen to differ, is no drift."""
    found: dict[str, list[Standing]] = {}
    for each in drifted:
        if each.differences or not each.unseen:
            found.setdefault(each.record.parts[0], []).append(each)
    return found


def _for_owner(
    status: Status, owner: str, drifted: Sequence[Standing], called: str, service: str
) -> Iterator[str]:
    in_the_way = [each.record.target.key.name for each in drifted if different_type(each)]
    moved = f"move {', '.join(in_the_way)} away, then " if in_the_way else ""
    if owner in _WITHOUT_A_COMMAND:
        yield moved + _again(status, owner, called)
    elif owner == AUDITED:
        yield f"{moved}run {called} audit {options.FIX.name} to repair what an audit had made"
    else:
        title = status.origins.get(owner, Origin()).title or "the cluster"
        names = ", ".join(str(each.record.target.key) for each in drifted)
        is_operated = owner == OF_OPERATOR
        yield f"{moved}{names} comes from {title}: {_OPERATED if is_operated else service}"


def _service(called: str, resident: ServiceState | None, *, is_paused: bool) -> str:
    """What is to be done about what no command makes, but the resident service."""
    if resident is None:
        return f"the resident service that repairs it is not installed: run {called} daemon install"
    if resident is ServiceState.STOPPED:
        return "the resident service that repairs it is stopped: sc.exe start wmcb starts it"
    if is_paused:
        return (
            f"the resident service repairs it when its pause is over: run {called} daemon resume to end that"
        )
    return "the resident service repairs it, and its log tells why it has not"


def _again(status: Status, owner: str, called: str) -> str:
    if owner == NODE and status.title.startswith(USER_DATA):
        if not any(each.record.target.key == _KUBELET for each in status.resources):
            return (
                "user data is carried out once, so no command repairs that alone: repair it by hand, or run "
                f"{called} reset and carry it out again"
            )
        return (
            f"run {called} upgrade to repair what the join made; what else of this user data has changed "
            "stays so, as it is carried out once: repair it by hand, or run "
            f"{called} reset and carry it out again"
        )
    command = status.origins.get(owner, Origin()).command
    if not command:
        return _WITHOUT_A_COMMAND[owner].format(called=called)
    hidden = f", with what {HIDDEN} stands for" if HIDDEN in command else ""
    return f"run this again to repair that{hidden}: {command}"
