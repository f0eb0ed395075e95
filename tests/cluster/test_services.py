"""The profile `services` on a Ready Node: the real kube-proxy.exe as a Windows service, as its node."""

from __future__ import annotations

import hashlib
import tarfile
import time
from typing import TYPE_CHECKING

import pytest

from cluster.test_join import Joiner, check_joined
from cluster.test_networks import SOON_SECONDS, expose, log, until_balanced
from lab import cni, kubernetes, repository
from lab.hns import Hns
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until
from windows.exe import SERVICE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cluster.conftest import Figure
    from lab.cluster.cluster import Cluster
    from lab.cluster.runtime import ContainerRuntime
    from lab.node import Node

PACKAGING = repository.ROOT / "packaging"
PROFILE = PACKAGING / "profiles" / "services.yaml"
DOCUMENT, DOWNLOADS = r"C:\given\node.yaml", r"C:\given\downloads"
OTHER_KUBELET = r"C:\given\kubelet.exe"
FLANNELD = r"C:\k\flanneld.exe"
PROXY_LOG = r"C:\var\log\kube-proxy\kube-proxy.log"
BELOW_FIRST = ("kubelet", "flanneld", "kube-proxy")

NETWORK = """---
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
networks:
- name: cbr0
  type: l2bridge
  address: 10.77.0.1
  subnets: [{prefix: 10.244.7.0/24, gateway: 10.244.7.1}]
"""
"""What flanneld would make: it cannot be had here, and a stand-in that only runs is in its place."""


def put_downloads(folder: Path) -> None:
    """What the profile fetches, under the names of the projects' own servers."""
    folder.mkdir(parents=True)
    (folder / "kube-proxy.exe").write_bytes((kubernetes.windows() / "kube-proxy.exe").read_bytes())
    with tarfile.open(folder / "cni-plugins-windows-amd64-v1.9.1.tgz", "w:gz", compresslevel=1) as packed:
        for plugin in cni.plugins().iterdir():
            packed.add(plugin, plugin.name)
    for file in list(folder.iterdir()):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        (folder / f"{file.name}.sha256").write_text(f"{digest}  {file.name}\n")


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Iterator[Joiner]:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    StandinKubelet(node, FLANNELD, address="127.0.0.1:8081")
    node.path(r"C:\opt\cni\bin").mkdir(parents=True)
    node.path(r"C:\opt\cni\bin\flannel.exe").write_bytes(b"MZ")
    put_downloads(node.path(DOWNLOADS))
    rights = str(PACKAGING / "manifests" / "services")
    cluster.kubectl("apply", "--server-side", "-k", rights)
    yield made
    cluster.kubectl("delete", "-k", rights)


def prepare(joiner: Joiner) -> None:
    joiner.machine.path(DOCUMENT).write_text(PROFILE.read_text().replace("win-1", joiner.name) + NETWORK)
    done = joiner.wmcb("prepare", "--node-config", DOCUMENT, "--artifacts", DOWNLOADS)
    assert done.code == 0, done.err


def processes(joiner: Joiner) -> list[int | None]:
    return [joiner.machine.wait_for_service(name, State.RUNNING).pid for name in BELOW_FIRST]


def test_kube_proxy_as_a_service_balances_again_when_hns_has_lost_all(joiner: Joiner, figure: Figure) -> None:
    node, cluster = joiner.machine, joiner.cluster
    hns = Hns(node)
    done = joiner.wmcb(*joiner.by_options())
    assert done.code == 0, done.err
    check_joined(joiner)
    prepare(joiner)
    address = expose(cluster, 80)
    until_balanced(hns, address)
    asked = cluster.requests(program="kube-proxy.exe")

    assert {each.user for each in asked} == {f"system:node:{joiner.name}"}
    assert [str(each) for each in asked if each.code not in (200, 201)] == []

    before = processes(joiner)
    other = node.copy_in(kubernetes.kubelet(), OTHER_KUBELET)
    other.write_bytes(other.read_bytes() + b"another one")
    upgraded = joiner.wmcb("upgrade", "--kubelet", OTHER_KUBELET)
    assert upgraded.code == 0, upgraded.err
    assert not set(processes(joiner)) & set(before), "all that lives by the kubelet was stopped meanwhile"
    until_balanced(hns, address)

    assert joiner.wmcb("daemon", "install").code == 0
    node.start_service(SERVICE)
    until(lambda: "keeping" in log(node), "the resident service has begun", SOON_SECONDS)
    node.power_off()
    hns.lose_networks()
    started = time.monotonic()
    node.boot()
    until_balanced(hns, address)
    figure(
        "a load balancer by kube-proxy as a service, after a start",
        time.monotonic() - started,
    )
    assert "Running kube-proxy as a Windows service!" in node.path(PROXY_LOG).read_text()

    gone = joiner.wmcb("reset", "--end-pods")
    assert gone.code == 0, gone.err
    assert [name for name in BELOW_FIRST if node.service(name) is not None] == []
