"""Routes to the pods of 50 Nodes, as these come, change and go in the real cluster."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

import pytest

from cluster.network_users import SOON_SECONDS, Users, configuration_of, log, put_downloads
from cluster.test_join import Joiner, check_joined
from lab import kubernetes, repository, routes
from lab.cluster.fleet import NODES
from lab.hns import Hns
from lab.waiting import until
from windows.exe import SERVICE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cluster.conftest import Figure
    from lab.cluster.cluster import Cluster
    from lab.cluster.runtime import ContainerRuntime
    from lab.node import Node

RIGHTS = str(repository.ROOT / "packaging" / "manifests" / "pod-network")
DOCUMENT, DOWNLOADS = r"C:\given\node.yaml", r"C:\given\downloads"
CNI = r"C:\etc\cni\net.d\10-l3.conf"
PROXY, KUBECONFIG = r"C:\proxy\kube-proxy.exe", r"C:\proxy\kubeconfig"
TEXT = rf"""apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
podNetwork:
  name: cbr0
  cniConfiguration: {{path: '{CNI}', notTranslated: [10.244.0.0/16]}}
"""
PROFILE = repository.ROOT / "packaging" / "profiles" / "l3-routing.yaml"
WITHIN = "within: [10.244.0.0/16"
PROXY_BESIDE = rf"""files:
- path: C:\proxy\kube-proxy.conf
  text: |
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    mode: kernelspace
    hostnameOverride: win1
    clientConnection: {{kubeconfig: {KUBECONFIG}}}
    winkernel: {{networkName: cbr0, rootHnsEndpointName: cbr0_ep}}
services:
- name: kube-proxy
  program: {PROXY}
  arguments: [--config=C:\proxy\kube-proxy.conf, --windows-service]
  reads: [{{file: C:\proxy\kube-proxy.conf}}]
  restartsWith: [hns]
"""
COUNT, ALONE, AT_ONCE = 50, 5, 8
FORWARDING = {"eth0": True, "eth0peer": True}
AT_MOST_SECONDS = 5.0
"""Meant is one second, as measured on a machine that was busy and not overloaded; there it takes longer."""
MEGABYTE = 1 << 20


def name_of(number: int) -> str:
    return f"other-{number}"


def route_to(number: int, address: int | None = None) -> str:
    return f"10.245.{number}.0/24 over 10.77.0.{address or 100 + number}"


class Others:
    """Nodes without machines."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def come(self, number: int) -> float:
        """When the API server has answered."""
        pods = f"10.245.{number}.0/24"
        addresses = [{"type": "InternalIP", "address": f"10.77.0.{100 + number}"}]
        node: dict[str, Any] = {
            "metadata": {"name": name_of(number)},
            "spec": {"podCIDR": pods, "podCIDRs": [pods]},
            "status": {"addresses": addresses},
        }
        self._cluster.api.create(NODES, node)
        return time.time()

    def moves(self, number: int, address: int) -> float:
        addresses = [{"type": "InternalIP", "address": f"10.77.0.{address}"}]
        self._cluster.api.patch(f"{NODES}/{name_of(number)}/status", {"status": {"addresses": addresses}})
        return time.time()

    def go(self, number: int) -> float:
        self._cluster.api.delete(f"{NODES}/{name_of(number)}")
        return time.time()


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Iterator[Joiner]:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    node.path(r"C:\given").mkdir()
    routes.install(node)
    cluster.kubectl("apply", "--server-side", "-k", RIGHTS)
    yield made
    cluster.kubectl("delete", "--ignore-not-found", "-k", RIGHTS)


AS_NODE = ("--as", "system:node:win9", "--as-group", "system:nodes", "--as-group", "system:authenticated")


def may(cluster: Cluster, verb: str, what: str) -> bool:
    try:
        return cluster.kubectl("auth", "can-i", verb, what, *AS_NODE).strip() == "yes"
    except RuntimeError:
        return False


def test_what_a_node_may_by_the_manifest_and_no_more(cluster: Cluster) -> None:
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete")
    asked = [
        (verb, what) for verb in verbs for what in ("nodes", "nodes/other", "pods", "secrets", "configmaps")
    ]
    before = {each for each in asked if may(cluster, *each)}
    cluster.kubectl("apply", "--server-side", "-k", RIGHTS)
    try:
        more = {each for each in asked if may(cluster, *each)} - before
    finally:
        cluster.kubectl("delete", "-k", RIGHTS)
    assert more == {(verb, what) for verb in ("list", "watch") for what in ("nodes", "nodes/other")}


def test_a_node_says_itself_what_its_pod_cidr_is(cluster: Cluster) -> None:
    """So a document says `within` which networks the cluster's pods are."""
    thing = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "win9"}}
    thing["spec"] = {"podCIDR": "10.96.0.0/12", "podCIDRs": ["10.96.0.0/12"]}
    cluster.kubectl("create", "-f", "-", *AS_NODE, stdin=json.dumps(thing))
    found = cluster.node("win9")
    assert found is not None
    assert found["spec"]["podCIDR"] == "10.96.0.0/12"


