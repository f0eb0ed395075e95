"""Container networks and this machine's endpoint in each, routes, the firewall, the pods' own network."""

import ipaddress
import json
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network

from agent.documents import Value, items, mapping, text, texts
from agent.sources.forms import Checking, Fields, Flag, ListOf, Number, Text
from agent.sources.node_configuration.kinds import cni_configurations, values
from agent.sources.node_configuration.kinds.values import Given, Kind, Wanted, several, single
from agent.sources.report import Place
from agent.spec import Key, Want
from agent.spec.machine import POD_NETWORK, RegistryType, RegistryValue, place_of
from agent.spec.networks import (
    FirewallRule,
    HnsEndpoint,
    HnsNetwork,
    IpForwarding,
    NetworkPolicy,
    NetworkType,
    Route,
    Subnet,
)

_TYPES = {each.name.lower(): each for each in NetworkType}
_WITH_SUBNETS = (NetworkType.L2BRIDGE, NetworkType.OVERLAY)
_LEAST_VSID, _MOST_VSID = 4096, (1 << 24) - 1

_SUBNET = Fields(
    {
        "prefix": values.prefix_form("Its addresses."),
        "gateway": values.address_form("One of them, that leads everywhere else."),
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
        "name": values.name_form("The network's own with _ep behind it, where nothing is said."),
        "address": values.address_form("One of the network's addresses."),
        "gateway": values.address_form("Where it sends what is for others."),
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
        "name": values.name_form("By which CNI plugins and kube-proxy find it."),
        "type": Text("What kind of network it is.", one_of=tuple(_TYPES)),
        "subnets": ListOf(_SUBNET, "The pods' addresses.", least=1, most=16),
        "adapter": values.name_form("The network card that it is on, as Ethernet."),
        "address": values.address_form(
            "Where no adapter is given, it is the one with this address of the node."
        ),
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


_ROUTE = Fields(
    {
        "destination": values.prefix_form("Where it leads to: the addresses of another node's pods, say."),
        "gateway": values.address_form("Over whom: that node's address."),
        "metric": Number("What is added to the interface's own; the least wins.", least=1, most=9_999),
        "interface": values.address_form(
            "One of the interface that it leads out of; left out, that is the one which leads to the gateway."
        ),
        "persistent": Flag("Whether Windows makes it again when it starts; true where nothing is said."),
    },
    needed=("destination", "gateway"),
)


def _route(checking: Checking, given: Given, place: Place) -> Route:
    destination, gateway = text(given["destination"]), text(given["gateway"])
    prefix = _prefix(checking, destination, (*place, "destination"))
    if prefix.prefixlen and IPv4Address(gateway) in prefix:
        checking.wrong((*place, "gateway"), "it is in the network that it is to lead to")
    metric = given.get("metric")
    return Route(
        destination,
        gateway,
        int(metric) if isinstance(metric, int | float) else None,
        text(given["interface"]) if "interface" in given else None,
        given.get("persistent") is not False,
    )


_WITH_PORTS = ("tcp", "udp")
_NUMBERS = {"1": "icmpv4", "6": "tcp", "17": "udp", "58": "icmpv6"}
_WORDS = ("localsubnet", "defaultgateway", "dhcp", "dns", "wins")
_PORT = "([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_PORTS = Text(
    expected="a port from 1 to 65535, or a range such as 30000-32767,", pattern=f"{_PORT}(-{_PORT})?"
)

_RULE = Fields(
    {
        "name": Text(
            "By which Windows lists it, in a group called wmcb. If there is one of that name that is not"
            " wmcb's, nothing is changed.",
            "a name without a |, other than all,",
            pattern=r"(?![Aa][Ll][Ll]$)[^|\x00-\x1f]+",
            most=256,
        ),
        "description": Text("For a person.", "text without a |", pattern=r"[^|\x00-\x1f]*", most=1_000),
        "direction": Text("Of what begins a connection; in where nothing is said.", one_of=("in", "out")),
        "action": Text("What becomes of it; allow where nothing is said.", one_of=("allow", "block")),
        "protocol": Text(
            "tcp, udp, icmpv4, icmpv6, another's number, or any, which it is where nothing is said.",
            "tcp, udp, icmpv4, icmpv6, any or a number",
            pattern="tcp|udp|icmpv4|icmpv6|any|[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5]",
        ),
        "localPorts": ListOf(_PORTS, "Of this machine; any where nothing is said.", least=1),
        "remotePorts": ListOf(_PORTS, "Of the other end; any where nothing is said.", least=1),
        "remoteAddresses": ListOf(
            Text(
                expected="an address, a network or a range of addresses",
                pattern=r"[0-9A-Za-z.:/-]+",
                most=100,
            ),
            "Of the other end, as 192.0.2.1, 10.0.0.0/8, 192.0.2.3-192.0.2.9 or LocalSubnet; any where"
            " nothing is said.",
            least=1,
        ),
        "program": values.path_form("Only for this program."),
        "service": values.service_name_form("Only for this service."),
        "profiles": ListOf(
            Text(one_of=("domain", "private", "public")),
            "Of the network that the machine is on; all where nothing is said.",
            least=1,
            most=3,
        ),
        "takeOver": Flag(
            "One of this name that somebody else has made is changed, and given back when this is wanted no"
            " more."
        ),
    },
    needed=("name",),
)


def _rule(checking: Checking, given: Given, place: Place) -> FirewallRule:
    protocol = text(given.get("protocol")) or "any"
    protocol = _NUMBERS.get(protocol, protocol)
    for field in ("localPorts", "remotePorts"):
        if field in given and protocol not in _WITH_PORTS:
            checking.wrong((*place, field), "only tcp and udp have ports; say protocol: tcp as well")
        for at, port in enumerate(texts(given.get(field))):
            first, _, last = port.partition("-")
            if last and int(first) > int(last):
                checking.wrong((*place, field, at), "the range ends before it begins")
    for at, address in enumerate(texts(given.get("remoteAddresses"))):
        if not _is_address(address):
            message = "an address, a network or a range of addresses is expected"
            checking.wrong((*place, "remoteAddresses", at), message)
    return FirewallRule(
        text(given["name"]),
        text(given.get("description")),
        text(given.get("direction")) or "in",
        text(given.get("action")) or "allow",
        protocol,
        texts(given.get("localPorts")),
        texts(given.get("remotePorts")),
        texts(given.get("remoteAddresses")),
        text(given.get("program")).replace("/", "\\"),
        text(given.get("service")),
        texts(given.get("profiles")),
        given.get("takeOver") is True,
    )


def _is_address(said: str) -> bool:
    first, dash, last = said.partition("-")
    try:
        if not dash:
            return said.lower() in _WORDS or bool(ipaddress.ip_network(said, strict=False))
        ends = ipaddress.ip_address(first), ipaddress.ip_address(last)
    except ValueError:
        return False
    return ends[0].version == ends[1].version and int(ends[0]) <= int(ends[1])


_BRIDGE, _TRANSPARENT = "l2bridge", "transparent"

_POD_NETWORK = Fields(
    {
        "name": values.name_form(
            "Of the HNS network that is made of the podCIDR of the machine's own Node, as cbr0."
        ),
        "type": Text(
            "l2bridge where nothing is said. transparent is for machines with a second network card that the"
            " pods have to themselves; what puts them there is another's, since win-bridge does not.",
            one_of=(_BRIDGE, _TRANSPARENT),
        ),
        "adapter": values.name_form(
            "The network card that it is on; where nothing is said, the one with the Node's InternalIP."
        ),
        "within": ListOf(
            values.prefix_form("All Nodes' pods, or some of them."),
            "The cluster's pods. A Node with a podCIDR elsewhere gets no route: whoever makes a Node says"
            " himself what its podCIDR is, and could draw to it what is meant for others.",
            least=1,
            most=50,
        ),
        "cniConfiguration": cni_configurations.OF_A_BRIDGE,
    },
    "A network of the podCIDR of the machine's own Node, and a route to that of each other Node over its"
    " InternalIP, as Nodes come and go. Made by the resident service, which has to be installed; it lists and"
    " watches all Nodes as its kubelet (packaging/manifests/pod-network).",
    needed=("name",),
)


def _pod_network(checking: Checking, value: Value, place: Place) -> Iterator[Wanted]:
    given = mapping(value)
    for number, each in enumerate(texts(given.get("within"))):
        _prefix(checking, each, (*place, "within", number))
    if given.get("type") == _TRANSPARENT:
        _check_transparent(checking, given, place)
    if "cniConfiguration" in given:
        cni_configurations.check_of_a_bridge(
            checking, mapping(given["cniConfiguration"]), (*place, "cniConfiguration")
        )
    settings = json.dumps(given, sort_keys=True, separators=(",", ":"))
    yield RegistryValue(*place_of(POD_NETWORK.name), RegistryType.STRING, settings)


def _check_transparent(checking: Checking, given: Given, place: Place) -> None:
    if "adapter" not in given:
        checking.wrong((*place, "adapter"), "it is missing; a transparent network has a card of its own")
    if "cniConfiguration" in given:
        message = "win-bridge puts pods into an l2bridge only; leave it out, and have files bring another's"
        checking.wrong((*place, "cniConfiguration"), message)


KINDS: Mapping[str, Kind] = {
    "networks": Kind(
        ListOf(_NETWORK, "Container networks of Windows' Host Networking Service.", most=50), _networks
    ),
    "routes": several(ListOf(_ROUTE, "Routes to other networks, IPv4.", most=5_000), _route),
    "firewallRules": several(
        ListOf(_RULE, "What Windows' firewall lets through, or does not.", most=200), _rule
    ),
    "podNetwork": single(_POD_NETWORK, _pod_network),
}
