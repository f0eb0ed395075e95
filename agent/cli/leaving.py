"""What of a node is elsewhere than among the things that wmcb made: its Node, its pods, their network; and
services that go although others may need them.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PureWindowsPath

from agent.cli import joined_node, options
from agent.cli.arguments import Request
from agent.cli.asking import Notice
from agent.cli.command_line import option_here
from agent.cli.failure import BadInput, Failure, Refused
from agent.cli.given import GivenFile, given_file
from agent.cli.join_cluster import as_node, own_kubeconfig, pins_of
from agent.cli.streams import many
from agent.engine import run as engine
from agent.engine.state_folder import StateFolder
from agent.fetch.address import of_environment
from agent.host.errors import HostError, NotFound, TimedOut, Unsupported
from agent.host.port import Host
from agent.kube import kubeconfig
from agent.kube.client import Client, node
from agent.kube.failure import Failed, Forbidden, NotUsable
from agent.kube.failure import NotFound as NoSuchNode
from agent.kube.kubeconfig import Kubeconfig
from agent.kube.transport import Limits
from agent.private_keys import key_files
from agent.resources import kind_named
from agent.resources.container_program import SHIM
from agent.resources.hns import delete_all
from agent.resources.kind import pausable
from agent.resources.service import ask_shared_to_stop, running_by_need
from agent.resources.trees import remove_tree
from agent.sources.kubeadm.model import KUBELET_CONF
from agent.sources.kubelet.folders import ARGUMENTS_FILE
from agent.sources.node_names import name_in_title
from agent.spec import Service

_KUBELET = "kubelet"
_PATIENCE = 60.0
_END_SECONDS = 10.0

_SHIMS_OF_PODS = PureWindowsPath(r"containerd\state\io.containerd.runtime.v2.task\k8s.io")
"""In ProgramData, where containerd keeps them unless its configuration says otherwise: a folder for each
task, and in that of a pod its shim's process id. What other programs have containerd run is beside it."""
_CNI_STATE = PureWindowsPath(r"C:\var\lib\cni")
_KUBEADM_TMP = PureWindowsPath(r"C:\etc\kubernetes\tmp")
"""Where kubeadm.exe keeps what it saved and generated; wmcb puts nothing there."""
_CNI_CONFIGURATION = PureWindowsPath(r"C:\etc\cni\net.d")
_STOP_SECONDS = 60.0


