"""`wmcb --ignition worker.ign --kubelet kubelet.exe`, `wmcb plan` and `wmcb upgrade`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PureWindowsPath

from agent import log_runner
from agent.cli import joined_node, options, streams
from agent.cli.arguments import OUTPUT, VERBOSE, Request
from agent.cli.asking import Asking
from agent.cli.checking import errors_beforehand, hindrances, refuse_unfit
from agent.cli.command_line import called, command_line
from agent.cli.engine_run import Foreseen, display, recorded
from agent.cli.failure import DONE, BadUsage, Failure
from agent.cli.given import given_file
from agent.cli.inputs import (
    asking_for,
    confirmation,
    first_look,
    given_document,
    is_said,
    not_foreseen,
    require_document,
)
from agent.cli.machine import open_as_administrator, open_machine, open_or_imagine
from agent.cli.outlook import foreseen_of, show_plan, show_preview
from agent.cli.restarting import check_restart, ended
from agent.cli.run_log import Notices, RunLog
from agent.cli.streams import say
from agent.cli.wanted import asked_for, fit_for
from agent.engine import run as engine
from agent.engine.planning import Plan
from agent.engine.run import Done
from agent.engine.target import NODE
from agent.hashing import new_sha256
from agent.host.port import Host
from agent.release import RELEASE, build
from agent.sources.kubeadm.model import KUBELET_CONF
from agent.sources.kubelet.folders import ARGUMENTS_FILE

MAKE_A_NODE = "make this machine a node"
"""What the log and Windows' events call it."""

_SHOWN_ONLY = (OUTPUT.name, VERBOSE.name, options.IGNORE.name)
"""Options that make no difference to a node."""
_KUBELET = "kubelet"


def run(request: Request) -> int:
    """Makes this machine a node, or shows what that would take."""
    if request.has(options.ROLLBACK):
        return _take_back(request)
    if given_document(request) is options.USER_DATA:
        _refuse_with_user_data(request)
        return _run_user_data(request)
    if request.has(options.DRY_RUN):
        return plan(request)
    host = open_machine(request)
    check_restart(request, host)
    if request.has(options.NODE_CONFIG):
        return _configured(request, host)
    recipe = ""
    if request.has(options.IGNITION) and host.access.is_administrator():
        document, by_user_data = first_look(request, host)
        if by_user_data is not None:
            return _run_user_data(by_user_data)
        recipe = recipe_of(request, host, document)
        # Than whether all is as it is to be: what of a document is left out, and warnings told before.
        is_to_tell_more = request.wants_json or request.has(VERBOSE)
        if not is_to_tell_more and (done := engine.as_made(host, recipe)) is not None:
            with recorded(host, MAKE_A_NODE, display(request)):
                return ended(request, host, done)
    asking = asking_for(request, host)
    if asking.join is not None and asking.join.dry_run:
        return _look(request, host, asking)
    return ended(request, host, _made(request, host, asking, recipe))


def _configured(request: Request, host: Host) -> int:
    """What --node-config wants is made first, and stays when the node cannot be made then."""
    asking = asking_for(request, host)
    if asking.join is not None and asking.join.dry_run:
        return plan(request)
    require_document(request, asking)
    if request.has(options.IGNITION) and first_look(request, host)[1] is not None:
        _refuse_with_user_data(request)
    from agent.cli import stages  # noqa: PLC0415 - what reads a NodeConfiguration, 30 ms under Wine

    configuration = stages.stage(request, host, asking)
    unfit = errors_beforehand(request, host, asking, configuration.specification)
    refuse_unfit(unfit, asking)
    if engine.interrupted_part(host) == NODE:
        # Nothing else can be begun before that has come to its end.
        node = _made(request, host, asking)
        done = [node, stages.make(request, host, configuration)]
    else:
        done = [stages.make(request, host, configuration)]
        if not done[0].awaiting:
            done.append(_made(request, host, asking))
    return ended(request, host, engine.together(done))


def _run_user_data(request: Request) -> int:
    from agent.cli import user_data  # noqa: PLC0415 - email and requests, 0.3 s under Wine

    return user_data.run(request)


def _refuse_with_user_data(request: Request) -> None:
    if request.has(options.NODE_CONFIG):
        before = f"give it to {called(request)} prepare before that"
        raise options.NODE_CONFIG.misused(f" does not go with user data: {before}")


def _made(request: Request, host: Host, asking: Asking, recipe: str = "") -> Done:
    notices = Notices(host, also_known=request.has(VERBOSE))
    asking = replace(asking, notice=notices)
    specification = fit_for(request, host, asking)
    if asking.beside:
        specification = replace(specification, title="")

    def foresee(host: Host, plan: Plan) -> Foreseen:
        if plan.changes:
            notices.tell_the_rest()
        return foreseen_of(host, plan)

    with recorded(host, MAKE_A_NODE, display(request), foresee) as told, asking.aside(told.remark) as prepare:
        told.found(notices.lines)
        confirm = confirmation(request, host, replace(asking, notice=told.remark))
        known = "" if asking.fetched else recipe
        return engine.make_so(
            host,
            specification,
            told,
            confirm,
            prepare=prepare,
            beside=asking.beside,
            recipe=known,
            command="" if asking.beside else command_line(request),
        )


