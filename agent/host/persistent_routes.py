"""Routes that Windows makes anew at each start, as `route -p` keeps them in the registry.

Each is a value of its own: destination, mask, gateway and metric are its name, and its text is empty.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from agent.host.errors import NotFound
from agent.host.networks import Route
from agent.host.port import Registry, RegistryKind, RegistryValue

KEY = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\PersistentRoutes"
_LEAST_METRIC = 1
"""What stands there for a route without one."""


def persistent_routes(registry: Registry) -> Sequence[Route]:
    return [route for _, route in _named(registry)]


def persistent_route(registry: Registry, route: Route) -> Route | None:
    """The one to that destination over that gateway; most likely it has the same metric."""
    if registry.read(KEY, _name(route)) is not None:
        return replace(route, metric=max(route.metric, _LEAST_METRIC), persistent=True, active=False)
    return next((kept for _, kept in _named(registry, _ends(route))), None)


def persist(registry: Registry, route: Route) -> None:
    registry.write(KEY, _name(route), RegistryValue(RegistryKind.STRING, ""))


def _name(route: Route) -> str:
    return f"{_ends(route)}{max(route.metric, _LEAST_METRIC)}"


def _ends(route: Route) -> str:
    """How its name begins, whatever its metric."""
    prefix = ipaddress.IPv4Network(route.destination)
    return f"{prefix.network_address},{prefix.netmask},{route.gateway},"


def forget(registry: Registry, route: Route) -> bool:
    """Whether there was one to that destination over that gateway; whatever its metric."""
    names = [name for name, _ in _named(registry, _ends(route))]
    for name in names:
        registry.remove(KEY, name)
    return bool(names)


def is_same(one: Route, other: Route) -> bool:
    return (one.destination, one.gateway) == (other.destination, other.gateway)


def together(active: Sequence[Route], kept: Sequence[Route]) -> Iterator[Route]:
    """All there are, each once: what is in force with whether it stays, and what is only to come back."""
    stay, are = ({(each.destination, each.gateway) for each in routes} for routes in (kept, active))
    for route in active:
        yield replace(route, persistent=(route.destination, route.gateway) in stay)
    for route in kept:
        if (route.destination, route.gateway) not in are:
            yield route


def _named(registry: Registry, begins: str = "") -> Iterator[tuple[str, Route]]:
    with suppress(NotFound):
        for name in registry.values(KEY):
            if not name.startswith(begins):
                continue
            with suppress(ValueError):  # somebody else's, and no IPv4 route as Windows writes them
                destination, mask, gateway, metric = name.split(",")
                prefix = ipaddress.IPv4Network((destination, mask))
                hop = ipaddress.IPv4Address(gateway)
                yield name, Route(str(prefix), str(hop), int(metric), persistent=True, active=False)
