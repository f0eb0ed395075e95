"""A route: whether it is in force, and whether it is there again after the next start of Windows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent.host.errors import NotFound
from agent.host.networks import HNS
from agent.host.networks import Route as HostRoute
from agent.resources.kind import Kind
from agent.spec.route import Route

if TYPE_CHECKING:
    from agent.host.port import Host
    from agent.resources.kind import Kept, State, Value
    from agent.spec import Want

_OVER = " over "
_METRIC = 256
"""What Windows' own tools give a route that is to have none."""


class RouteResource(Kind):
    firm = frozenset({"active", "persistent"})
    kept_by = HNS
    """A switch that it puts on an adapter takes the adapter's routes away."""

    def wanted(self, want: Want) -> State:
        assert isinstance(want, Route)
        wanted: dict[str, Value] = {"active": True, "persistent": want.persistent}
        if want.metric is not None:
            wanted["metric"] = want.metric
        if want.interface is not None:
            wanted["interface"] = want.interface
        return wanted

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all are cheap
        destination, _, gateway = name.partition(_OVER)
        for each in host.routes.list():
            if (each.destination, each.gateway) == (destination, gateway):
                return {
                    "active": each.active,
                    "persistent": each.persistent,
                    "metric": each.metric,
                    "interface": each.interface,
                }
        return None

    def apply(self, host: Host, want: Want, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - made anew
        assert isinstance(want, Route)
        _make_anew(host, want.key.name, {**(found or {}), **self.wanted(want)})

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is None:
            _remove(host, name)
        elif self.observe(host, name, {}) != before:
            _make_anew(host, name, before)
        return None


def _make_anew(host: Host, name: str, state: State) -> None:
    """Windows has no other way to give one another metric."""
    _remove(host, name)
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


KIND = RouteResource()
