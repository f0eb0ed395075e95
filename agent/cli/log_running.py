"""Which program writes the kubelet's log: Kubernetes' own where it is at hand, otherwise ours."""

from __future__ import annotations

from pathlib import PureWindowsPath

from agent import log_runner as runners
from agent.cli import options
from agent.cli.arguments import Request
from agent.cli.asking import Asking
from agent.cli.executables import HEAD, fault_of_program
from agent.cli.given import given_file
from agent.cli.kubelet_program import CHECK, KubeletProgram
from agent.cli.machine import is_sandbox
from agent.host.port import Host
from agent.sources.kubelet.placement import ARGUMENTS_FILE, KUBELET_LOG, LogRunner
from agent.spec import Inline


def log_runner(
    request: Request, host: Host, asking: Asking, program: KubeletProgram | None, directory: PureWindowsPath
) -> LogRunner | None:
    """None where there is none, as where wmcb runs from source. Raises BadUsage."""
    if asking.join is not None:
        # Kubernetes' own reads no file of arguments.
        return _our_own(ARGUMENTS_FILE)
    given = None
    if request.has(options.LOG_RUNNER):
        given = given_file(request, options.LOG_RUNNER, host)
    elif program is not None:
        given = program.file.beside(runners.OF_KUBERNETES)
    if given is None or program is None:
        return _our_own()
    if fault := fault_of_program(given.head(HEAD), of_this_system=is_sandbox(request)):
        asking.object_to(CHECK, given.objection(fault))
    content = None if given.is_at(directory / runners.OF_KUBERNETES) else given
    arguments = runners.arguments_of_kubernetes(KUBELET_LOG, program.release().minor)
    return LogRunner(runners.OF_KUBERNETES, content, arguments)


def _our_own(more: PureWindowsPath | None = None) -> LogRunner | None:
    content = runners.program()
    if content is None:
        return None
    return LogRunner(runners.NAME, Inline(content), runners.arguments(KUBELET_LOG, more), more)
