"""A network for the node's own pods, and routes to those of all other nodes: what a document says of it."""

import json
from collections.abc import Iterator
from ipaddress import IPv4Network

from agent.documents import Value
from agent.sources.forms import Checking, Fields, ListOf, Text, mapping, texts
from agent.sources.node_configuration.kinds import cni_configurations
from agent.sources.node_configuration.kinds.kind import Given, Wanted, single
from agent.sources.node_configuration.kinds.values import name_form, prefix_form
from agent.sources.report import Place
from agent.spec.machine import POD_NETWORK, RegistryType, RegistryValue, place_of

BRIDGE, TRANSPARENT = "l2bridge", "transparent"

_POD_NETWORK = Fields(
    {
        "name": name_form(
            "Of the HNS network that is made of the podCIDR of the machine's own Node, as cbr0."
        ),
        "type": Text(
            "l2bridge where nothing is said. transparent is for machines with a second network card that the"
            " pods have to themselves; what puts them there is another's, since win-bridge does not.",
            one_of=(BRIDGE, TRANSPARENT),
        ),
        "adapter": name_form(
            "The network card that it is on; where nothing is said, the one with the Node's InternalIP."
        ),
        "within": ListOf(
            prefix_form("All Nodes' pods, or some of them."),
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


def _wanted(checking: Checking, value: Value, place: Place) -> Iterator[Wanted]:
    given = mapping(value)
    for number, each in enumerate(texts(given.get("within"))):
        prefix = IPv4Network(each, strict=False)
        if str(prefix) != each:
            checking.wrong((*place, "within", number), f"there is no such network; is {prefix} meant?")
    if given.get("type") == TRANSPARENT:
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


KIND = single(_POD_NETWORK, _wanted)
