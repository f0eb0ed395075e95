"""What is said of a run that made a node, or found one."""

from __future__ import annotations

from collections.abc import Iterator

from agent.cli import plan_documents, shown_plan
from agent.cli.arguments import SANDBOX_RUN, VERBOSE, Request
from agent.cli.failure import DONE, GO_ON_AFTER_RESTART
from agent.cli.machine import is_sandbox
from agent.cli.streams import say, tell
from agent.cli.wording import many
from agent.engine.planning import Plan
from agent.engine.run import Done
from agent.host.port import Host, ServiceState
from agent.resources.kind import field_in_words

_MADE = "this machine is a node"
_AS_IT_WAS = "this machine is the node that is wanted"


def show_result(
    request: Request, host: Host, done: Done, made: str = _MADE, as_it_was: str = _AS_IT_WAS
) -> int:
    """On standard output: what it is now, or was already. The exit code."""
    if request.has(VERBOSE):
        _tell_what_is_kept_otherwise(done)
    remarks = [*_adopted(done), *_not_started(request, host, done.plan)]
    if request.wants_json:
        say(plan_documents.result_document(done, remarks))
    elif done.awaiting:
        lines = [*done.awaiting.values(), *shown_plan.of_result(done), *remarks]
        say("\n  ".join([f"restart this machine, and run this again{_waiting(done)}", *lines]))
    elif not done.plan.changes:
        lines = [f"nothing to do: {as_it_was}", *remarks]
        say("\n  ".join(lines))
    else:
        lines = [*shown_plan.of_result(done), *remarks]
        say("\n".join([made, *(f"  {line}" for line in lines)]))
    return GO_ON_AFTER_RESTART if done.awaiting else DONE


def _waiting(done: Done) -> str:
    number = len(done.put_off)
    return f": {many(number, 'thing')} can only be made then" if number else ""


def _adopted(done: Done) -> Iterator[str]:
    """Files may be anybody's; a kubelet's service that is as wanted is what was forgotten here."""
    services = [str(key) for key in done.adopted if key.kind == "service"]
    if services:
        others = many(len(done.adopted) - len(services), "other thing")
        yield f"{', '.join(services)} and {others} were here, as wanted, before this run: a reset leaves them"


def _tell_what_is_kept_otherwise(done: Done) -> None:
    for key, differences in done.kept_otherwise:
        fields = ", ".join(field_in_words(each.field) for each in differences)
        tell(f"wmcb: warning: this machine keeps {fields} of {key} in its own way")


def _not_started(request: Request, host: Host, plan: Plan) -> Iterator[str]:
    """A sandbox takes a program that its system cannot run for one that runs."""
    if not is_sandbox(request):
        return
    why = f"a sandbox starts programs with {SANDBOX_RUN.name} alone"
    if request.has(SANDBOX_RUN):
        why = "its program is none that this system can run"
    for change in plan.changes:
        key = change.target.key
        if key.kind != "service" or host.services.read(key.name) is None:
            continue
        status = host.services.status(key.name)
        if status.state is ServiceState.RUNNING and status.pid is None:
            yield f"{key} was not started, but written down as running: {why}"
