"""An interface of the machine that hands packets for others on, as between pods and the rest of the world."""

from dataclasses import dataclass

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class IpForwarding(Want):
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
