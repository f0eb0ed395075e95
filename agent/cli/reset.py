"""`wmcb reset`."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from agent.audit.running import KUBELET, running
from agent.cli import options, plan_documents
from agent.cli.arguments import Request
from agent.cli.audit import RESTART
from agent.cli.command_line import called
from agent.cli.engine_run import Told, display, looking, recorded
from agent.cli.failure import DONE, FAILED, BadUsage
from agent.cli.leaving import Leaving, check_options
from agent.cli.machine import is_sandbox, open_as_administrator, open_or_imagine
from agent.cli.outlook import foreseen_of, show_plan, stays
from agent.cli.streams import notice, say
from agent.engine import run as engine
from agent.engine.parts import LASTING
from agent.engine.run import Done
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources.command import effects_stay
from agent.resources.kind import State
from agent.resources.windows_settings import TAKEN_BACK
from agent.spec import Command, Key, Specification
from agent.spec.machine import WindowsFeature
from service import continuing
from service.program import SERVICE
from service.program_folder import home


def run(request: Request) -> int:
    """Takes away what wmcb put on the machine, its own memory and logs with it."""
    if request.command and options.FORCE in request.command.unlisted and request.has(options.FORCE):
        text = f"reset asks nobody, so there is no {options.FORCE.name}: leave it out"
        raise BadUsage(text, where=options.FORCE.name)
    if request.has(options.FORGET):
        return _forget(request)
    check_options(request)
    if request.has(options.DRY_RUN):
        host = open_or_imagine(request)
        manners, but = _manners(request), _stays(request)
        with looking(host):
            leaving = Leaving(request, host, notice)
            also = [*leaving.foreseen(), *_resident(request, host)]
            planned = engine.preview(host, Specification(), part=None, but=but, manners=manners)
        show_plan(request, host, planned, also=also, anyhow=leaving.foreseen_anyhow())
        return DONE
    host = open_as_administrator(request)
    with recorded(host, "reset", display(request), foreseen_of) as told:
        leaving = Leaving(request, host, told.remark)
        done = _leave(request, host, leaving, told)
        told.found(stays(done.plan))
        beside = list(leaving.when_done())
    staying = stays(done.plan)
    if not staying:
        told.log.remove()
    if done.plan.changes:
        done = _without_commands_not_run(request, done)
        elsewhere = (*_unread(host, done), *leaving.left(), *_resident(request, host))
        done = replace(done, left=(*done.left, *elsewhere))
    elif staying:
        done = replace(done, left=(*done.left, *leaving.pods_left()))
    done = replace(done, left=(*staying, *done.left))
    if request.wants_json:
        remarks = [*told.foreseen.remarks, *beside]
        say(plan_documents.result_document(_without(done, told.foreseen.staying), remarks))
    elif staying:
        first = "not all could be taken back; all else is as it was before wmcb"
        say("\n  ".join([first, *beside, *done.left]))
    elif not done.plan.changes:
        more = " but what it was prepared with" if request.has(options.KEEP_PREPARED) else ""
        nothing = f"wmcb has put nothing on this machine{more}"
        say("\n  ".join([nothing, *beside]) if beside else f"nothing to do: {nothing}")
    else:
        before = "wmcb made it a node" if request.has(options.KEEP_PREPARED) else "wmcb"
        say("\n  ".join([f"the machine is as it was before {before}", *beside, *done.left]))
    return FAILED if staying else DONE


def _manners(request: Request) -> Mapping[str, State]:
    if not request.has(options.FEATURES):
        return {}
    return {WindowsFeature.kind: {TAKEN_BACK: True}}


def _stays(request: Request) -> Collection[str]:
    return LASTING if request.has(options.KEEP_PREPARED) else ()


def _leave(request: Request, host: Host, leaving: Leaving, told: Told) -> Done:
    leaving.check()
    continuing.forget(host)
    manners, but = _manners(request), _stays(request)
    try:
        return engine.reset(host, told, leaving.when_stopped, manners, but)
    except engine.TakenBack as failure:
        undone = replace(failure.undone, left=(*failure.undone.left, *leaving.lost()))
        raise engine.TakenBack(undone) from failure.__cause__


def _without(done: Done, staying: Collection[Key]) -> Done:
    """What was to go and did not is told by what is left."""
    changes = tuple(change for change in done.plan.changes if change.target.key not in staying)
    return replace(done, plan=replace(done.plan, changes=changes))


def _without_commands_not_run(request: Request, done: Done) -> Done:
    """Return the same, in a sandbox with one line for all commands: none of them was run there."""
    names = [change.target.key.name for change in done.plan.changes if change.target.key.kind == Command.kind]
    if not names or not is_sandbox(request):
        return done
    stays = {effects_stay(name) for name in names}
    line = "nothing of its commands stays: a sandbox has none of Windows' shells, and did not run them"
    return replace(done, left=(line, *(each for each in done.left if each not in stays)))


def _unread(host: Host, done: Done) -> Iterator[str]:
    """Of a kubelet that others made, and that an audit's fixes were about: nobody stops it for a reset."""
    contents = {each.target.key for each in done.plan.changes if "sha256" in each.target.wanted}
    if not contents or any(each.target.key == Key("service", "kubelet") for each in done.plan.changes):
        return
    with suppress(HostError):
        kubelet = running(host, KUBELET)
        if kubelet and Key("file", str(kubelet.configuration_path)) in contents:
            yield RESTART


def _resident(request: Request, host: Host) -> Iterator[str]:
    uninstall = f"{called(request)} daemon uninstall"
    with suppress(HostError):
        if host.services.read(SERVICE) is not None:
            yield f"the resident service and {home(host)} stay: {uninstall} removes both"
        elif host.files.observe(home(host)) is not None:
            yield f"wmcb itself stays in {home(host)}: {uninstall} removes it"


def _forget(request: Request) -> int:
    for option in (
        *(options.DRY_RUN, options.DELETE_NODE, options.DELETE_AS, options.END_PODS, options.ALL_HNS),
        *(options.FEATURES, options.KEEP_PREPARED),
    ):
        if request.has(option):
            raise BadUsage(f"{options.FORGET.name} does not go with {option.name}", where=option.name)
    host = open_as_administrator(request)
    with recorded(host, "forget what was done here", display(request)) as told:
        engine.forget(host, told.waiting)
    say("all is left as it is, and wmcb knows nothing of it any more")
    return DONE
