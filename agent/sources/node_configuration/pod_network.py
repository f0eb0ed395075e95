"""What a machine that wants a pod network should be, by the Nodes that there are.

Who is left out of the routes, and why, is told. The Node that was there first keeps what it has: nobody who
comes later takes a network away from it by saying that it is his.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from agent.documents import Value, mapping, text, texts
from agent.sources.kubelet.folders import with_parents
from agent.sources.node_configuration.kinds.cni_configurations import of_a_bridge
from agent.spec import Specification, Want
from agent.spec.networks import HnsEndpoint, HnsNetwork, IpForwarding, NetworkType, Route, Subnet

_HERE = "the network that this machine is in"

TITLE = "the pod network"
_TYPES = {"": NetworkType.L2BRIDGE, "l2bridge": NetworkType.L2BRIDGE, "transparent": NetworkType.TRANSPARENT}
_LONGEST_PREFIX = 28
"""With less there is no room for the gateway, the machine and a few pods."""
_GATEWAY, _MACHINE = 1, 2
"""Which of its addresses is whose. The second is the one that win-bridge takes for the pods' gateway."""


@dataclass(frozen=True, slots=True)
class Node:
    """As far as it counts here. What a cluster says is not to be relied on."""

    name: str
    created: str = ""
    """As 2030-01-02T03:04:05Z."""
    networks: Sequence[str] = ()
    addresses: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PodNetwork:
    specification: Specification | None
    """None where it is not known, or cannot be: what there is stays as it is."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Whom pods do not reach, or that there are none here; and why."""


class _Unfit(Exception):
    """One line: why there can be no route to it."""


def pod_network(
    settings: str, name: str, nodes: Iterable[Node], machine: Iterable[tuple[str, str]]
) -> PodNetwork:
    """By the `settings` that a document has, on the Node of that name; `machine` are the interfaces of its
    addresses, and these with the lengths of their prefixes, as 192.0.2.10/24.
    """
    in_order = sorted(nodes, key=lambda node: (node.name != name, node.created, node.name))
    if not in_order or in_order[0].name != name:
        return PodNetwork(None, {f"Node {name}": "it is this machine's own, and is not there"})
    own, *others = in_order
    given = mapping(json.loads(settings))
    # What the machine has in the pods' network is no network that it is in otherwise.
    adapter = f"({_endpoint(text(given['name']))})"
    interfaces = [IPv4Interface(each) for name, each in machine if adapter not in name and ":" not in each]
    try:
        network, address = _network(own), _address(own)
        if network.prefixlen > _LONGEST_PREFIX:
            raise _Unfit(f"its podCIDR {network} is too small")
        near = [each.network for each in interfaces if each.ip != network[_MACHINE]]
        taken = _Taken()
        for each in near:
            taken.add(each, _HERE)
        taken.take(network, "this machine's own pods")
    except _Unfit as fault:
        return PodNetwork(None, {f"Node {name}": f"it is this machine's own, and {fault}"})
    here = {address, *(str(each.ip) for each in interfaces)}
    within = [IPv4Network(each) for each in texts(given.get("within"))]
    routes, left_out = list[Route](), {}
    for node in others:
        try:
            _check_within(_network(node), within)
            routes.append(_route(node, taken, near, here))
        except _Unfit as fault:
            left_out[f"Node {node.name}"] = str(fault)
    wants = [*_own(given, network, address), *routes]
    folders = with_parents({}, [want.file for want in wants if want.file])
    return PodNetwork(Specification.of([*folders.values(), *wants], title=TITLE), left_out=left_out)


class _Taken:
    """Networks that are somebody's: thousands, and each is compared with all that came before it."""

    def __init__(self) -> None:
        self._whose: dict[tuple[int, int], str] = {}
        self._around: dict[tuple[int, int], str] = {}
        """By each network that one of them lies in."""

    def take(self, network: IPv4Network, whose: str) -> None:
        """Raises _Unfit where some of it is somebody else's."""
        inner = self._around.get(_key(network))
        holder = inner or next((found for key in _outer(network) if (found := self._whose.get(key))), None)
        if holder is not None:
            raise _Unfit(f"its podCIDR {network} overlaps that of {holder}")
        self.add(network, whose)

    def add(self, network: IPv4Network, whose: str) -> None:
        self._whose[_key(network)] = whose
        for key in _outer(network):
            self._around.setdefault(key, whose)


def _key(network: IPv4Network) -> tuple[int, int]:
    return int(network.network_address), network.prefixlen


def _outer(network: IPv4Network) -> Iterator[tuple[int, int]]:
    """All that it lies in, itself among them."""
    address, length = _key(network)
    for shorter in range(length, -1, -1):
        lacking = network.max_prefixlen - shorter
        yield address >> lacking << lacking, shorter


def _network(node: Node) -> IPv4Network:
    for each in node.networks:
        try:
            return IPv4Network(each)
        except ValueError:
            continue
    raise _Unfit("it has no podCIDR of IPv4")


def _address(node: Node) -> str:
    for each in node.addresses:
        try:
            return str(IPv4Address(each))
        except ValueError:
            continue
    raise _Unfit("it has no InternalIP of IPv4")


def _check_within(network: IPv4Network, within: Collection[IPv4Network]) -> None:
    if within and not any(network.subnet_of(each) for each in within):
        raise _Unfit(
            f"its podCIDR {network} is in none of the networks that the document gives the cluster's pods"
        )


def _route(node: Node, taken: _Taken, near: Iterable[IPv4Network], here: Collection[str]) -> Route:
    network, address = _network(node), _address(node)
    if address in here:
        raise _Unfit(f"its address {address} is this machine's")
    if not any(IPv4Address(address) in each for each in near):
        raise _Unfit(f"its address {address} is in no network that this machine is in")
    taken.take(network, f"Node {node.name}")
    return Route(str(network), address)


def _own(given: Mapping[str, Value], network: IPv4Network, address: str) -> Iterator[Want]:
    name, adapter = text(given["name"]), text(given.get("adapter")) or None
    subnet = Subnet(str(network), str(network[_GATEWAY]))
    kind = _TYPES[text(given.get("type"))]
    pods = HnsNetwork(name, kind, (subnet,), adapter, address=address if adapter is None else None)
    endpoint = HnsEndpoint(_endpoint(name), name, str(network[_MACHINE]))
    yield pods
    yield endpoint
    # Pods' own card has no address of the machine's, and what is for others goes over the one that has.
    over = adapter if kind is NetworkType.L2BRIDGE else None
    yield IpForwarding(over or address, pods.key)
    yield IpForwarding(endpoint.address, endpoint.key)
    if "cniConfiguration" in given:
        configuration = mapping(given["cniConfiguration"])
        yield of_a_bridge(configuration, name, str(network), address)


def _endpoint(network: str) -> str:
    return f"{network}_ep"