class Leaving:
    """Of one reset."""

    def __init__(self, request: Request, host: Host, notice: Notice) -> None:
        self._request = request
        self._host = host
        self._notice = notice
        self._ends_pods = request.has(options.END_PODS)
        self._deletes_node = request.has(options.DELETE_NODE)
        self._deletes_networks = request.has(options.ALL_HNS)
        self._cleans_tmp = request.has(options.CLEAN_TMP)
        self._is_cut_off = engine.interrupted(host) is not None
        self._lost: list[str] = []
        self._name, self._no_name = _node_name(host)

    def check(self) -> None:
        """Before anything is changed. Raises Failure for a Node that could not be deleted."""
        if not self._deletes_node:
            return
        self._check_name()
        if self._name and self._is_cut_off and not self._has_credentials():
            # They went with the rest, after the Node.
            self._deletes_node = False
        elif self._name:
            self._delete(only_try=True)
        else:
            before = ", unless the run that was cut off did so" if self._is_cut_off else ""
            self._notice(f"warning: which Node this machine was is not known here: none is deleted{before}")

    def foreseen(self) -> Iterator[str]:
        """Of a reset that finds something to do, beside what it does in any case. Raises Failure."""
        if self._deletes_node:
            self._check_name()
        if self._deletes_node and self._name:
            yield f"would delete the Node {self._name}"
        if self._ends_pods:
            yield f"would end {many(len(_shims(self._host)), 'pod')} of containerd's, and remove {_CNI_STATE}"

    def foreseen_anyhow(self) -> Iterator[str]:
        if self._cleans_tmp and self._has_tmp():
            yield f"would remove {_KUBEADM_TMP}"
        if self._deletes_networks and (networks := _networks(self._host)):
            yield f"would delete all that is in HNS: {', '.join(networks)}"

    def when_stopped(self) -> None:
        """The kubelet would start pods anew, and keeps its Node where it is. Raises Failure and HostError.

        What may be refused comes first: nothing of this can be given back.
        """
        if self._deletes_node and self._name:
            self._delete(only_try=False)
            self._notice(f"the Node {self._name} is deleted")
            self._lost.append(f"but the Node {self._name} was deleted, and its kubelet registers it anew")
        if self._ends_pods and (shims := _shims(self._host)):
            self._lost.append(
                f"but {many(len(shims), 'pod')} of containerd's had to end; the kubelet starts its own"
            )
            _end(self._host, shims)
        if self._ends_pods:
            self._forget_addresses()

    def _has_tmp(self) -> bool:
        with suppress(HostError):
            return self._host.files.observe(_KUBEADM_TMP) is not None
        return False

    def _clean_tmp(self) -> bool:
        """Remove the folder, or warn; return whether it is gone."""
        try:
            remove_tree(self._host.files, _KUBEADM_TMP)
        except HostError as fault:
            self._notice(f"warning: {fault}")
            return False
        return True

    def _forget_addresses(self) -> None:
        """Now that no pod has any: the folders that this lies in go with the rest."""
        try:
            remove_tree(self._host.files, _CNI_STATE)
        except NotFound:
            return
        except HostError as fault:
            self._notice(f"warning: {fault}")
        self._lost.append(f"but {_CNI_STATE} was removed: the addresses that pods had")

    def when_done(self) -> Iterator[str]:
        """Remove what others made, also from a machine with nothing of wmcb's; yield a line for each.

        It is no part of the run and cannot be given back: nothing else may fail any more.
        """
        if self._cleans_tmp and self._has_tmp() and self._clean_tmp():
            yield f"{_KUBEADM_TMP} is removed"
        if self._deletes_networks:
            networks = _networks(self._host)
            if self._delete_networks() and networks:
                yield f"what was in HNS is deleted: {', '.join(networks)}"

    def _delete_networks(self) -> bool:
        """Delete what is in HNS, or warn; return whether that succeeded."""
        try:
            delete_all(self._host)
        except Unsupported:
            return False  # then there is none
        except HostError as fault:
            self._notice(f"warning: {fault}")
            return False
        return True

    def lost(self) -> Sequence[str]:
        """What a reset that is taken back does not give back."""
        return self._lost

    def left(self) -> Iterator[str]:
        """A line for each thing that stays."""
        files = self._host.files
        if self._name and self._has_former_kubelet():
            former = "the kubelet that was here before wmcb stays"
            again = f"{former}, and makes the Node {self._name} anew when its service {_KUBELET} is restarted"
            yield again if self._deletes_node else f"{former}, as the Node {self._name}"
        elif self._name and not self._deletes_node:
            before = ", unless the run that was cut off deleted it" if self._is_cut_off else ""
            yield f"the Node {self._name} stays in the cluster{before}: kubectl delete node {self._name}"
        yield from self.pods_left()
        with suppress(HostError):
            if files.observe(_CNI_STATE) is not None:
                yield f"{_CNI_STATE} stays: the addresses that pods have"
        if networks := _networks(self._host):
            others = ", ".join(networks)
            all_hns = option_here(self._request, options.ALL_HNS)
            yield f"in HNS stays what others made: {others}; {all_hns} deletes it"
        with suppress(HostError):
            if files.observe(_CNI_CONFIGURATION) is not None:
                yield f"{_CNI_CONFIGURATION} and the networks made of it stay, as after kubeadm reset"

    def pods_left(self) -> Iterator[str]:
        """Their logs are open, and the folders that these are in cannot be taken away."""
        if shims := _shims(self._host):
            go_on = "go on, with their logs open" if shims[1:] else "goes on, with its logs open"
            yield f"{many(len(shims), 'pod')} of containerd's {go_on}; {options.END_PODS.name} ends such"

    def _has_former_kubelet(self) -> bool:
        """Somebody else had made this the Node: a reset gives that back, or an audit's fixes were all."""
        with suppress(HostError):
            has_credentials = self._host.files.observe(KUBELET_CONF) is not None
            return has_credentials and self._host.services.read(_KUBELET) is not None
        return False

    def _check_name(self) -> None:
        if self._request.has(options.DELETE_AS):
            given_file(self._request, options.DELETE_AS, self._host)
        if not (self._name or self._no_name or self._is_cut_off) and _has_memory(self._host):
            raise Refused(
                "which Node is to be deleted is not known: this machine has not joined a cluster of "
                f"kubeadm's; leave {options.DELETE_NODE.name} out, and run kubectl delete node elsewhere",
                where=options.DELETE_NODE.name,
            )
        if self._no_name is not None:
            raise Failure(
                f"which Node is to be deleted is not known: {self._no_name}; or leave "
                f"{options.DELETE_NODE.name} out, and run kubectl delete node elsewhere"
            ) from self._no_name

    def _has_credentials(self) -> bool:
        if self._request.has(options.DELETE_AS):
            return True
        try:
            return own_kubeconfig(self._host) is not None
        except NotUsable:
            return False

    def _delete(self, *, only_try: bool) -> None:
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
        if self._request.has(options.DELETE_AS):
            with self._client_of_given() as client:
                yield client
            return
        with as_node(self._host, _PATIENCE, self._notice) as own:
            if own is None:
                raise Failure(
                    f"the Node {self._name} cannot be deleted: this machine has no credentials of its own; "
                    f"give {options.DELETE_AS.name} of somebody who may"
                )
            yield own

    @contextmanager
    def _client_of_given(self) -> Iterator[Client]:
        file = given_file(self._request, options.DELETE_AS, self._host)
        try:
            config = kubeconfig.read(file.read(), file.shown).embedded(file.from_here)
            access = config.access(file.from_here, key_files(self._host))
            self._check_cluster(config, file)
        except NotUsable as fault:
            raise BadInput(f"{options.DELETE_AS.name} {fault}", where=options.DELETE_AS.name) from fault
        limits = Limits(patience=_PATIENCE)
        with Client(access, proxies=of_environment(os.environ), limits=limits, notice=self._notice) as client:
            yield client

    def _check_cluster(self, given: Kubeconfig, file: GivenFile) -> None:
        """Another cluster may have a Node of that name, too. Raises NotUsable, of what is given."""
        try:
            own = own_kubeconfig(self._host)
            known = pins_of(own) if own else set()
        except NotUsable:
            return
        named = pins_of(given)
        if known and named and known.isdisjoint(named):
            raise file.objection("it is of another cluster than the one that this machine is a node of")


