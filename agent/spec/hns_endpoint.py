"""This machine's own place in a container network: an address, on an adapter that Windows makes for it."""

from dataclasses import dataclass

from agent.spec.want import Key, NamedWant


@dataclass(frozen=True, slots=True)
class HnsEndpoint(NamedWant):
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
