"""A route to another network over a gateway, IPv4."""

from dataclasses import dataclass

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class Route(Want):
    """Another one to the same destination, over another gateway, is another's and is left alone."""

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
