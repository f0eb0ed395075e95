"""Routes to other networks."""

from ipaddress import IPv4Address, IPv4Network

from agent.sources.forms import Checking, Fields, Flag, ListOf, Number, text
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.kinds.values import address_form, prefix_form
from agent.sources.report import Place
from agent.spec.networks import Route

_ROUTE = Fields(
    {
        "destination": prefix_form("Where it leads to: the addresses of another node's pods, say."),
        "gateway": address_form("Over whom: that node's address."),
        "metric": Number("What is added to the interface's own; the least wins.", least=1, most=9_999),
        "interface": address_form(
            "One of the interface that it leads out of; left out, that is the one which leads to the gateway."
        ),
        "persistent": Flag("Whether Windows makes it again when it starts; true where nothing is said."),
    },
    needed=("destination", "gateway"),
)


def _route(checking: Checking, given: Given, place: Place) -> Route:
    destination, gateway = text(given["destination"]), text(given["gateway"])
    prefix = IPv4Network(destination, strict=False)
    if str(prefix) != destination:
        checking.wrong((*place, "destination"), f"there is no such network; is {prefix} meant?")
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


KIND = several(ListOf(_ROUTE, "Routes to other networks, IPv4.", most=5_000), _route)
