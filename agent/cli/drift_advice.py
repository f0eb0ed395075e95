"""What `wmcb status` advises to do about drift: for each owner of what has drifted, what repairs it."""

from collections.abc import Iterator, Mapping, Sequence

from agent.cli import options
from agent.cli.command_line import HIDDEN
from agent.cli.outstanding import outstanding
from agent.engine.inventory import Origin
from agent.engine.parts import AUDITED, CONFIGURED, OF_OPERATOR, PREPARED
from agent.engine.planning import Difference
from agent.engine.run import Standing, Status
from agent.engine.target import NODE
from agent.host.port import ServiceState
from agent.sources.node_names import USER_DATA
from agent.spec import Key, Service

_KUBELET = Key(Service.kind, "kubelet")
"""Of user data only a join makes it."""
_AGAIN_AS_BEFORE = "run this again to repair that"
_OPERATED = "the operator's daemon (wmcb controller) repairs it while its service runs"
_BY_A_PERSON = (NODE, PREPARED, CONFIGURED)
_WITHOUT_A_COMMAND: Mapping[str, str] = {
    NODE: "run {called} again, with the command and the options that made this, to repair that",
    PREPARED: "run {called} prepare again, with the options that made this, to repair that",
    CONFIGURED: f"run the command with {options.NODE_CONFIG.name} again that made this, to repair that",
}


def advice(
    status: Status,
    drifted: Sequence[Standing],
    called: str,
    *,
    resident: ServiceState | None,
    is_paused: bool,
) -> Iterator[str]:
    """Yield a line for each owner of something in `drifted`, or the one that goes before all of them."""
    if first := _before_all_else(status, called):
        yield first
        return
    yield from dict.fromkeys(
        line
        for owner, mine in _by_owner(drifted).items()
        for line in _for_owner(status, owner, mine, called, _service(called, resident, is_paused=is_paused))
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
    if owner in _BY_A_PERSON:
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
    return f"{_AGAIN_AS_BEFORE}{hidden}: {command}"
