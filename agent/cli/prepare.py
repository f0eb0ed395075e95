"""`wmcb prepare`: what a bare server, or an image, needs before it can become a node."""

import json
from collections.abc import Sequence
from pathlib import PureWindowsPath

from agent import log_runner
from agent.cli import options, stages, values
from agent.cli.arguments import Request
from agent.cli.asking import Asking, last_of
from agent.cli.checking import ignored_checks, machine_findings, refuse_unfit
from agent.cli.command_line import called
from agent.cli.failure import DONE, BadInput, BadUsage, Refused
from agent.cli.joined_node import title_of
from agent.cli.machine import is_imagined, open_machine, open_or_imagine
from agent.cli.outlook import show_plan
from agent.cli.restarting import check_restart, ended
from agent.cli.run_log import RunLog
from agent.cli.running_program import check_program, own_folder, running_program
from agent.cli.stages import Stage
from agent.cli.streams import notice
from agent.engine import run as engine
from agent.engine.parts import PREPARED
from agent.engine.planning import together
from agent.engine.target import Target
from agent.host.port import Host
from agent.preflight import image
from agent.resources.own_folder import is_secret
from agent.sources.kubelet.node import NEWEST, OLDEST, Kubelet
from agent.sources.kubelet.prerequisites import prerequisites, release
from agent.sources.node_configuration.model import Item, NodeConfiguration
from agent.sources.report import Origin
from agent.spec import Inline, Want
from agent.spec.machine import HostName
from service import installation
from service.installation import remove_others, switch_path
from service.program_folder import KUBEADM, PROGRAM

_CHECKS = ("administrator", "windows-build", "architecture", "drive-rights")
_PREPARED = "this machine is prepared: join it, or give it a document, and it is a node"
_NOTHING = "this machine is prepared as is wanted"
_UNASKED = "nothing of this machine is asked for"
_TAKEN_AWAY = f"{_UNASKED} any more: what was asked for before is taken away"


def run(request: Request) -> int:
    """What is wanted is made part by part; what a restart has to come before is made by the next run."""
    _require_wish(request)
    is_look = request.has(options.DRY_RUN)
    host = open_or_imagine(request) if is_look else open_machine(request)
    if not is_look:
        check_restart(request, host)
    asking = Asking(ignored_checks(request))
    folder = own_folder(request, host)
    wanted = _wanted(request, host, asking, folder)
    if request.has(options.FOR_IMAGE):
        _refuse_identity(request, host, wanted)
    if not is_imagined(request):
        refuse_unfit(machine_findings(request, host, asking, None, checks=_CHECKS), asking)
    if request.has(options.KUBERNETES_VERSION) and not is_look:
        check_program(request, host)
    if is_look:
        also = [f"{PROGRAM} and {KUBEADM} are laid out in {folder}"]
        plan = together([stages.foreseen(host, stage) for stage in wanted])
        show_plan(request, host, plan, also=also if request.has(options.KUBERNETES_VERSION) else ())
        return DONE
    done = []
    for stage in wanted:
        done.append(stages.make(request, host, stage))
        if done[-1].awaiting:
            break
    if request.has(options.KUBERNETES_VERSION):
        with running_program(request, host) as program:
            laid_out, _ = installation.lay_out(host, program, as_kubeadm=True)
        switch_path(host, laid_out, notice)
        remove_others(host, laid_out)
    is_asked = any(stage.specification.wants for stage in wanted)
    texts = (_PREPARED, _NOTHING) if is_asked else (_TAKEN_AWAY, _UNASKED)
    code = ended(request, host, engine.together(done), *texts)
    if request.has(options.FOR_IMAGE):
        RunLog(host).remove()  # each copy goes on from what was made, and not with what was said meanwhile
    return code


def _refuse_identity(request: Request, host: Host, stages: Sequence[Stage]) -> None:
    """Raises Refused where this is a node, or was one, and BadInput for a document that makes it this one.

    Each copy of an image would have what is on it.
    """
    if title := title_of(host):
        text = f"this machine is a node already ({title}); {called(request)} reset takes it out of that first"
        raise Refused(text)
    found = [
        Refused(f"{name} is of a node that this machine was; remove it, or an image has it", where=name)
        for name in image.of_a_node(host)
    ]
    if found:
        raise last_of(found)
    for stage in stages:
        for want in stage.specification.wants:
            if isinstance(want, HostName):
                raise _at_its_place(stage, want, "an image has no name: each of its copies gets one")
            if is_secret(json.dumps(Target.of(want).document())):
                text = (
                    "its password is sealed by a key of this machine: an image has none, give it to each copy"
                )
                raise _at_its_place(stage, want, text)


def _at_its_place(stage: Stage, want: Want, text: str) -> BadInput:
    entry = stage.origins[want.key].error(text)
    return BadInput(str(entry).removeprefix("error: "), where=entry.where)


def _require_wish(request: Request) -> None:
    wanted = (options.KUBERNETES_VERSION, options.NODE_CONFIG)
    if not any(map(request.has, wanted)):
        text = " or ".join(f"{option.name} {option.placeholder}" for option in wanted)
        raise BadUsage(f"{text} is needed", where=wanted[0].name)


def _wanted(request: Request, host: Host, asking: Asking, folder: PureWindowsPath) -> Sequence[Stage]:
    """In the order in which they are made: what was interrupted first."""
    found = []
    if request.has(options.KUBERNETES_VERSION):
        found.append(_of_every_node(request, host, asking, folder))
    if request.has(options.NODE_CONFIG):
        first = found[0].specification if found else None
        found.append(stages.stage(request, host, asking, first))
    interrupted = engine.interrupted_part(host)
    return sorted(found, key=lambda stage: stage.part != interrupted)


def _of_every_node(request: Request, host: Host, asking: Asking, folder: PureWindowsPath) -> Stage:
    option = options.KUBERNETES_VERSION
    version = _version(request, asking)
    directory = values.install_directory(request)
    runner = log_runner.program()
    wants = prerequisites(version, directory, folder, Inline(runner) if runner else None)
    origin = Origin(f"{option.name} {version}", ())
    document = NodeConfiguration(origin, "", items=tuple(Item(want, origin) for want in wants))
    return stages.compiled(request, host, asking, PREPARED, f"Kubernetes {version}", [document])


def _version(request: Request, asking: Asking) -> str:
    option = options.KUBERNETES_VERSION
    given = request.value(option, "")
    version = release(given)
    if version is None:
        raise BadUsage.of(option.name, given, f"expected something like v1.{NEWEST}.0")
    known = Kubelet.of_version(version)
    if known is None or not OLDEST <= known.minor <= NEWEST:
        asking.warn(f"{option.name} {version}: releases 1.{OLDEST} to 1.{NEWEST} are known here")
    return version
