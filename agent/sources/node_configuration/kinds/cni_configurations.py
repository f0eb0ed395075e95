"""How pods get their network: files that CNI plug-ins for Windows read."""

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

from agent.documents import Value, items, text, texts
from agent.sources.forms import Checking, Fields, Flag, ListOf, Text
from agent.sources.node_configuration.kinds.values import Given, Kind, name_form, own_path, path_form, several
from agent.sources.report import Place
from agent.spec import File, Inline, Protection

_BRIDGE, _OVERLAY, _FLANNEL = "win-bridge", "win-overlay", "flannel"
_LIST = ".conflist"
_OF_THE_NODE = 2
"""So many addresses of a bridge are no pod's."""
_HCN = 2
"""Of HNS' two interfaces the one that containerd's network namespaces are known to."""

_NETWORK = Text("", "a network such as 10.244.0.0/16", pattern=r"[0-9A-Fa-f.:]+/[0-9]{1,3}", most=50)
_ADDRESS = Text("", "an IP address", pattern=r"[0-9A-Fa-f.:]+", most=50)
_CONFIGURATION = Fields(
    {
        "path": path_form("Where it is; one that ends in .conflist gets a list of plug-ins."),
        "plugin": Text("Which one makes the network.", one_of=(_BRIDGE, _OVERLAY, _FLANNEL)),
        "delegate": Text("Which one flannel hands the work to.", one_of=(_BRIDGE, _OVERLAY)),
        "network": replace(
            name_form("The name of the HNS network that pods are put into."), expected="a network's name"
        ),
        "podNetwork": replace(
            _NETWORK,
            about="Of this node's pods: host-local takes their addresses out of it, in a bridge from the"
            " third on. flannel knows it by itself.",
        ),
        "notTranslated": ListOf(
            _NETWORK, "What pods reach under their own addresses: pods, services and nodes.", most=50
        ),
        "services": ListOf(
            _NETWORK, "The networks of services, which are to be reached through the node.", most=10
        ),
        "nodeAddress": replace(_ADDRESS, about="This node's own address."),
        "nameServers": ListOf(_ADDRESS, "For pods for which the kubelet says nothing else.", most=10),
        "searchDomains": ListOf(
            Text("", "a domain", pattern=r"[A-Za-z0-9._-]+", most=253), "The same.", most=32
        ),
        "loopbackDsr": Flag("A pod may reach itself by the address of its service."),
        "cniVersion": Text(
            "Of the interface; 0.3.1 where nothing is said.",
            "a version",
            pattern=r"[0-9]+\.[0-9]+\.[0-9]+",
            most=20,
        ),
    },
    needed=("path", "plugin", "network"),
)


def _configuration(checking: Checking, given: Given, place: Place) -> File:
    path = own_path(checking, given, place)
    _check(checking, given, place)
    return _file(path, given)


_OF_A_BRIDGE = (
    "path", "notTranslated", "services", "nameServers", "searchDomains", "loopbackDsr", "cniVersion",
)  # fmt: skip
OF_A_BRIDGE = Fields(
    {name: _CONFIGURATION.forms[name] for name in _OF_A_BRIDGE},
    "The configuration for win-bridge, but for what comes of the Node.",
    needed=("path",),
)


def check_of_a_bridge(checking: Checking, given: Given, place: Place) -> None:
    own_path(checking, given, place)
    _check_values(checking, given, place)


def of_a_bridge(given: Given, network: str, pods: str, node: str) -> File:
    """Of what was checked: for that HNS network of `pods`, on the node with that address."""
    own = {"plugin": _BRIDGE, "network": network, "podNetwork": pods, "nodeAddress": node}
    return _file(PureWindowsPath(text(given["path"])), {**given, **own})


def _file(path: PureWindowsPath, given: Given) -> File:
    written = _document(given, is_list=path.name.lower().endswith(_LIST))
    return File(path, Inline(f"{json.dumps(written, indent=2)}\n".encode()), Protection.PROGRAM)


