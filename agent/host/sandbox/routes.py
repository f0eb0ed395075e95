"""Routes that lead nowhere."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent.host import winerror
from agent.host.errors import host_error
from agent.host.networks import Route
from agent.host.persistent_routes import forget, is_same, persist, persistent_routes, together
from agent.host.port import Facts, Registry
from agent.host.sandbox.networks import DOCUMENT as NETWORKS
from agent.host.sandbox.networks import attached
from agent.host.sandbox.state import State

_DOCUMENT = "routes.json"
_ACTIVE, _FORWARDING = "active", "forwarding"


class SandboxRoutes:
    def __init__(self, state: State, registry: Registry, facts: Facts) -> None:
        self._state = state
        self._registry = registry
        self._facts = facts

    def list(self) -> Sequence[Route]:
        active = [Route(**each) for each in self._state.read(_DOCUMENT).get(_ACTIVE, [])]
        return list(together(active, persistent_routes(self._registry)))

    def find(self, destination: str, gateway: str) -> Route | None:
        wanted = Route(destination, gateway)
        return next((replace(each, interface=None) for each in self.list() if is_same(each, wanted)), None)

    def add(self, route: Route) -> None:
        interface = self._interface(route)
        with self._state.changing(_DOCUMENT) as document:
            active = document.setdefault(_ACTIVE, [])
            if any(is_same(Route(**each), route) for each in active):
                raise host_error("add", _told(route), winerror.ERROR_OBJECT_ALREADY_EXISTS)
            active.append(_entry(route, interface))
        forget(self._registry, route)
        if route.persistent:
            persist(self._registry, route)

    def remove(self, route: Route) -> None:
        was_kept = forget(self._registry, route)
        with self._state.changing(_DOCUMENT) as document:
            before = document.get(_ACTIVE, [])
            document[_ACTIVE] = [each for each in before if not is_same(Route(**each), route)]
            if len(document[_ACTIVE]) == len(before) and not was_kept:
                raise host_error("remove", _told(route), winerror.ERROR_NOT_FOUND)

    def forwards(self, address: str) -> bool:
        self._check(address)
        endpoint = attached(self._state.read(NETWORKS)).get(address)
        if endpoint is not None:
            return bool(endpoint.get(_FORWARDING))
        return address in self._state.read(_DOCUMENT).get(_FORWARDING, ())

    def set_forwarding(self, address: str, *, forwards: bool) -> None:
        self._check(address)
        with self._state.changing(NETWORKS) as document:
            endpoint = attached(document).get(address)
            if endpoint is not None:
                endpoint[_FORWARDING] = forwards  # it goes with it
                return
        with self._state.changing(_DOCUMENT) as document:
            others = set(document.get(_FORWARDING, ())) - {address}
            document[_FORWARDING] = sorted({*others, address} if forwards else others)

    def in_force(self) -> object:
        """All that Windows' IP stack would tell of: other than before when it has changed."""
        return self._state.read(_DOCUMENT), attached(self._state.read(NETWORKS))

    def reboot(self) -> None:
        with self._state.changing(_DOCUMENT) as document:
            document.pop(_FORWARDING, None)
            kept = persistent_routes(self._registry)
            document[_ACTIVE] = [_entry(each, self._interface(each)) for each in kept]

    def _interface(self, route: Route) -> str:
        if route.interface is None:
            return next(each.address for each in self._facts.addresses())
        self._check(route.interface)
        return route.interface

    def _check(self, address: str) -> None:
        if address not in [each.address for each in self._facts.addresses()]:
            raise host_error("find", f"the interface with address {address}", winerror.ERROR_NOT_FOUND)


def _entry(route: Route, interface: str) -> dict[str, Any]:
    return {
        "destination": route.destination,
        "gateway": route.gateway,
        "metric": route.metric,
        "interface": interface,
    }


def _told(route: Route) -> str:
    return f"the route to {route.destination} over {route.gateway}"
