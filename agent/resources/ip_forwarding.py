"""Whether an interface hands packets for others on. Windows forgets it with the adapter, and at a start."""

from agent.host.networks import HNS
from agent.host.port import Host
from agent.resources.hns_network import card
from agent.resources.kind import Kept, Kind, NotWell, State
from agent.spec.networks import IpForwarding

_THERE_WITHIN_SECONDS = 15.0
_PAUSE_SECONDS = 0.1


class IpForwardingResource(Kind[IpForwarding]):
    firm = frozenset({"forwards"})
    kept_by = HNS
    is_routing = True

    def wanted(self, want: IpForwarding) -> State:  # noqa: ARG002 - all alike
        return {"forwards": True}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is but one
        address = _address(host, name)
        return None if address is None else {"forwards": host.routes.forwards(address)}

    def apply(self, host: Host, want: IpForwarding, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - no content
        if (trouble := _set(host, want.interface, forwards=True)) is not None:
            raise NotWell(trouble)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        """Where there was no such interface it goes with its adapter."""
        return None if before is None else _set(host, name, forwards=bool(before["forwards"]))


def _set(host: Host, name: str, *, forwards: bool) -> str | None:
    """Why it could not be, in a line. What is not there hands nothing on anyhow."""
    address = _awaited(host, name) if forwards else _address(host, name)
    if address is not None:
        host.routes.set_forwarding(address, forwards=forwards)
    elif forwards:
        return f"IP forwarding: there is no interface {name} within {_THERE_WITHIN_SECONDS:g} seconds"
    return None


def _awaited(host: Host, name: str) -> str | None:
    """The adapter of an endpoint that was attached just now gets its address in its own time."""
    deadline = host.clock.monotonic() + _THERE_WITHIN_SECONDS
    while (address := _address(host, name)) is None and host.clock.monotonic() < deadline:
        host.clock.sleep(_PAUSE_SECONDS)
    return address


def _address(host: Host, name: str) -> str | None:
    """By which the interface is found: one of its own, of IPv4."""
    for each in host.facts.addresses():
        if ":" not in each.address and name in (each.address, card(each.interface)):
            return each.address
    return None


KIND = IpForwardingResource()
