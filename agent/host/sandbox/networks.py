"""Container networks, kept as documents, with the order that Windows demands and nothing behind them."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.host import hcn_documents, winerror
from agent.host.errors import host_error
from agent.host.networks import ContainerNetwork, LoadBalancer, NetworkEndpoint
from agent.host.sandbox.state import Document, State

DOCUMENT = "networks.json"
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
