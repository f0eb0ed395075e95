"""Container networks of Windows' Host Networking Service, and this machine's own endpoint in each."""

import json
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network

from agent.documents import Value
from agent.sources.forms import Checking, Fields, Flag, ListOf, Number, Text, items, mapping, text
from agent.sources.node_configuration.kinds.kind import Given, Kind
from agent.sources.node_configuration.kinds.values import address_form, name_form, prefix_form
from agent.sources.report import Place
from agent.spec import Key, Want
from agent.spec.networks import HnsEndpoint, HnsNetwork, IpForwarding, NetworkPolicy, NetworkType, Subnet

_TYPES = {each.name.lower(): each for each in NetworkType}
_WITH_SUBNETS = (NetworkType.L2BRIDGE, NetworkType.OVERLAY)
_LEAST_VSID, _MOST_VSID = 4096, (1 << 24) - 1

_SUBNET = Fields(
    {
        "prefix": prefix_form("Its addresses."),
        "gateway": address_form("One of them, that leads everywhere else."),
        "vsid": Number("Of an overlay: its VXLAN network identifier.", least=_LEAST_VSID, most=_MOST_VSID),
    },
    needed=("prefix",),
)
_POLICY = Fields(
    {
        "type": Text("As HNS names it: VxlanPort.", "a name", pattern="[A-Za-z0-9]+", most=100),
        "settings": Text("A JSON object, in quotes: '{\"Port\": 4789}'.", "a JSON object", most=10_000),
    },
    needed=("type", "settings"),
)
_HOST_ENDPOINT = Fields(
    {
        "name": name_form("The network's own with _ep behind it, where nothing is said."),
        "address": address_form("One of the network's addresses."),
        "gateway": address_form("Where it sends what is for others."),
        "mac": Text(
            "One is made where none is given.",
            "a MAC address such as 00-15-5D-01-02-03",
            pattern="[0-9A-Fa-f]{2}([-:][0-9A-Fa-f]{2}){5}",
        ),
        "forwarding": Flag(
            "Whether packets go on from here to pods and back, as routes to other nodes' pods need it: it"
            " switches on IP forwarding of this adapter and of the network's own."
        ),
    },
    "This machine's own place in it: an address on an adapter that Windows makes.",
    needed=("address",),
)
_NETWORK = Fields(
    {
        "name": name_form("By which CNI plugins and kube-proxy find it."),
        "type": Text("What kind of network it is.", one_of=tuple(_TYPES)),
        "subnets": ListOf(_SUBNET, "The pods' addresses.", least=1, most=16),
        "adapter": name_form("The network card that it is on, as Ethernet."),
        "address": address_form("Where no adapter is given, it is the one with this address of the node."),
        "policies": ListOf(_POLICY, "What else HNS is told of it.", most=50),
        "hostEndpoint": _HOST_ENDPOINT,
    },
    needed=("name", "type"),
)


def _networks(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Want, Place]]:
    cards: set[Key] = set()
    for number, item in enumerate(items(value)):
        here, given = (*place, number), mapping(item)
        network = _network(checking, given, here)
        yield network, here
        if "hostEndpoint" in given:
            there = (*here, "hostEndpoint")
            for want in _here(checking, mapping(given["hostEndpoint"]), network, there):
                if want.key not in cards:
                    yield want, there
                if isinstance(want, IpForwarding):
                    cards.add(want.key)  # two networks may be on one


def _network(checking: Checking, given: Given, place: Place) -> HnsNetwork:
    kind = _TYPES[text(given["type"])]
    subnets = [
        _subnet(checking, mapping(each), kind, (*place, "subnets", number))
        for number, each in enumerate(items(given.get("subnets")))
    ]
    if kind in _WITH_SUBNETS and not subnets:
        checking.wrong((*place, "subnets"), f"it is missing; {text(given['type'])} needs one")
    if "adapter" in given and "address" in given:
        checking.wrong((*place, "address"), "the adapter is given already; keep one of the two")
    return HnsNetwork(
        text(given["name"]),
        kind,
        tuple(subnets),
        text(given["adapter"]) if "adapter" in given else None,
        text(given["address"]) if "address" in given else None,
        tuple(_policies(checking, items(given.get("policies")), (*place, "policies"))),
    )


def _subnet(checking: Checking, given: Given, kind: NetworkType, place: Place) -> Subnet:
    prefix = _prefix(checking, text(given["prefix"]), (*place, "prefix"))
    gateway = text(given["gateway"]) if "gateway" in given else None
    if gateway is not None and not _is_host_of(prefix, gateway):
        checking.wrong((*place, "gateway"), f"it is no host's address of {prefix}")
    if (kind is NetworkType.OVERLAY) != ("vsid" in given):
        message = (
            "only an overlay has one"
            if "vsid" in given
            else "it is missing; each subnet of an overlay has one"
        )
        checking.wrong((*place, "vsid"), message)
    vsid = given.get("vsid")
    return Subnet(str(prefix), gateway, int(vsid) if isinstance(vsid, int | float) else None)


def _prefix(checking: Checking, given: str, place: Place) -> IPv4Network:
    prefix = IPv4Network(given, strict=False)
    if str(prefix) != given:
        checking.wrong(place, f"there is no such network; is {prefix} meant?")
    return prefix


def _is_host_of(prefix: IPv4Network, address: str) -> bool:
    ends = (prefix.network_address, prefix.broadcast_address)
    return IPv4Address(address) in prefix and IPv4Address(address) not in ends


def _policies(checking: Checking, given: Sequence[Value], place: Place) -> Iterator[NetworkPolicy]:
    for number, each in enumerate(map(mapping, given)):
        try:
            settings = json.loads(text(each["settings"]))
        except ValueError:
            settings = None
        if not isinstance(settings, dict):
            checking.wrong((*place, number, "settings"), "it is no JSON object")
        canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
        yield NetworkPolicy(text(each["type"]), canonical)


def _here(checking: Checking, given: Given, network: HnsNetwork, place: Place) -> Iterator[Want]:
    endpoint = _endpoint(checking, given, network, place)
    yield endpoint
    if given.get("forwarding"):
        card = network.address or network.adapter
        if card is None:
            message = "say by which card packets come in: give the network an adapter or address"
            checking.wrong((*place, "forwarding"), message)
        else:
            yield IpForwarding(card, network.key)
        yield IpForwarding(endpoint.address, endpoint.key)


def _endpoint(checking: Checking, given: Given, network: HnsNetwork, place: Place) -> HnsEndpoint:
    address = text(given["address"])
    homes = [each for each in network.subnets if _is_host_of(IPv4Network(each.prefix), address)]
    if not homes:
        checking.wrong((*place, "address"), f"it is no host's address of network {network.name}")
    elif address in [each.gateway for each in homes]:
        checking.wrong((*place, "address"), "it is the gateway's; the endpoint has one of its own")
    return HnsEndpoint(
        text(given.get("name")) or f"{network.name}_ep",
        network.name,
        address,
        text(given["gateway"]) if "gateway" in given else None,
        text(given["mac"]).upper().replace(":", "-") if "mac" in given else None,
    )


KIND = Kind(ListOf(_NETWORK, "Container networks of Windows' Host Networking Service.", most=50), _networks)
