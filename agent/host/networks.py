"""What may be asked of a machine's container networks and its routes: a part of the port of its own, so that
who has neither loads nothing of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

HNS = "hns"
"""The service that keeps the networks."""


@dataclass(frozen=True, slots=True)
class Subnet:
    prefix: str
    gateway: str | None = None
    isolation: int | None = None
    """The number by which an overlay keeps networks apart: its VSID."""


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    type: str
    settings: str
    """A JSON object, its keys in order and without blanks: two that mean the same are the same."""


@dataclass(frozen=True, slots=True)
class ContainerNetwork:
    id: str
    """A GUID, in lower case."""
    name: str
    type: str
    """As HNS calls it: L2Bridge, Overlay, NAT, Transparent, and others that are nobody's here."""
    subnets: tuple[Subnet, ...] = ()
    adapter: str | None = None
    """What it was to be on; None where that was left to Windows, or there is none."""
    policies: tuple[NetworkPolicy, ...] = ()
    """Others than that of the adapter."""


@dataclass(frozen=True, slots=True)
class NetworkEndpoint:
    id: str
    name: str
    network: str
    """Its network's id; that network may be gone."""
    address: str = ""
    prefix_length: int = 0
    gateway: str | None = None
    mac: str | None = None
    """As 00-15-5D-01-02-03. HNS makes one where none is given."""
    is_attached: bool = False
    """To a container, or to the machine itself."""
    is_remote: bool = False
    """One of another machine, which a proxy has told HNS of."""


@dataclass(frozen=True, slots=True)
class LoadBalancer:
    """A policy list: what a proxy makes of a Service."""

    id: str
    endpoints: tuple[str, ...]


class Networks(Protocol):
    """Windows' Host Networking Service, which comes with the feature Containers. Unsupported without it."""

    def list(self) -> Sequence[ContainerNetwork]: ...
    def endpoints(self) -> Sequence[NetworkEndpoint]: ...
    def load_balancers(self) -> Sequence[LoadBalancer]: ...

    def create(self, network: ContainerNetwork) -> None:
        """A network has to be there before a proxy or a pod can use it. AlreadyExists for its name.

        The adapter may lose its address for a moment: Windows puts a switch between.
        """

    def delete(self, network: str) -> None:
        """With its endpoints. Load balancers that lead to one have to go first."""

    def create_endpoint(self, endpoint: NetworkEndpoint) -> None:
        """In its network; not attached to anything yet."""

    def attach(self, endpoint: str) -> None:
        """To the machine itself: it gets the endpoint's address, on an adapter named after it."""

    def delete_endpoint(self, endpoint: str) -> None: ...
    def delete_load_balancer(self, load_balancer: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Route:
    """IPv4."""

    destination: str
    """A prefix, as 10.244.3.0/24."""
    gateway: str
    metric: int = 0
    """What is added to the interface's own."""
    persistent: bool = False
    """Whether Windows makes it again at its next start."""
    interface: str | None = None
    """An address of the interface that it leads out of; None for the one that leads to the gateway. One that
    is read has the interface's first address."""
    active: bool = True
    """False for one that is only to come back at the next start."""


class Routes(Protocol):
    def list(self) -> Sequence[Route]:
        """Those that are in force, and those that are only to come back at the next start."""

    def find(self, destination: str, gateway: str) -> Route | None:
        """The same of one, and quicker: without its interface."""

    def add(self, route: Route) -> None:
        """In force at once. AlreadyExists for the same destination over the same gateway."""

    def remove(self, route: Route) -> None:
        """Now and for the next start. NotFound where it is neither."""

    def forwards(self, address: str) -> bool:
        """Whether the interface with that address hands IPv4 packets for others on. NotFound without one."""

    def set_forwarding(self, address: str, *, forwards: bool) -> None:
        """Until the interface goes, or Windows is started anew."""
