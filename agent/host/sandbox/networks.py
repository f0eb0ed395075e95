"""Container networks and routes, kept as documents, in the order that Windows demands; nothing is behind."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.host import hcn_documents, winerror
from agent.host.errors import host_error
from agent.host.networks import ContainerNetwork, LoadBalancer, NetworkEndpoint, Route
from agent.host.persistent_routes import forget, is_same, persist, persistent_routes, together
from agent.host.port import Facts, Registry
from agent.host.sandbox.state import Document, State

DOCUMENT = "networks.json"
_ROUTES = "routes.json"
_NETWORKS, _ENDPOINTS, _LOAD_BALANCERS = "networks", "endpoints", "load_balancers"


_ATTACHED = "HostComputeNamespace"
_HOST = "0d4e8a6b-6f0a-4f7e-9d0c-2a3a61b0b001"


class SandboxNetworks:
    def __init__(self, state: State) -> None:
        self._state = state

    def list(self) -> Sequence[ContainerNetwork]:
        found = self._read(_NETWORKS).items()
        return [hcn_documents.network(each, document) for each, document in found]

    def endpoints(self) -> Sequence[NetworkEndpoint]:
        found = self._read(_ENDPOINTS).items()
        return [hcn_documents.endpoint(each, document) for each, document in found]

    def load_balancers(self) -> Sequence[LoadBalancer]:
        found = self._read(_LOAD_BALANCERS).items()
        return [hcn_documents.load_balancer(each, document) for each, document in found]

    def create(self, network: ContainerNetwork) -> None:
        with self._state.changing(DOCUMENT) as document:
            networks = document.setdefault(_NETWORKS, {})
            if network.id in networks or network.name in [each["Name"] for each in networks.values()]:
                raise host_error("create", f"network {network.name}", winerror.HCN_E_NETWORK_ALREADY_EXISTS)
            networks[network.id] = hcn_documents.of_network(network)

    def delete(self, network: str) -> None:
        with self._state.changing(DOCUMENT) as document:
            endpoints = document.get(_ENDPOINTS, {})
            its = {key for key, each in endpoints.items() if each["HostComputeNetwork"] == network}
            if any(its.intersection(each) for each in _references(document)):
                raise host_error("delete", f"network {network}", winerror.HCN_E_ENTITY_HAS_REFERENCES)
            _remove(document, _NETWORKS, network, "network", winerror.HCN_E_NETWORK_NOT_FOUND)
            for each in its:
                del endpoints[each]

    def create_endpoint(self, endpoint: NetworkEndpoint) -> None:
        with self._state.changing(DOCUMENT) as document:
            if endpoint.network not in document.get(_NETWORKS, {}):
                raise host_error(
                    "create", f"network endpoint {endpoint.name}", winerror.HCN_E_NETWORK_NOT_FOUND
                )
            document.setdefault(_ENDPOINTS, {})[endpoint.id] = hcn_documents.of_endpoint(endpoint)

    def attach(self, endpoint: str) -> None:
        with self._state.changing(DOCUMENT) as document:
            subject = f"network endpoint {endpoint}"
            if endpoint not in document.get(_ENDPOINTS, {}):
                raise host_error("attach to this machine", subject, winerror.HCN_E_ENDPOINT_NOT_FOUND)
            if _ATTACHED in document[_ENDPOINTS][endpoint]:
                raise host_error("attach to this machine", subject, winerror.HCN_E_ENDPOINT_ALREADY_ATTACHED)
            document[_ENDPOINTS][endpoint][_ATTACHED] = _HOST

    def delete_endpoint(self, endpoint: str) -> None:
        with self._state.changing(DOCUMENT) as document:
            _remove(document, _ENDPOINTS, endpoint, "network endpoint", winerror.HCN_E_ENDPOINT_NOT_FOUND)

    def delete_load_balancer(self, load_balancer: str) -> None:
        with self._state.changing(DOCUMENT) as document:
            _remove(document, _LOAD_BALANCERS, load_balancer, "load balancer", winerror.ERROR_NOT_FOUND)

    def reboot(self) -> None:
        """Networks and endpoints stay, attached to nothing any more; what a proxy told of is forgotten."""
        with self._state.changing(DOCUMENT) as document:
            document.pop(_LOAD_BALANCERS, None)
            for each in document.get(_ENDPOINTS, {}).values():
                each.pop(_ATTACHED, None)

    def _read(self, part: str) -> dict[str, Any]:
        found: dict[str, Any] = self._state.read(DOCUMENT).get(part, {})
        return found


def attached(document: Document) -> Mapping[str, Document]:
    """Endpoints that are the machine's own, by their addresses."""
    its_own = [each for each in document.get(_ENDPOINTS, {}).values() if _ATTACHED in each]
    return {each["IpConfigurations"][0]["IpAddress"]: each for each in its_own}


