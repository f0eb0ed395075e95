"""Routes: in force by the IP Helper API, and kept for the next start where `route -p` keeps them."""

import sys

assert sys.platform == "win32"

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from agent.host import winerror
from agent.host.errors import NotFound, Unsupported
from agent.host.networks import Route
from agent.host.persistent_routes import forget, persist, persistent_route, persistent_routes, together
from agent.host.port import Registry
from agent.host.windows.api import interfaces, routes
from agent.host.windows.api.network import addresses_by_index, index_of
from agent.host.windows.api.routes import Row
from agent.host.windows.failure import telling


class WindowsRoutes:
    """What it needs is loaded when it is asked: most machines' documents name no route."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def list(self) -> Sequence[Route]:
        with telling("list", "the routes"):
            interfaces = addresses_by_index()
            active = [
                Route(row.destination, row.gateway, row.metric, interface=interfaces.get(row.interface))
                for row in routes.rows()
            ]
        return list(together(active, persistent_routes(self._registry)))

    def find(self, destination: str, gateway: str) -> Route | None:
        with telling("find", f"the route to {destination} over {gateway}"):
            row = next(routes.rows_of(destination, gateway), None)
        route = Route(destination, gateway, row.metric if row else 0)
        kept = persistent_route(self._registry, route)
        return kept if row is None else replace(route, persistent=kept is not None)

    def add(self, route: Route) -> None:
        subject = f"the route to {route.destination} over {route.gateway}"
        with telling("add", subject):
            try:
                routes.add(self._row(route))
            except AttributeError:
                # Wine has no such function; every Windows since 2008 has.
                raise Unsupported("add", subject, winerror.ERROR_PROC_NOT_FOUND) from None
        forget(self._registry, route)
        if route.persistent:
            persist(self._registry, route)

    def remove(self, route: Route) -> None:
        subject = f"the route to {route.destination} over {route.gateway}"
        was_kept = forget(self._registry, route)
        with telling("remove", subject):
            was_there = routes.remove(route.destination, route.gateway)
        if not was_there and not was_kept:
            raise NotFound("remove", subject, winerror.ERROR_NOT_FOUND)

    def forwards(self, address: str) -> bool:
        with _forwarding("ask for", address):
            return interfaces.forwards(_index_of(address))

    def set_forwarding(self, address: str, *, forwards: bool) -> None:
        with _forwarding("set", address):
            interfaces.set_forwarding(_index_of(address), forwards=forwards)

    def _row(self, route: Route) -> Row:
        if route.interface is None:
            index = routes.best_interface(route.gateway)
        else:
            index = _index_of(route.interface)
        return routes.Row(route.destination, route.gateway, route.metric, index)


@contextmanager
def _forwarding(action: str, address: str) -> Iterator[None]:
    subject = f"the forwarding of the interface with address {address}"
    with telling(action, subject):
        try:
            yield
        except AttributeError:  # as above
            raise Unsupported(action, subject, winerror.ERROR_PROC_NOT_FOUND) from None


def _index_of(address: str) -> int:
    index = index_of(address)
    if index is None:
        raise NotFound("find", f"the interface with address {address}", winerror.ERROR_NOT_FOUND)
    return index
