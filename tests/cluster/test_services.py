"""The profile `services` on a Ready Node: the real kube-proxy.exe as a Windows service, as its node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.conftest import Figure
from cluster.network_users import Users, delegated, put_downloads
from cluster.test_join import Joiner, check_joined
from lab import kubernetes, programs, repository, wine
from lab.cluster.cluster import Cluster
from lab.cluster.runtime import ContainerRuntime
from lab.hns import Hns
from lab.node import Node
from lab.services import State

PACKAGING = repository.ROOT / "packaging"
PROFILE = PACKAGING / "profiles" / "services.yaml"
DOCUMENT, DOWNLOADS = r"C:\given\node.yaml", r"C:\given\downloads"
OTHER_KUBELET = r"C:\given\kubelet.exe"
FLANNELD = r"C:\k\flanneld.exe"
PROXY_LOG = r"C:\var\log\kube-proxy\kube-proxy.log"
BELOW_FIRST = ("kubelet", "flanneld", "kube-proxy")


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Iterator[Joiner]:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    node.copy_in(wine.outside(programs.PLACE) / "hns.exe", FLANNELD)
    node.path(r"C:\opt\cni\bin").mkdir(parents=True)
    node.path(r"C:\opt\cni\bin\flannel.exe").write_bytes(b"MZ")
    put_downloads(node.path(DOWNLOADS))
    rights = str(PACKAGING / "manifests" / "services")
    cluster.kubectl("apply", "--server-side", "-k", rights)
    yield made
    cluster.kubectl("delete", "-k", rights)


def prepare(joiner: Joiner) -> None:
    joiner.machine.path(DOCUMENT).write_text(PROFILE.read_text().replace("win-1", joiner.name))
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
    users = Users(joiner, hns, delegated(node))
    users.try_the_bridges_address()
    users.until_balanced()
    asked = cluster.requests(program="kube-proxy.exe")

    assert {each.user for each in asked} == {f"system:node:{joiner.name}"}
    assert [str(each) for each in asked if each.code not in (200, 201)] == []

    before = processes(joiner)
    other = node.copy_in(kubernetes.kubelet(), OTHER_KUBELET)
    other.write_bytes(other.read_bytes() + b"another one")
    upgraded = joiner.wmcb("upgrade", "--kubelet", OTHER_KUBELET)
    assert upgraded.code == 0, upgraded.err
    assert not set(processes(joiner)) & set(before), "all that lives by the kubelet was stopped meanwhile"
    users.until_balanced()

    users.begin_keeping()
    users.outlive_a_crash(figure, "services")
    users.outlive_a_start(figure, "services", with_endpoint="cbr0_ep")
    assert "Running kube-proxy as a Windows service!" in node.path(PROXY_LOG).read_text()

    gone = joiner.wmcb("reset", "--end-pods")
    assert gone.code == 0, gone.err
    assert [name for name in BELOW_FIRST if node.service(name) is not None] == []