def _references(document: Document) -> Sequence[Sequence[str]]:
    return [each["HostComputeEndpoints"] for each in document.get(_LOAD_BALANCERS, {}).values()]


def _remove(document: Document, part: str, key: str, what: str, code: int) -> None:
    if document.get(part, {}).pop(key, None) is None:
        raise host_error("delete", f"{what} {key}", code)


_ACTIVE, _FORWARDING = "active", "forwarding"


class SandboxRoutes:
    def __init__(self, state: State, registry: Registry, facts: Facts) -> None:
        self._state = state
        self._registry = registry
        self._facts = facts

    def list(self) -> Sequence[Route]:
        active = [Route(**each) for each in self._state.read(_ROUTES).get(_ACTIVE, [])]
        return list(together(active, persistent_routes(self._registry)))

    def find(self, destination: str, gateway: str) -> Route | None:
        wanted = Route(destination, gateway)
        return next((replace(each, interface=None) for each in self.list() if is_same(each, wanted)), None)

    def add(self, route: Route) -> None:
        interface = self._interface(route)
        with self._state.changing(_ROUTES) as document:
            active = document.setdefault(_ACTIVE, [])
            if any(is_same(Route(**each), route) for each in active):
                raise host_error("add", _told(route), winerror.ERROR_OBJECT_ALREADY_EXISTS)
            active.append(_entry(route, interface))
        forget(self._registry, route)
        if route.persistent:
            persist(self._registry, route)

    def remove(self, route: Route) -> None:
        was_kept = forget(self._registry, route)
        with self._state.changing(_ROUTES) as document:
            before = document.get(_ACTIVE, [])
            document[_ACTIVE] = [each for each in before if not is_same(Route(**each), route)]
            if len(document[_ACTIVE]) == len(before) and not was_kept:
                raise host_error("remove", _told(route), winerror.ERROR_NOT_FOUND)

    def forwards(self, address: str) -> bool:
        self._check(address)
        endpoint = attached(self._state.read(DOCUMENT)).get(address)
        if endpoint is not None:
            return bool(endpoint.get(_FORWARDING))
        return address in self._state.read(_ROUTES).get(_FORWARDING, ())

    def set_forwarding(self, address: str, *, forwards: bool) -> None:
        self._check(address)
        with self._state.changing(DOCUMENT) as document:
            endpoint = attached(document).get(address)
            if endpoint is not None:
                endpoint[_FORWARDING] = forwards  # it goes with it
                return
        with self._state.changing(_ROUTES) as document:
            others = set(document.get(_FORWARDING, ())) - {address}
            document[_FORWARDING] = sorted({*others, address} if forwards else others)

    def in_force(self) -> object:
        """All that Windows' IP stack would tell of: other than before when it has changed."""
        return self._state.read(_ROUTES), attached(self._state.read(DOCUMENT))

    def reboot(self) -> None:
        with self._state.changing(_ROUTES) as document:
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