def end_pods(host: Host) -> int:
    """Those that containerd runs of Kubernetes'; how many they were. Raises HostError."""
    shims = _shims(host)
    _end(host, shims)
    return len(shims)


def check_options(request: Request) -> None:
    """Raises BadUsage."""
    if request.has(options.DELETE_AS) and not request.has(options.DELETE_NODE):
        raise options.DELETE_AS.misused(f" goes with {options.DELETE_NODE.name}")


def _networks(host: Host) -> Sequence[str]:
    """Names of container networks."""
    try:
        return [each.name for each in host.networks.list()]
    except HostError:
        return ()


def _has_memory(host: Host) -> bool:
    """Of anything that was made here."""
    return host.files.observe(StateFolder.of(host).inventory) is not None


def _node_name(host: Host) -> tuple[str, Exception | None]:
    """Empty where this is no node that has joined, or, with the reason, where it does not say which."""
    try:
        if host.files.observe(ARGUMENTS_FILE) is not None:
            return joined_node.name(host), None
        # A reset that was cut off may have removed that file already.
        return name_in_title(engine.title(host)), None
    except (Failure, HostError) as fault:
        return "", fault


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
    return program.name.lower() == SHIM


def _end(host: Host, shims: Sequence[int]) -> None:
    for pid in shims:
        with suppress(NotFound):
            host.processes.end(pid)
    for pid in shims:
        with suppress(NotFound, TimedOut):
            host.processes.wait(pid, _END_SECONDS)


def remove_services(host: Host, names: Collection[str]) -> None:
    """What runs and needs one of them is stopped first, and stays where it is not among them."""
    running = pausable(kind_named(Service.kind))
    assert running is not None
    going = {name.upper() for name in names}
    for name in _dependents_first(host, names):
        if name.upper() in going:
            running.pause(host, name, {})
        else:
            # It is only asked: its process may be others' as well.
            ask_shared_to_stop(host, name, _STOP_SECONDS)
    for name in names:
        host.services.delete(name)


def _dependents_first(host: Host, names: Collection[str]) -> Iterator[str]:
    """Windows stops no service while another one that needs it runs."""
    dependents = running_by_need(host)
    met: set[str] = set()

    def before(name: str) -> Iterator[str]:
        if name.upper() not in met:
            met.add(name.upper())
            for other in dependents.get(name.upper(), ()):
                yield from before(other)
            yield name

    for name in names:
        yield from before(name)
