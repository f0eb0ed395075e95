"""A container network of Windows' Host Networking Service."""

import enum
from dataclasses import dataclass

from agent.spec.want import NamedWant


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
    kind = "hns_network"

    name: str
    type: NetworkType
    subnets: tuple[Subnet, ...] = ()
    adapter: str | None = None
    """The name of the network card that it is on."""
    address: str | None = None
    """Where no adapter is given, it is the one that has this address; without either it is the only one."""
    policies: tuple[NetworkPolicy, ...] = ()
