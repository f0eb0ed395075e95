"""Routes to the pods of 50 Nodes, as these come, change and go in the real cluster."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from cluster.conftest import Figure
from cluster.network_users import (
    SOON_SECONDS,
    PodOfAnotherPlugIn,
    Users,
    configuration_of,
    log,
    put_downloads,
)
from cluster.test_join import Joiner, check_joined
from lab import kubernetes, repository, routes
from lab.cluster.cluster import Cluster
from lab.cluster.pod_routes import COUNT, RIGHTS, Following, Others, pod_network, route_to
from lab.cluster.runtime import ContainerRuntime
from lab.hns import Hns
from lab.node import Node
from lab.waiting import until

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
TRANSPARENT = """apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
podNetwork: {name: cbr0, type: transparent, adapter: eth0peer, within: [10.244.0.0/16, 10.245.0.0/16]}
"""
FORWARDING = {"eth0": True, "eth0peer": True}
AT_MOST_SECONDS = 30.0
BY_A_PERSON = """
import sys
sys.path.insert(0, r"Z:\\repo")
from agent.host.networks import Route
from agent.host.windows.machine import open_windows
open_windows().routes.add(Route(*sys.argv[1:], 7))
"""
MEGABYTE = 1 << 20


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

    def more() -> set[tuple[str, str]]:
        return {each for each in asked if may(cluster, *each)} - before

    given = {(verb, what) for verb in ("list", "watch") for what in ("nodes", "nodes/other")}
    cluster.kubectl("apply", "--server-side", "-k", RIGHTS)
    try:
        until(lambda: more() == given, "the API server goes by the manifest", explain=more)
    finally:
        cluster.kubectl("delete", "-k", RIGHTS)


def test_a_node_says_itself_what_its_pod_cidr_is(cluster: Cluster) -> None:
    """So a document says `within` which networks the cluster's pods are."""
    thing = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "win9"}}
    thing["spec"] = {"podCIDR": "10.96.0.0/12", "podCIDRs": ["10.96.0.0/12"]}
    cluster.kubectl("create", "-f", "-", *AS_NODE, stdin=json.dumps(thing))
    found = cluster.node("win9")
    assert found is not None
    assert found["spec"]["podCIDR"] == "10.96.0.0/12"


@contextmanager
def routed(joiner: Joiner, document: str, *options: str) -> Iterator[Hns]:
    """With a network of its own, and no route yet."""

    def wmcb(*words: str) -> None:
        done = joiner.wmcb(*words)
        assert done.code == 0, done.err

    joiner.machine.path(DOCUMENT).write_text(document)
    with pod_network(joiner, wmcb, "--node-config", DOCUMENT, *options) as hns:
        yield hns


def test_routes_follow_fifty_nodes(joiner: Joiner, figure: Figure) -> None:
    """One test for all, since a Ready Node costs its time."""
    node, cluster = joiner.machine, joiner.cluster
    with routed(joiner, TEXT) as hns:
        assert hns.endpoint("cbr0_ep") is not None
        assert routes.forwarding(node) == FORWARDING
        following = Following(joiner)
        for change in following.changes():
            figure(f"routes after {change.what}, the median", statistics.median(change.seconds))
            figure(f"routes after {change.what}, the longest", change.longest)
            figure(f"bytes for each Node when {change.what}", change.bytes_each, "B")
            # The bench says how long it takes where nothing else runs.
            assert change.longest < AT_MOST_SECONDS, (change, log(node)[-3000:])
        figure(f"resident, with {COUNT} Nodes", following.resident_bytes / MEGABYTE, "MB")

        left = dict(following.left)
        assert routes.made(node) == left
        cluster.stop_api_server()
        joiner.reboot()
        until(lambda: routes.made(node) == left, "all is there again without a cluster", SOON_SECONDS)
        until(
            lambda: routes.forwarding(node) == FORWARDING,
            "it forwards again",
            SOON_SECONDS,
            lambda: log(node),
        )
        cluster.start_api_server()
        Others(cluster).go(2)
        del left[route_to(2)]
        until(lambda: routes.made(node) == left, "it follows again", SOON_SECONDS, lambda: log(node))

        # What a person has made stays as it is, also where a Node comes with the same pods.
        persons = route_to(8, 222)
        by_hand = node.python("-c", BY_A_PERSON, *persons.split(" over "))
        assert by_hand.code == 0, by_hand.err
        for number in (8, 9):
            Others(cluster).come(number)
        left |= {persons: 7, route_to(9): 256}
        until(
            lambda: routes.made(node) == left, "there is a route to the last", SOON_SECONDS, lambda: log(node)
        )
        assert joiner.wmcb("reset", "--end-pods").code == 0
        assert (dict(routes.made(node)), hns.networks, hns.endpoints) == ({persons: 7}, [], [])


def bridge(node: Node, hns: Hns, joiner: Joiner) -> Users:
    return Users(joiner, hns, configuration_of(node, CNI))


def second_card(node: Node, hns: Hns, joiner: Joiner) -> Users:  # noqa: ARG001 - as above
    network = hns.network("cbr0")
    assert network is not None
    (policy,) = network["Policies"]
    assert (network["Type"], policy["Settings"]) == ("Transparent", {"NetworkAdapterName": "eth0peer"})
    return Users(joiner, hns, {"name": "cbr0"}, PodOfAnotherPlugIn)


WAYS: Mapping[str, tuple[str, Callable[[Node, Hns, Joiner], Users]]] = {
    "a bridge, by the profile": (PROFILE.read_text().replace(WITHIN, f"{WITHIN}, 10.245.0.0/16"), bridge),
    "a card of the pods' own": (TRANSPARENT, second_card),
}


@pytest.mark.parametrize(("document", "users_of"), WAYS.values(), ids=WAYS)
def test_a_service_and_a_pod_have_a_network_again_whatever_hns_has_lost(
    joiner: Joiner, figure: Figure, document: str, users_of: Callable[[Node, Hns, Joiner], Users]
) -> None:
    node, cluster = joiner.machine, joiner.cluster
    put_downloads(node.path(DOWNLOADS))
    node.copy_in(kubernetes.windows() / "kube-proxy.exe", PROXY)
    cluster.kubeconfig(node.path(KUBECONFIG), "system:kube-proxy", [])
    Others(cluster).come(1)
    with routed(joiner, document + PROXY_BESIDE, "--artifacts", DOWNLOADS) as hns:
        check_joined(joiner)
        there = {route_to(1): 256}
        until(lambda: routes.made(node) == there, "there is a route", SOON_SECONDS, lambda: log(node))
        users = users_of(node, hns, joiner)
        users.until_balanced()
        users.outlive_a_crash(figure, "L3")
        users.outlive_a_start(figure, "L3")
        until(
            lambda: (routes.made(node), routes.forwarding(node)) == (there, FORWARDING),
            "there is a route again",
            SOON_SECONDS,
            lambda: (routes.made(node), routes.forwarding(node), log(node)),
        )
        check_joined(joiner)
        assert joiner.wmcb("reset", "--end-pods").code == 0
        assert (hns.networks, hns.load_balancers, dict(routes.made(node))) == ([], [], {})
