"""`wmcb upgrade`: another kubelet, and the configuration that the cluster has for it now.

A node is upgraded by joining it once more, as it is: by its own credentials, under its name, with the
arguments that stand in its kubeadm-flags.env. What user data has made there stays. One that is not well
afterwards is what it was before.
"""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli import join_options, joined_node, options, vacating
from agent.cli.arguments import Request
from agent.cli.asking import Asking
from agent.cli.checking import ignored_checks
from agent.cli.failure import Failure, Refused
from agent.cli.machine import open_machine, open_or_imagine
from agent.cli.streams import tell
from agent.host.errors import HostError
from agent.sources.kubeadm.compiling import KUBELET_CONF
from agent.sources.kubeadm.model import Discovery, JoinConfiguration
from agent.sources.kubeadm.naming import node_name
from agent.sources.kubelet.placement import ARGUMENTS_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.host.port import Host

_KUBELET = "kubelet"


def run(request: Request) -> int:
    from agent.cli import bootstrap

    is_look = request.has(options.DRY_RUN)
    host = open_or_imagine(request) if is_look else open_machine(request)
    values = {**_as_it_is(host), **request.values}
    asked = Request(request.words, request.command, values, request.operand)
    if is_look:
        return bootstrap.run(asked)
    try:
        code = bootstrap.run(asked)
    except BaseException:
        # The node is what it was before, and takes pods again.
        _give_back(request, host, is_last=False)
        raise
    _give_back(request, host, is_last=True)
    return code


def _give_back(request: Request, host: Host, *, is_last: bool) -> None:
    """Also after an upgrade that did not cordon: an earlier one may have been killed before it came to this.

    Unless this is the last that goes wrong, it is told at most, and the other raised.
    """
    try:
        if host.files.observe(KUBELET_CONF) is None or host.files.observe(ARGUMENTS_FILE) is None:
            return
        vacating.give_back(host, joined_node.name(host))
    except (Failure, HostError) as fault:
        if is_last:
            raise
        if vacating.is_asked(request):
            tell(f"wmcb: {fault}")


def asking_to_upgrade(request: Request, host: Host) -> Asking:
    """Raises Refused where no node is that joined."""
    for path in (KUBELET_CONF, ARGUMENTS_FILE):
        if host.files.observe(path) is None:
            raise Refused(
                f"this machine is no node that has joined a cluster of kubeadm's: there is no {path}; "
                f"{options.IGNITION.name} with another {options.KUBELET.name} upgrades a node of an Ignition",
                where=str(path),
            )
    registration = joined_node.registration(host)
    configuration = JoinConfiguration(
        Discovery(file=str(KUBELET_CONF)),
        registration,
        patches_directory=request.value(join_options.PATCHES, ""),
    )
    name = node_name(registration, host.facts.host_name())
    if request.has(options.DRY_RUN):
        vacating.tell_what_would_go(request, host, name)
    prepare = vacating.preparation(request, host, name)
    return Asking(ignored_checks(request), join=configuration, beside=True, prepare=prepare)


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
