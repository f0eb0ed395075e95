"""What of a node is elsewhere than among the things that wmcb made: its Node, its pods, their network."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli import options
from agent.cli.failure import BadInput, BadUsage, Failure
from agent.cli.streams import tell
from agent.cli.wording import many
from agent.host.errors import HostError, NotFound, TimedOut
from agent.resources.trees import remove_tree
from agent.sources.kubelet.placement import ARGUMENTS_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.cli.arguments import Request
    from agent.cli.given import GivenFile
    from agent.host.port import Host
    from agent.kube.client import Client
    from agent.kube.kubeconfig import Kubeconfig

_PATIENCE = 60.0
_END_SECONDS = 10.0

_SHIM = "containerd-shim-runhcs-v1.exe"
_SHIMS_OF_PODS = PureWindowsPath(r"containerd\state\io.containerd.runtime.v2.task\k8s.io")
"""In ProgramData, where containerd keeps them unless its configuration says otherwise: a folder for each
task, and in that of a pod its shim's process id. What other programs have containerd run is beside it."""
_CNI_STATE = PureWindowsPath(r"C:\var\lib\cni")
_CNI_CONFIGURATION = PureWindowsPath(r"C:\etc\cni\net.d")


class Leaving:
    """Of one reset."""

    def __init__(self, request: Request, host: Host) -> None:
        """Raises BadUsage."""
        if request.has(options.DELETE_AS) and not request.has(options.DELETE_NODE):
            raise BadUsage(
                f"{options.DELETE_AS.name} goes with {options.DELETE_NODE.name}", where=options.DELETE_AS.name
            )
        self._request = request
        self._host = host
        self._ends_pods = request.has(options.END_PODS)
        self._deletes_node = request.has(options.DELETE_NODE)
        self._name = _node_name(host)

    def check(self) -> None:
        """Before anything is changed. Raises Failure for a Node that could not be deleted."""
        if self._deletes_node and not self._name:
            _notice("warning: which Node this machine was is not known here (any more): none is deleted")
        elif self._deletes_node:
            self._delete(only_try=True)

    def foreseen(self) -> Iterator[str]:
        if self._deletes_node and self._name:
            yield f"would delete the Node {self._name}"
        if self._ends_pods:
            yield f"would end {many(len(_shims(self._host)), 'pod')} of containerd's, and remove {_CNI_STATE}"

    def when_stopped(self) -> None:
        """The kubelet would start pods anew, and keeps its Node where it is. Raises Failure and HostError."""
        if self._ends_pods:
            _end(self._host, _shims(self._host))
            with suppress(NotFound):
                remove_tree(self._host.files, _CNI_STATE)
        if self._deletes_node and self._name:
            self._delete(only_try=False)
            _notice(f"the Node {self._name} is deleted")

    def left(self) -> Iterator[str]:
        """A line for each thing that stays."""
        files = self._host.files
        if self._name and not self._deletes_node:
            yield f"the Node {self._name} stays in the cluster: kubectl delete node {self._name}"
        if shims := _shims(self._host):
            yield f"{many(len(shims), 'pod')} of containerd's goes on; {options.END_PODS.name} ends such"
        with suppress(HostError):
            if files.observe(_CNI_STATE) is not None:
                yield f"{_CNI_STATE} stays: the addresses that pods have"
        with suppress(HostError):
            if files.observe(_CNI_CONFIGURATION) is not None:
                yield f"{_CNI_CONFIGURATION} and the networks made of it stay, as after kubeadm reset"

    def _delete(self, *, only_try: bool) -> None:
        from agent.kube.client import node
        from agent.kube.failure import Failed, Forbidden
        from agent.kube.failure import NotFound as NoSuchNode

        with self._client() as client:
            try:
                client.delete(node(self._name), only_try=only_try)
            except NoSuchNode:
                return
            except Forbidden as fault:
                raise Failure(f"{fault}; {self._advice()}") from fault
            except Failed as fault:
                raise Failure(f"the Node {self._name} cannot be deleted: {fault}") from fault

    def _advice(self) -> str:
        own = "" if self._request.has(options.DELETE_AS) else "most clusters do not let a kubelet do that; "
        return (
            f"{own}give {options.DELETE_AS.name} of who may, or leave {options.DELETE_NODE.name} out "
            f"and run kubectl delete node {self._name} elsewhere"
        )

    @contextmanager
    def _client(self) -> Iterator[Client]:
        from agent.cli.join_cluster import as_node

        if self._request.has(options.DELETE_AS):
            with self._client_of_given() as client:
                yield client
            return
        with as_node(self._host, _PATIENCE, _notice) as own:
            if own is None:
                raise Failure(
                    f"the Node {self._name} cannot be deleted: this machine has no credentials of its own; "
                    f"give {options.DELETE_AS.name} of somebody who may"
                )
            yield own

    @contextmanager
    def _client_of_given(self) -> Iterator[Client]:
        import os

        from agent.cli.given import given_file
        from agent.fetch.proxies import of_environment
        from agent.kube import kubeconfig
        from agent.kube.client import Client
        from agent.kube.failure import NotUsable
        from agent.kube.limits import Limits

        file = given_file(self._request, options.DELETE_AS, self._host)
        try:
            config = kubeconfig.read(file.read(), file.shown).embedded(file.from_here)
            access = config.access(file.from_here)
        except NotUsable as fault:
            raise BadInput(f"{options.DELETE_AS.name} {fault}", where=options.DELETE_AS.name) from fault
        self._check_cluster(config, file)
        limits = Limits(patience=_PATIENCE)
        with Client(access, proxies=of_environment(os.environ), limits=limits, notice=_notice) as client:
            yield client

    def _check_cluster(self, given: Kubeconfig, file: GivenFile) -> None:
        """Another cluster may have a Node of that name, too."""
        from agent.cli.join_cluster import own_kubeconfig, pins_of
        from agent.kube.failure import NotUsable

        try:
            own = own_kubeconfig(self._host)
        except NotUsable:
            return
        known = pins_of(own) if own else set()
        named = pins_of(given)
        if known and named and known.isdisjoint(named):
            raise file.objection("it is of another cluster than the one that this machine is a node of")


def _node_name(host: Host) -> str:
    """Empty where this is no node that has joined."""
    try:
        if host.files.observe(ARGUMENTS_FILE) is None:
            return ""
        from agent.cli import joined_node

        return joined_node.name(host)
    except (Failure, HostError):
        return ""


def _shims(host: Host) -> Sequence[int]:
    """Of pods that run."""
    folder = host.facts.program_data() / _SHIMS_OF_PODS
    try:
        tasks = host.files.list(folder)
    except HostError:
        return ()
    noted = set()
    for task in tasks:
        with suppress(HostError, ValueError):
            noted.add(int(host.files.read(folder / task / "shim.pid", 20)))
    # What has ended may have left its number to some other program.
    running = {each.pid for each in host.processes.list() if each.program and _is_shim(each.program)}
    return sorted(noted & running)


def _is_shim(program: PureWindowsPath) -> bool:
    return program.name.lower() == _SHIM


def _end(host: Host, shims: Sequence[int]) -> None:
    for pid in shims:
        with suppress(NotFound):
            host.processes.end(pid)
    for pid in shims:
        with suppress(NotFound, TimedOut):
            host.processes.wait(pid, _END_SECONDS)


def _notice(line: str) -> None:
    tell(f"wmcb: {line}")