@contextmanager
def pod_network(joiner: Joiner, document: str) -> Iterator[Hns]:
    """With a network of its own, and no route yet."""
    node, hns = joiner.machine, Hns(joiner.machine)
    node.path(DOCUMENT).write_text(document)
    done = joiner.wmcb(*joiner.by_options(), "--node-config", DOCUMENT, "--artifacts", DOWNLOADS)
    assert done.code == 0, done.err
    pods = until(lambda: joiner.node()["spec"].get("podCIDR"), "the cluster gives it a podCIDR")
    # As Windows gives it to the adapter that it makes of the endpoint.
    address = (f"{IPv4Network(pods)[2]}/24", "dev", "eth0peer")
    subprocess.run(["ip", "addr", "add", *address], check=True)
    try:
        assert joiner.wmcb("daemon", "install").code == 0
        node.start_service(SERVICE)
        until(lambda: "by the Nodes" in log(node), "it is made", SOON_SECONDS, lambda: log(node))
        yield hns
    finally:
        subprocess.run(["ip", "addr", "del", *address], check=True)


@pytest.fixture
def routed(joiner: Joiner) -> Iterator[Hns]:
    with pod_network(joiner, TEXT) as hns:
        yield hns


def test_routes_follow_fifty_nodes(joiner: Joiner, routed: Hns, figure: Figure) -> None:
    """One test for all, since a Ready Node costs its time."""
    node, cluster = joiner.machine, joiner.cluster
    others = Others(cluster)
    assert routed.endpoint("cbr0_ep") is not None
    assert routes.forwarding(node) == FORWARDING
    with routes.seen(node) as seen, ThreadPoolExecutor(AT_ONCE) as pool:

        def come(answered: Mapping[int, float]) -> list[float]:
            wanted = {route_to(number): time for number, time in answered.items()}
            what = f"{len(wanted)} routes are there"
            until(lambda: seen.there >= set(wanted), what, SOON_SECONDS, lambda: (log(node), seen.there))
            return [(seen.since(name) or 0.0) - time for name, time in wanted.items()]

        def tell(what: str, taken: list[float]) -> None:
            figure(f"{what}, the median", statistics.median(taken))
            figure(f"{what}, the longest", max(taken))
            assert max(taken) < AT_MOST_SECONDS, (taken, log(node)[-3000:])

        alone, burst = range(1, ALONE + 1), range(ALONE + 1, COUNT + 1)
        taken = [come({number: others.come(number)}) for number in alone]
        tell("a route after one Node has come", [each for (each,) in taken])
        cluster.forget_requests()
        begun = dict(zip(burst, pool.map(others.come, burst), strict=True))
        tell(f"a route after {len(burst)} Nodes have come at once", come(begun))
        traffic = cluster.traffic()["wmcb.exe"]
        figure("bytes for each Node that comes", (traffic.sent + traffic.received) / len(burst), "B")
        assert cluster.requests(program="wmcb") == []
        (service,) = node.processes("wmcb.exe")
        figure(f"resident, with {COUNT} Nodes", service.resident_bytes / MEGABYTE, "MB")

        moved = others.moves(1, 201)
        until(lambda: seen.since(route_to(1, 201)), "a route over another address", SOON_SECONDS)
        assert route_to(1) not in seen.there
        tell("a route after a Node has another address", [(seen.since(route_to(1, 201)) or 0.0) - moved])

        cluster.forget_requests()
        went = dict(zip(burst, pool.map(others.go, burst), strict=True))
        until(lambda: len(seen.there) == ALONE, "the others are gone", SOON_SECONDS, lambda: seen.there)
        tell(
            f"no route after {len(burst)} Nodes have gone at once",
            [(seen.gone_at(route_to(number)) or 0.0) - time for number, time in went.items()],
        )
        traffic = cluster.traffic()["wmcb.exe"]
        figure("bytes for each Node that goes", (traffic.sent + traffic.received) / len(burst), "B")

    left = {route_to(1, 201): 256, **{route_to(number): 256 for number in alone if number != 1}}
    assert routes.made(node) == left
    cluster.stop_api_server()
    joiner.reboot()
    until(lambda: routes.made(node) == left, "all is there again without a cluster", SOON_SECONDS)
    until(lambda: routes.forwarding(node) == FORWARDING, "it forwards again", SOON_SECONDS, lambda: log(node))
    cluster.start_api_server()
    others.go(2)
    del left[route_to(2)]
    until(lambda: routes.made(node) == left, "it follows again", SOON_SECONDS, lambda: log(node))
    assert joiner.wmcb("reset", "--end-pods").code == 0
    assert (dict(routes.made(node)), routed.networks, routed.endpoints) == ({}, [], [])


def test_a_service_and_a_pod_have_a_network_again_whatever_hns_has_lost(
    joiner: Joiner, figure: Figure
) -> None:
    node, cluster = joiner.machine, joiner.cluster
    put_downloads(node.path(DOWNLOADS))
    node.copy_in(kubernetes.windows() / "kube-proxy.exe", PROXY)
    cluster.kubeconfig(node.path(KUBECONFIG), "system:kube-proxy", [])
    Others(cluster).come(1)
    profile = PROFILE.read_text().replace(WITHIN, f"{WITHIN}, 10.245.0.0/16")
    with pod_network(joiner, profile + PROXY_BESIDE) as hns:
        check_joined(joiner)
        there = {route_to(1): 256}
        until(lambda: routes.made(node) == there, "there is a route", SOON_SECONDS, lambda: log(node))
        users = Users(joiner, hns, configuration_of(node, CNI))
        users.until_balanced()
        users.outlive_a_crash(figure, "L3")
        users.outlive_a_start(figure, "L3")
        assert (routes.made(node), routes.forwarding(node)) == (there, FORWARDING)
        check_joined(joiner)
        assert joiner.wmcb("reset", "--end-pods").code == 0
        assert (hns.networks, hns.load_balancers, dict(routes.made(node))) == ([], [], {})
