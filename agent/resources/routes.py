"""Routes, and whether an interface hands packets for others on."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar

from agent.host.errors import NotFound
from agent.host.networks import HNS
from agent.host.networks import Route as HostRoute
from agent.host.port import Host
from agent.resources.kind import Kept, Kind, NotWell, State, without_none
from agent.spec.networks import IpForwarding, Route

_SWITCHED = re.compile(r"vEthernet \((.+)\)( \d+)?", re.IGNORECASE)
"""How Windows calls the adapter that has the addresses, once there is a switch on the card itself; with a
number where one is left that was called so."""
_OVER = " over "
_METRIC = 256
"""What Windows' own tools give a route that is to have none."""


class RouteResource(Kind[Route]):
    """A route: whether it is in force, and whether it is there again after the next start of Windows."""

    firm = frozenset({"active", "persistent"})
    kept_by = HNS
    """A switch that it puts on an adapter takes the adapter's routes away."""
    is_routing = True

    def wanted(self, want: Route) -> State:
        chosen = without_none({"metric": want.metric, "interface": want.interface})
        return {"active": True, "persistent": want.persistent, **chosen}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        destination, _, gateway = name.partition(_OVER)
        found = host.routes.find(destination, gateway)
        if found is None:
            return None
        state = _state(found)
        if wanted and all(state.get(field) == value for field, value in wanted.items()):
            return state
        return self.observe_all(host).get(name)  # all of it: it may have to come back

    def observe_all(self, host: Host) -> Mapping[str, State]:
        return {f"{each.destination}{_OVER}{each.gateway}": _state(each) for each in host.routes.list()}

    def apply(self, host: Host, want: Route, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - made anew
        if found is not None:
            _remove(host, want.key.name)
        _make(host, want.key.name, {**(found or {}), **self.wanted(want)})

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is None:
            _remove(host, name)
        elif self.observe(host, name, before) != before:
            # Windows has no other way to give one another metric.
            _remove(host, name)
            _make(host, name, before)
        return None


def _state(route: HostRoute) -> State:
    interface = without_none({"interface": route.interface})
    return {"active": route.active, "persistent": route.persistent, "metric": route.metric, **interface}


def _make(host: Host, name: str, state: State) -> None:
    destination, _, gateway = name.partition(_OVER)
    metric, interface = state.get("metric"), state.get("interface")
    host.routes.add(
        HostRoute(
            destination,
            gateway,
            metric if isinstance(metric, int) else _METRIC,
            persistent=bool(state["persistent"]),
            interface=None if interface is None else str(interface),
        )
    )


def _remove(host: Host, name: str) -> None:
    destination, _, gateway = name.partition(_OVER)
    with suppress(NotFound):
        host.routes.remove(HostRoute(destination, gateway))


_THERE_WITHIN_SECONDS = 15.0
_PAUSE_SECONDS = 0.1


class IpForwardingResource(Kind[IpForwarding]):
    """Whether an interface hands packets for others on.

    Windows forgets it with the adapter, and at a start.
    """

    firm = frozenset({"forwards"})
    kept_by = HNS
    is_routing = True
    wanted_of_all: ClassVar[State] = {"forwards": True}

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


def card(interface: str) -> str:
    """Return the name of the network card that this interface is, or is a switch on."""
    switched = _SWITCHED.fullmatch(interface)
    return switched[1] if switched else interface
