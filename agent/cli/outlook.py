"""What somebody should know before a plan is carried out, besides what it changes."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PureWindowsPath

from agent.cli import plan_documents, shown_plan
from agent.cli.arguments import VERBOSE, Request
from agent.cli.engine_run import ELEVATE, WARNING, Foreseen, looking
from agent.cli.losses import Outlook, losses
from agent.cli.machine import tell_of_imagined
from agent.cli.streams import Colours, say
from agent.engine import run as engine
from agent.engine.machine_lock import LOCK
from agent.engine.planning import Action, Change, Match, Plan, hidden_fields, together
from agent.host.port import Host
from agent.host.services import ServiceState
from agent.preflight.situation import Finding
from agent.resources.kind import State, field_in_words
from agent.spec import File, Key, Service, Specification

_KUBECONFIG, _BOOTSTRAP = "--kubeconfig=", "--bootstrap-kubeconfig="


def foreseen_of(host: Host, plan: Plan) -> Foreseen:
    """Told by a run before it does anything."""
    lost = losses(host, plan)
    missing = missing_credentials(host, plan)
    return Foreseen([*stays(plan), *lost.lines(), *(f"{WARNING}{each}" for each in missing)], lost.staying)


def stays(plan: Plan) -> Sequence[str]:
    """A line for each reason."""
    by_reason: dict[str, list[Key]] = {}
    for key, why in plan.stays.items():
        by_reason.setdefault(why, []).append(key)
    return [f"{_stay(keys)}: {why}" for why, keys in by_reason.items()]


def _not_compared(plan: Plan) -> Iterator[str]:
    """Fields that whoever asks may not see: a plan without them would seem to be all there is to do."""
    compared = [(each.target, each.found) for each in plan.unchanged]
    compared += [(each.target, each.found) for each in plan.changes if each.action is Action.CHANGE]
    found = {
        target.key: hidden
        for target, state in compared
        if state is not None and (hidden := hidden_fields(target, state, None))
    }
    if found:
        named = "; ".join(
            f"{' and '.join(map(field_in_words, fields))} of {key}" for key, fields in found.items()
        )
        yield f"could not be compared: {named}; {ELEVATE}"


def _stay(keys: Sequence[Key]) -> str:
    if len(keys) == 1:
        return f"{keys[0]} stays, and the next reset takes it back"
    return f"{', '.join(map(str, keys))} stay, and the next reset takes them back"


def show_preview(
    request: Request,
    host: Host,
    specification: Specification,
    checks: Sequence[Finding] = (),
    *,
    beside: bool = False,
    first: Sequence[Plan] = (),
) -> None:
    """What a run would do, on standard output. Raises Failure for what stands in its way.

    `first` come runs of their own.
    """
    with looking(host):
        planned = together([*first, engine.preview(host, specification, beside=beside)])
    show_plan(request, host, planned, checks)


def show_plan(
    request: Request,
    host: Host,
    planned: Plan,
    checks: Sequence[Finding] = (),
    also: Iterable[str] = (),
    anyhow: Iterable[str] = (),
) -> None:
    """The same of one that is known. `also` is remarked on a run that does anything, `anyhow` on each."""
    with looking(host):
        interrupted = engine.interrupted(host)
    lost = losses(host, planned)
    under_way = ["a run is under way on this machine: look again when it has ended"]
    remarks = [
        *(under_way if host.processes.is_held(LOCK) else ()),
        *stays(planned),
        *lost.lines(),
        *missing_credentials(host, planned),
        *_not_compared(planned),
        *(also if planned.changes or interrupted is not None else ()),
        *anyhow,
    ]
    tell_of_imagined(request)
    outlook = Outlook(lost, remarks, interrupted, checks)
    if request.wants_json:
        say(plan_documents.plan_document(planned, outlook))
    else:
        say(shown_plan.of_plan(planned, outlook, Colours(sys.stdout), details=request.has(VERBOSE)))


def missing_credentials(host: Host, plan: Plan) -> Iterator[str]:
    """Lines for a person about a node, there before this run, that has lost what its cluster knows it by."""
    all_of_it: list[Change | Match] = [*plan.changes, *plan.unchanged]
    for each in all_of_it:
        key, found = each.target.key, each.found
        if key.kind != Service.kind or each.target.want is None or found is None:
            continue
        if _runs_on_paper(host, key.name, found):
            continue
        path = _kubeconfig(found)
        if path is None or host.files.observe(PureWindowsPath(path)) is not None:
            continue
        if Key(File.kind, path) not in {other.target.key for other in all_of_it}:
            yield (
                f"{path} is not there: without these credentials {key} asks its cluster for new ones, "
                "and somebody there may have to approve that"
            )


def _kubeconfig(found: State) -> str | None:
    """What the kubelet writes when it is admitted; None if it does not go by a bootstrap kubeconfig."""
    command = found.get("command")
    words = [str(word) for word in command] if isinstance(command, list | tuple) else []
    if not any(word.startswith(_BOOTSTRAP) for word in words):
        return None
    given = (word.removeprefix(_KUBECONFIG) for word in words if word.startswith(_KUBECONFIG))
    return next(given, None)


def _runs_on_paper(host: Host, name: str, found: State) -> bool:
    """As services in a sandbox do, and write nothing."""
    return found.get("state") == ServiceState.RUNNING.name and host.services.status(name).pid is None
