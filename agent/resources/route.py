"""A route: whether it is in force, and whether it is there again after the next start of Windows."""

from collections.abc import Mapping
from contextlib import suppress

from agent.host.errors import NotFound
from agent.host.networks import HNS
from agent.host.networks import Route as HostRoute
from agent.host.port import Host
from agent.resources.kind import Kept, Kind, State, Value
from agent.spec.networks import Route

_OVER = " over "
_METRIC = 256
"""What Windows' own tools give a route that is to have none."""


class RouteResource(Kind[Route]):
    firm = frozenset({"active", "persistent"})
    kept_by = HNS
    """A switch that it puts on an adapter takes the adapter's routes away."""
    is_routing = True

    def wanted(self, want: Route) -> State:
        wanted: dict[str, Value] = {"active": True, "persistent": want.persistent}
        if want.metric is not None:
            wanted["metric"] = want.metric
        if want.interface is not None:
            wanted["interface"] = want.interface
        return wanted

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
    state: dict[str, Value] = {
        "active": route.active,
        "persistent": route.persistent,
        "metric": route.metric,
    }
    return state if route.interface is None else {**state, "interface": route.interface}


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


KIND = RouteResource()
