"""Rules of Windows' firewall."""

import ipaddress

from agent.sources.forms import Checking, Fields, Flag, ListOf, Text, text, texts
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.kinds.values import path_form, service_name_form
from agent.sources.report import Place
from agent.spec.networks import FirewallRule

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
        "program": path_form("Only for this program."),
        "service": service_name_form("Only for this service."),
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


KIND = several(ListOf(_RULE, "What Windows' firewall lets through, or does not.", most=200), _rule)
