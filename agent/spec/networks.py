"""How a machine is reached: container networks, routes, the firewall. Loaded where a document names one."""

import enum
from dataclasses import dataclass

from agent.spec.specification import Key, NamedWant, Want


class NetworkType(enum.Enum):
    """As HNS spells them."""

    L2BRIDGE = "L2Bridge"
    """Pods have addresses of the node's own network, or of one that others have routes to."""
    OVERLAY = "Overlay"
    """Pods' packets travel in VXLAN."""
    NAT = "NAT"
    TRANSPARENT = "Transparent"


@dataclass(frozen=True, slots=True)
class Subnet:
    prefix: str
    gateway: str | None = None
    vsid: int | None = None
    """Of an overlay's."""


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    type: str
    settings: str
    """A JSON object, its keys in order and without blanks."""


@dataclass(frozen=True, slots=True)
class HnsNetwork(NamedWant):
    """A container network of Windows' Host Networking Service."""

    kind = "hns_network"

    name: str
    type: NetworkType
    subnets: tuple[Subnet, ...] = ()
    adapter: str | None = None
    """The name of the network card that it is on."""
    address: str | None = None
    """Where no adapter is given, it is the one that has this address; without either it is the only one."""
    policies: tuple[NetworkPolicy, ...] = ()


@dataclass(frozen=True, slots=True)
class HnsEndpoint(NamedWant):
    """This machine's place in a container network: an address, on an adapter that Windows makes for it."""

    kind = "hns_endpoint"

    name: str
    network: str
    """Its network's name."""
    address: str
    gateway: str | None = None
    mac: str | None = None
    """As 00-15-5D-01-02-03; HNS makes one where none is given."""

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("hns_network", self.network),)


@dataclass(frozen=True, slots=True)
class ForeignEndpoint(Want):
    """The machine's own endpoint in a container network that another program makes.

    Not to be made, but out of the way when its network is lost: the program makes no other beside it.
    """

    kind = "foreign_endpoint"

    name: str
    program: str
    """The file name of who makes it."""

    @property
    def key(self) -> Key:
        return Key(self.kind, f"{self.name} of {self.program}")


@dataclass(frozen=True, slots=True)
class Route(Want):
    """A route to another network over a gateway, IPv4.

    Another one to the same destination, over another gateway, is another's and is left alone.
    """

    kind = "route"

    destination: str
    """As 10.244.3.0/24."""
    gateway: str
    metric: int | None = None
    """What is added to the interface's own; None for whatever it has, and Windows' default for a new one."""
    interface: str | None = None
    """An address of the interface that it leads out of; None for the one that leads to the gateway."""
    persistent: bool = True
    """Windows makes it again at its next start."""

    @property
    def key(self) -> Key:
        return Key(self.kind, f"{self.destination} over {self.gateway}")


@dataclass(frozen=True, slots=True)
class IpForwarding(Want):
    """An interface that hands packets for others on, as between pods and the rest of the world."""

    kind = "ip_forwarding"

    interface: str
    """An address that it has, or the name of a network card, switched or not."""
    of: Key
    """The network or endpoint by which there is such an interface."""

    @property
    def key(self) -> Key:
        return Key(self.kind, self.interface)

    @property
    def uses(self) -> tuple[Key, ...]:
        return (self.of,)


@dataclass(frozen=True, slots=True)
class FirewallRule(NamedWant):
    """What Windows' firewall lets through, or does not.

    Known by its name, though Windows lets several have one: that of another is not taken for ours.
    """

    kind = "firewall_rule"

    name: str
    description: str = ""
    direction: str = "in"
    """Or out."""
    action: str = "allow"
    """Or block."""
    protocol: str = "any"
    """tcp, udp, icmpv4, icmpv6, or a number."""
    local_ports: tuple[str, ...] = ()
    """Numbers and ranges; none for any."""
    remote_ports: tuple[str, ...] = ()
    remote_addresses: tuple[str, ...] = ()
    """Addresses, networks, ranges, or Windows' words for some (LocalSubnet); none for any."""
    program: str = ""
    service: str = ""
    profiles: tuple[str, ...] = ()
    """Of domain, private and public; none for all."""
    takes_over: bool = False
    """One of this name that somebody else has made is changed, and given back in the end."""