def plan(request: Request) -> int:
    """What `run` would do."""
    if given_document(request) is options.USER_DATA:
        raise not_foreseen("plan")
    host = open_or_imagine(request)
    return _look(request, host, asking_for(request, host))


def _look(request: Request, host: Host, asking: Asking) -> int:
    if not request.has(options.NODE_CONFIG):
        specification = asked_for(request, host, asking)
        found = hindrances(request, host, asking, specification)
        show_preview(request, host, specification, found, beside=asking.beside)
        return DONE
    from agent.cli import stages  # noqa: PLC0415 - what reads a NodeConfiguration, 30 ms under Wine

    configuration = stages.stage(request, host, asking)
    before = stages.foreseen(host, configuration)
    if not is_said(request, asking):
        show_plan(request, host, before)
        return DONE
    specification = asked_for(request, host, asking)
    both = stages.beside(configuration, specification)
    found = hindrances(request, host, asking, both)
    show_preview(request, host, specification, found, beside=asking.beside, first=[before])
    return DONE


def _take_back(request: Request) -> int:
    if request.has(options.DRY_RUN):
        raise BadUsage(f"{options.ROLLBACK.name} does not go with {options.DRY_RUN.name}")
    host = open_as_administrator(request)
    with recorded(host, "take back an interrupted run", display(request)) as told:
        undone = engine.take_back(host, told)
        if undone is not None and undone.trouble:
            raise Failure(f"not all of it could be taken back: {'; '.join(undone.trouble)}")
        lines = [*told.taken_back(), *(undone.left if undone else ())]
    if undone is None:
        say("nothing to take back: no run was interrupted")
    else:
        say("\n  ".join(["the machine is as it was before the interrupted run", *lines]))
    return DONE


def recipe_of(request: Request, host: Host, document: str) -> str:
    """All that a node is made of, in one hash: what was made of the same before need not be read to know it.

    An Ignition of some size takes longer to decode than a machine to be looked at.

    `document` is the Ignition's hash. Empty where something of it is only known by asking others.
    """
    if request.value(options.PLATFORM, "none") != "none" or not request.has(options.KUBELET):
        return ""
    facts = host.facts
    parts = {
        "program": [RELEASE, build().commit],
        "log runner": new_sha256(log_runner.program() or b"").hexdigest(),
        "document": document,
        "kubelet": given_file(request, options.KUBELET, host).sha256,
        "beside it": _beside(request, host),
        "options": sorted(item for item in request.values.items() if item[0] not in _SHOWN_ONLY),
        "machine": [facts.host_name(), str(facts.windows_version()), *map(str, facts.addresses())],
    }
    return new_sha256(json.dumps(parts).encode()).hexdigest()


def _beside(request: Request, host: Host) -> str:
    """kube-log-runner.exe, wherever it is taken from."""
    if request.has(options.LOG_RUNNER):
        return given_file(request, options.LOG_RUNNER, host).sha256
    beside = given_file(request, options.KUBELET, host).beside(log_runner.OF_KUBERNETES)
    return beside.sha256 if beside else ""


def upgrade(request: Request) -> int:
    """Another kubelet, and the configuration that the cluster has for it now.

    A node is upgraded by joining it once more, as it is: by its own credentials, under its name, with the
    arguments that stand in its kubeadm-flags.env. What user data has made there stays. One that is not well
    afterwards is what it was before.
    """
    if request.has(options.KUBERNETES_VERSION):
        text = (
            f"upgrade has no option {options.KUBERNETES_VERSION.name}, since it fetches nothing: bring the "
            f"kubelet.exe of that release, and name it by {options.KUBELET.name} FILE"
        )
        raise BadUsage(text, where=options.KUBERNETES_VERSION.name)
    is_look = request.has(options.DRY_RUN)
    host = open_or_imagine(request) if is_look else open_machine(request)
    code = run(request.with_values({**_as_it_is(host), **request.values}))
    if request.has(options.ROLLBACK):
        _give_back(host)
    return code


def _give_back(host: Host) -> None:
    """What was taken back may have been a first join, of which nothing is left."""
    if host.files.observe(KUBELET_CONF) is None or host.files.observe(ARGUMENTS_FILE) is None:
        return
    from agent.cli import join_cluster  # noqa: PLC0415 - requests, 0.3 s under Wine

    log = RunLog(host)

    def notice(line: str) -> None:
        streams.notice(line)
        log.write(line)

    join_cluster.give_back(host, joined_node.name(host), notice)


def _as_it_is(host: Host) -> Mapping[str, str]:
    """Where its programs are, and which service has to run before it."""
    installed = host.services.read(_KUBELET)
    if installed is None:
        return {}
    folder = PureWindowsPath(installed.definition.command[0]).parent
    needed = installed.definition.dependencies
    return {
        options.INSTALL_DIRECTORY.name: str(folder),
        options.CONTAINER_RUNTIME.name: needed[0] if needed else "none",
    }
