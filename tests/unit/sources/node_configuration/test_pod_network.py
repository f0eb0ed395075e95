"""A machine's pod network and its routes, by the Nodes that there are."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace

import pytest

from agent.sources.node_configuration.pod_network import Node, PodNetwork, pod_network
from agent.spec import File, Key
from agent.spec.networks import HnsEndpoint, HnsNetwork, IpForwarding, NetworkType, Route, Subnet

SETTINGS = json.dumps({"name": "cbr0"})
MACHINE = [("Ethernet", "192.0.2.10/24"), ("Storage", "198.51.100.10/24"), ("Ethernet", "fe80::1/64")]
EARLY, LATER = "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"


def a_node(number: int, *, created: str = EARLY, pods: str | None = None, address: str | None = None) -> Node:
    networks = [pods if pods is not None else f"10.244.{number}.0/24"]
    addresses = [address if address is not None else f"192.0.2.{10 + number}"]
    return Node(
        f"win{number}", created, [each for each in networks if each], [each for each in addresses if each]
    )


OWN = a_node(0)


def routed(*others: Node, own: Node = OWN, machine: Iterable[tuple[str, str]] = MACHINE) -> PodNetwork:
    return pod_network(SETTINGS, "win0", [*others, own], machine)


def routes(found: PodNetwork) -> list[str]:
    assert found.specification is not None
    return [want.key.name for want in found.specification.wants if isinstance(want, Route)]


def test_the_nodes_own_network() -> None:
    found = routed()
    assert found.specification is not None
    assert found.specification.wants == (
        HnsNetwork(
            "cbr0", NetworkType.L2BRIDGE, (Subnet("10.244.0.0/24", "10.244.0.1"),), address="192.0.2.10"
        ),
        HnsEndpoint("cbr0_ep", "cbr0", "10.244.0.2"),
        IpForwarding("192.0.2.10", Key("hns_network", "cbr0")),
        IpForwarding("10.244.0.2", Key("hns_endpoint", "cbr0_ep")),
    )


def test_a_card_of_their_own() -> None:
    """It has no address of the machine's: packets go on over the card that has the Node's."""
    settings = json.dumps({"name": "pods", "type": "transparent", "adapter": "Ethernet 2"})
    found = pod_network(settings, "win0", [OWN, a_node(1)], MACHINE)
    assert found.specification is not None
    assert found.specification.wants == (
        HnsNetwork(
            "pods", NetworkType.TRANSPARENT, (Subnet("10.244.0.0/24", "10.244.0.1"),), adapter="Ethernet 2"
        ),
        HnsEndpoint("pods_ep", "pods", "10.244.0.2"),
        IpForwarding("192.0.2.10", Key("hns_network", "pods")),
        IpForwarding("10.244.0.2", Key("hns_endpoint", "pods_ep")),
        Route("10.244.1.0/24", "192.0.2.11"),
    )


def test_an_adapter_that_is_said_and_how_pods_get_in() -> None:
    configuration = {"path": r"C:\etc\cni\net.d\10-l3.conf", "services": ["10.96.0.0/12"]}
    settings = json.dumps({"name": "l3", "adapter": "Pods", "cniConfiguration": configuration})
    found = pod_network(settings, "win0", [OWN], MACHINE)
    assert found.specification is not None
    by_kind = {want.kind: want for want in found.specification.wants}
    network, file = by_kind["hns_network"], by_kind["file"]
    assert isinstance(network, HnsNetwork)
    assert (network.name, network.adapter, network.address) == ("l3", "Pods", None)
    assert isinstance(file, File)
    assert file.content is not None
    written = json.loads(b"".join(file.content.blocks()))
    assert (written["type"], written["name"]) == ("win-bridge", "l3")
    assert written["ipam"] == {
        "type": "host-local",
        "ranges": [[{"subnet": "10.244.0.0/24", "rangeStart": "10.244.0.3"}]],
    }
    routed_there = [each["value"]["Settings"].get("DestinationPrefix") for each in written["policies"]]
    assert routed_there == ["10.96.0.0/12", "192.0.2.10/32"]
    folders = [want.key.name for want in found.specification.wants if want.kind == "directory"]
    assert folders == [r"C:\etc", r"C:\etc\cni", r"C:\etc\cni\net.d"]


def test_a_route_to_each_other_node() -> None:
    found = routed(a_node(2), a_node(1))
    assert routes(found) == ["10.244.1.0/24 over 192.0.2.11", "10.244.2.0/24 over 192.0.2.12"]
    assert found.left_out == {}


def test_of_several_networks_and_addresses_those_of_ipv4_count() -> None:
    other = Node("win1", EARLY, ["fd00:1::/64", "10.244.1.0/24"], ["fd00::11", "192.0.2.11", "192.0.2.99"])
    assert routes(routed(other)) == ["10.244.1.0/24 over 192.0.2.11"]


LEFT_OUT = {
    "without a podCIDR": (a_node(1, pods=""), "it has no podCIDR of IPv4"),
    "with one that is none": (a_node(1, pods="10.244.1.7/24"), "it has no podCIDR of IPv4"),
    "without an address": (a_node(1, address=""), "it has no InternalIP of IPv4"),
    "with this machine's pods": (
        a_node(1, pods="10.244.0.0/24"),
        "its podCIDR 10.244.0.0/24 overlaps that of this machine's own pods",
    ),
    "with more than this machine's pods": (
        a_node(1, pods="10.244.0.0/16"),
        "its podCIDR 10.244.0.0/16 overlaps that of this machine's own pods",
    ),
    "with the machine's network": (
        a_node(1, pods="192.0.2.128/25"),
        "its podCIDR 192.0.2.128/25 overlaps that of the network that this machine is in",
    ),
    "with another network of the machine's": (
        a_node(1, pods="198.51.0.0/16"),
        "its podCIDR 198.51.0.0/16 overlaps that of the network that this machine is in",
    ),
    "with everything": (
        a_node(1, pods="0.0.0.0/0"),
        "its podCIDR 0.0.0.0/0 overlaps that of the network that this machine is in",
    ),
    "with this machine's address": (
        a_node(1, address="192.0.2.10"),
        "its address 192.0.2.10 is this machine's",
    ),
    "in another network": (
        a_node(1, address="203.0.113.5"),
        "its address 203.0.113.5 is in no network that this machine is in",
    ),
}


@pytest.mark.parametrize(("node", "reason"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_who_is_left_out_and_no_other(node: Node, reason: str) -> None:
    found = routed(node, a_node(2))
    assert found.left_out == {"Node win1": reason}
    assert routes(found) == ["10.244.2.0/24 over 192.0.2.12"]


def test_who_has_pods_elsewhere_is_left_out_where_it_is_said_where_they_are() -> None:
    settings = json.dumps({"name": "cbr0", "within": ["10.244.0.0/16", "10.245.0.0/24"]})
    nodes = [
        OWN,
        a_node(1),
        a_node(2, pods="10.245.0.0/24"),
        a_node(3, pods="10.96.0.0/12"),
        a_node(4, pods="9.9.9.9/32"),
    ]
    found = pod_network(settings, "win0", nodes, MACHINE)
    assert routes(found) == ["10.244.1.0/24 over 192.0.2.11", "10.245.0.0/24 over 192.0.2.12"]
    why = "is in none of the networks that the document gives the cluster's pods"
    assert found.left_out == {
        "Node win3": f"its podCIDR 10.96.0.0/12 {why}",
        "Node win4": f"its podCIDR 9.9.9.9/32 {why}",
    }


OVERLAPS = {"the same": "10.244.2.0/24", "a part of it": "10.244.2.128/25", "more": "10.244.2.0/23"}


@pytest.mark.parametrize("pods", OVERLAPS.values(), ids=OVERLAPS)
def test_nobody_takes_away_what_another_had_before(pods: str) -> None:
    found = routed(a_node(1, created=LATER, pods=pods), a_node(2))
    assert routes(found) == ["10.244.2.0/24 over 192.0.2.12"]
    assert found.left_out == {"Node win1": f"its podCIDR {pods} overlaps that of Node win2"}


OWN_TROUBLE = {
    "no podCIDR": (a_node(0, pods=""), "it has no podCIDR of IPv4"),
    "no address": (a_node(0, address=""), "it has no InternalIP of IPv4"),
    "too small": (a_node(0, pods="10.244.0.0/29"), "its podCIDR 10.244.0.0/29 is too small"),
    "the machine's": (
        a_node(0, pods="192.0.2.0/24"),
        "its podCIDR 192.0.2.0/24 overlaps that of the network that this machine is in",
    ),
}


@pytest.mark.parametrize(("own", "reason"), OWN_TROUBLE.values(), ids=OWN_TROUBLE)
def test_without_a_network_of_its_own_nothing_is_known(own: Node, reason: str) -> None:
    found = routed(a_node(1), own=own)
    assert found == PodNetwork(None, {"Node win0": f"it is this machine's own, and {reason}"})


def test_without_its_own_node_nothing_is_known() -> None:
    found = routed(a_node(1), own=replace(OWN, name="win00"))
    assert found.specification is None
    assert found.left_out == {"Node win0": "it is this machine's own, and is not there"}


def test_its_own_place_in_its_pods_network_is_no_network_of_the_machines() -> None:
    there = [*MACHINE, ("vEthernet (cbr0_ep)", "10.244.1.2/24")]
    assert routes(routed(a_node(1), machine=there)) == ["10.244.1.0/24 over 192.0.2.11"]


def test_whoever_has_its_place_in_the_pods_network_is_in_it() -> None:
    found = routed(a_node(1), machine=[*MACHINE, ("lab0", "10.244.0.2/24")])
    assert (routes(found), found.left_out) == (["10.244.1.0/24 over 192.0.2.11"], {})


def test_thousands_of_nodes_take_no_time_to_speak_of() -> None:
    machine = [("Ethernet", "172.16.0.10/12")]
    own = a_node(0, address="172.16.0.10")
    others = [
        Node(
            f"n{number}",
            EARLY,
            [f"10.{number >> 8}.{number & 255}.0/24"],
            [f"172.17.{number >> 8}.{number & 255}"],
        )
        for number in range(4_000)
    ]
    begun = time.process_time()
    assert len(routes(routed(*others, own=own, machine=machine))) == 4_000
    assert time.process_time() - begun < 5