def _check(checking: Checking, given: Given, place: Place) -> None:
    by_flannel = given["plugin"] == _FLANNEL
    if by_flannel != ("delegate" in given):
        checking.wrong((*place, "delegate"), "it goes with flannel, and flannel needs it")
    if by_flannel == ("podNetwork" in given):
        checking.wrong((*place, "podNetwork"), "all but flannel need it, and flannel has it from the cluster")
    _check_values(checking, given, place)


def _check_values(checking: Checking, given: Given, place: Place) -> None:
    for name in ("notTranslated", "services"):
        for at, network in enumerate(items(given.get(name))):
            _check_network(checking, text(network), (*place, name, at))
    if "podNetwork" in given:
        _check_network(checking, text(given["podNetwork"]), (*place, "podNetwork"))
    addresses: dict[Place, Value] = {
        ("nameServers", at): each for at, each in enumerate(items(given.get("nameServers")))
    }
    if "nodeAddress" in given:
        addresses |= {("nodeAddress",): given["nodeAddress"]}
    for where, address in addresses.items():
        _check_address(checking, text(address), (*place, *where))


def _check_network(checking: Checking, network: str, place: Place) -> None:
    try:
        ipaddress.ip_network(network)
    except ValueError:
        checking.wrong(place, "it is no network, or has bits beside its mask")


def _check_address(checking: Checking, address: str, place: Place) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        checking.wrong(place, "it is no IP address")


def _document(given: Given, *, is_list: bool) -> dict[str, Any]:
    head = {"cniVersion": text(given.get("cniVersion")) or "0.3.1", "name": text(given["network"])}
    plugin = _plugin(given)
    return {**head, "plugins": [plugin]} if is_list else {**head, **plugin}


def _plugin(given: Given) -> dict[str, Any]:
    made = {"type": text(given["plugin"]), "capabilities": {"portMappings": True, "dns": True}}
    settings = _settings(given)
    if given["plugin"] == _FLANNEL:
        return {**made, "delegate": {"type": text(given.get("delegate")), **settings}}
    return {**made, **settings, "ipam": {"type": "host-local", "ranges": [[_range(given)]]}}


def _range(given: Given) -> dict[str, str]:
    """In a bridge the first address is the gateway's, and for win-bridge the second this machine's own."""
    network = text(given.get("podNetwork"))
    if given["plugin"] != _BRIDGE or (first := _third_of(network)) is None:
        return {"subnet": network}
    return {"subnet": network, "rangeStart": first}


def _third_of(network: str) -> str | None:
    try:
        return str(ipaddress.ip_network(network)[_OF_THE_NODE + 1])
    except (ValueError, IndexError):
        return None  # which is told where it is checked


def _settings(given: Given) -> dict[str, Any]:
    names = {"nameservers": texts(given.get("nameServers")), "search": texts(given.get("searchDomains"))}
    dns = {name: list(value) for name, value in names.items() if value}
    return {
        "apiVersion": _HCN,
        **({"loopbackDSR": True} if given.get("loopbackDsr") is True else {}),
        **({"dns": dns} if dns else {}),
        "policies": [{"name": "EndpointPolicy", "value": each} for each in _policies(given)],
    }


def _policies(given: Given) -> list[dict[str, Any]]:
    made = []
    if kept := texts(given.get("notTranslated")):
        made.append(_policy("OutBoundNAT", Exceptions=list(kept)))
    made += [_routed(network) for network in texts(given.get("services"))]
    if node := text(given.get("nodeAddress")):
        by_overlay = _OVERLAY in (given["plugin"], given.get("delegate"))
        made.append(_policy("ProviderAddress", ProviderAddress=node) if by_overlay else _routed(_alone(node)))
    return made


def _routed(network: str) -> dict[str, Any]:
    """To be sent through the node, which knows where it goes."""
    return _policy("SDNRoute", DestinationPrefix=network, NeedEncap=True)


def _alone(address: str) -> str:
    return f"{address}/{'128' if ':' in address else '32'}"


def _policy(kind: str, **settings: Any) -> dict[str, Any]:
    return {"Type": kind, "Settings": settings}


KINDS: Mapping[str, Kind] = {
    "cniConfigurations": several(
        ListOf(_CONFIGURATION, "How pods get their network, as CNI plug-ins read it.", most=20),
        _configuration,
    )
}
