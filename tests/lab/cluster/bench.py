"""A join by wmcb beside one by kubeadm.exe: same machine, same cluster, same run."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import kubernetes
from lab.cluster.cluster import Cluster
from lab.cluster.control_plane import ControlPlane
from lab.cluster.kubelet_node import SERVICE, KubeletNode
from lab.cluster.runtime import ContainerRuntime
from lab.means import Missing
from lab.node import Node
from lab.running import Result
from lab.waiting import until

_ROUNDS = 5
_ENVIRONMENT = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
_LEFT_BY_KUBEADM = (r"C:\etc", r"C:\var")


class Joins:
    """Seconds of each round, by what was done."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = {}

    def median(self, what: str) -> float:
        return statistics.median(self.taken[what])


BY_KUBEADM, DOWNLOADED, INSTALLED = "kubeadm.exe join", "wmcb join, downloaded", "wmcb join, installed"


@contextmanager
def with_a_cluster(node: Node) -> Iterator[tuple[ControlPlane, KubeletNode]]:
    """The node beside a control plane and a container runtime; it is no node of the cluster."""
    control_plane = ControlPlane(kubernetes.linux())
    control_plane.start()
    cluster = Cluster(control_plane, "bench")
    cluster.begin()
    with tempfile.TemporaryDirectory() as folder:
        runtime = ContainerRuntime(Path(folder))
        runtime.start()
        machine = KubeletNode(cluster, runtime, node)
        machine.install()
        _find_programs(node)
        node.delete_service(SERVICE)
        yield control_plane, machine
        runtime.stop()
    control_plane.stop()


def _find_programs(node: Node) -> None:
    """As PrepareNode.ps1 does: kubeadm's preflight asks the kubelet for its version."""
    environment = node.registry(_ENVIRONMENT)
    assert environment is not None
    path = rf"{environment['Path'].data!s};C:\k"
    added = node.run("reg.exe", "add", _ENVIRONMENT, "/v", "Path", "/t", "REG_EXPAND_SZ", "/d", path, "/f")
    if added.code != 0:
        raise Missing(f"the machine's Path cannot be set: {added.err}")


def measure(machine: KubeletNode, downloaded: str, installed: str) -> Joins:
    """On a node with both copies of wmcb; it is no node of a cluster before and after."""
    joins = Joins()
    ways: dict[str, Callable[[], float]] = {
        BY_KUBEADM: lambda: _by_kubeadm(machine),
        DOWNLOADED: lambda: _by_wmcb(machine, downloaded),
        INSTALLED: lambda: _by_wmcb(machine, installed),
    }
    for each in range(_ROUNDS + 1):
        for what, join in ways.items():
            seconds = join()
            if each:  # what is read from the disk is read by then
                joins.taken.setdefault(what, []).append(seconds)
    return joins


def _by_kubeadm(machine: KubeletNode) -> float:
    machine.register()
    seconds = _seconds(machine.join())
    machine.stop()
    machine.machine.delete_service(SERVICE)
    for folder in _LEFT_BY_KUBEADM:
        shutil.rmtree(machine.machine.path(folder))
    _forget(machine)
    return seconds


def _by_wmcb(machine: KubeletNode, program: str) -> float:
    cluster = machine.cluster
    # Wine has no containerd, and no named pipes as gRPC wants them.
    runtime = ("--cri-socket", machine.runtime.endpoint, "--runtime-service", "none")
    trust = ("--token", cluster.fresh_bootstrap_token(), "--discovery-token-ca-cert-hash", cluster.ca_hash)
    seconds = _seconds(machine.machine.run(program, "join", cluster.address, *trust, *runtime))
    _seconds(machine.machine.run(program, "reset"))
    _forget(machine)
    return seconds


def _forget(machine: KubeletNode) -> None:
    """Of the Node, so that the next one is a new one."""
    until(lambda: not machine.machine.processes("kubelet.exe"), "the kubelet has ended")
    machine.cluster.forget_node(machine.name)


def _seconds(done: Result) -> float:
    if done.code != 0:
        raise Missing(f"a join or reset failed: {done.err}")
    return done.seconds
