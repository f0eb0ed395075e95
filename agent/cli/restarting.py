"""What is said of a run that made a node, and a restart of Windows in its middle, after which it goes on."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PureWindowsPath

from agent.cli import dispatch, options, plan_documents, shown_plan
from agent.cli.arguments import SANDBOX, SANDBOX_RUN, VERBOSE, Request
from agent.cli.failure import DONE, GO_ON_AFTER_RESTART, BadUsage, Failure, Refused
from agent.cli.machine import is_sandbox, open_machine
from agent.cli.run_log import EventId, RunLog
from agent.cli.running_program import check_program, running_program
from agent.cli.streams import many, say, tell
from agent.engine.planning import Plan
from agent.engine.run import Done
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError, NotAService
from agent.host.port import EventLevel, Host
from agent.host.protection import exchangeable
from agent.host.services import ServiceControls, ServiceState
from agent.redaction import redacted
from agent.resources.kind import field_in_words
from service import continuing
from service.continuing import Put, put_by
from service.program import RESUME_SERVICE

if sys.platform == "win32":
    from agent.host.windows.service_program import serve

_SECONDS = 10
"""For whoever is at work on the machine, and has `shutdown /a` to stop it."""
_OF_THE_PLACE = (SANDBOX.name, SANDBOX_RUN.name)
_STANDARD_INPUT = "-"

_MADE = "this machine is a node"
_AS_IT_WAS = "this machine is the node that is wanted"


def check_restart(request: Request, host: Host) -> None:
    """Before anything is done. Raises BadUsage for what cannot be asked for once more, and Refused for what
    others could exchange until then: who runs it again is SYSTEM.
    """
    if not request.has(options.ALLOW_REBOOT):
        return
    if _STANDARD_INPUT in request.values.values():
        text = " runs this again after the restart: give files, not standard input"
        raise options.ALLOW_REBOOT.misused(text)
    for option in (
        *(options.IGNITION, options.KUBEADM_CONFIG, options.NODE_CONFIG, options.KUBELET, options.LOG_RUNNER),
        *(options.ARTIFACTS, options.CONFIG, options.DISCOVERY_FILE, options.PATCHES),
    ):
        place = _as_windows_reads(request, request.value(option, ""))
        if place is None:
            continue
        if not place.drive.endswith(":"):
            reader = "read as the computer's account then, not yours"
            tell(f"wmcb: warning: {options.ALLOW_REBOOT.name}: {place} is on a share, {reader}")
            continue
        open_one = exchangeable(host, place)
        if open_one is not None:
            raise Refused(
                f"{options.ALLOW_REBOOT.name} reads {place} again after the restart, as SYSTEM, and users may"
                f" change {open_one}: put it where only administrators may write, or leave the option out",
                where=option.name,
            )
    check_program(request, host)


def _as_windows_reads(request: Request, name: str) -> PureWindowsPath | None:
    """On this machine, or a share. None for what lies on a server, or is of another system than Windows."""
    if "://" in name:
        return None  # which Windows would take for a path in the current folder
    is_this_system = sys.platform == "win32" and not is_sandbox(request)
    path = PureWindowsPath(os.path.abspath(name) if is_this_system and name else name)  # noqa: PTH100 - as Windows reads it
    return path if path.drive else None


def ended(request: Request, host: Host, done: Done, *texts: str) -> int:
    """Tells what was done, and sees to the restart that it takes. The exit code."""
    code = show_result(request, host, done, *texts)
    if code == GO_ON_AFTER_RESTART and request.has(options.ALLOW_REBOOT):
        _restart(request, host, "; ".join(done.awaiting.values()))
    elif host.files.observe(StateFolder.of(host).continuing) is not None:
        # Of an earlier command, whose restart somebody has called off: at the next one, months later perhaps,
        # it would make what it wanted of what this one has made.
        continuing.forget(host)
    return code


def _restart(request: Request, host: Host, why: str) -> None:
    """Ask Windows for the restart, and lay the program out for the service that goes on after it.

    Path still leads to the version that `daemon install` or `prepare` installed: what is laid out here is for
    one use, and the next installation removes it. Without a restart the same command would lay out nothing.
    """
    with running_program(request, host) as program:
        put_by(host, Put(_arguments(request), os.getcwd()), program)  # noqa: PTH109 - of the system we run on
    try:
        host.power.reboot(redacted(why), _SECONDS)  # Windows shows it to all users
    except HostError as fault:
        tell(f"wmcb: warning: {fault}; restart it yourself: it goes on by itself then")
    else:
        tell(f"wmcb: this machine is restarted in {_SECONDS} seconds, and goes on by itself then")


def _arguments(request: Request) -> Sequence[str]:
    options_of_it = {name: value for name, value in request.values.items() if name not in _OF_THE_PLACE}
    known = request.command.options if request.command else ()
    empty = [each.name for each in known if each.placeholder and options_of_it.get(each.name) == ""]
    words = [f"{name}=" if name in empty else name for name in _in_words(options_of_it)]
    return [*request.words, *([request.operand] if request.operand else []), *words]


def _in_words(values: dict[str, str]) -> Sequence[str]:
    return [f"{name}={value}" if value else name for name, value in values.items()]


def go_on(request: Request) -> int:
    """What the service runs."""
    if is_sandbox(request):
        return _go_on(request)
    if sys.platform == "win32":

        def program(controls: ServiceControls) -> int:
            controls.running()
            return _go_on(request)

        with suppress(NotAService):
            return serve(RESUME_SERVICE, program)
    raise BadUsage(f"Windows runs this, after a restart that {options.ALLOW_REBOOT.name} has asked for")


def _go_on(request: Request) -> int:
    host, code = open_machine(request), DONE
    failed = partial(_record, host)
    try:
        put = continuing.read(host)
    except (HostError, ValueError, LookupError) as fault:
        continuing.forget(host)
        failure = Failure("what was to be gone on with after a restart cannot be read: ask for it anew")
        failed(failure)
        raise failure from fault
    if put is not None:
        with suppress(OSError):
            os.chdir(put.folder)
        place = {name: value for name, value in request.values.items() if name in _OF_THE_PLACE}
        code = dispatch.run([*put.arguments, *_in_words(place)], failed=failed)
    if code != GO_ON_AFTER_RESTART:
        continuing.forget(host)
    return code


def _record(host: Host, failure: Failure) -> None:
    """A service has no console, and what fails before a run begins is told there alone."""
    text = f"what was to be gone on with after a restart: {failure.whole()}"
    RunLog(host).event(EventLevel.ERROR, EventId.FAILED, text)


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
