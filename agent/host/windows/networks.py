"""Container networks, by the Host Compute Network API."""

import sys

assert sys.platform == "win32"

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from agent.host import hcn_documents, winerror
from agent.host.errors import HostError
from agent.host.networks import ContainerNetwork, LoadBalancer, NetworkEndpoint
from agent.host.windows.api import hns
from agent.host.windows.failure import Win32Error, telling

T = TypeVar("T")

_PLURALS = {
    "Network": "container networks",
    "Endpoint": "network endpoints",
    "LoadBalancer": "load balancers",
}
_ADVICE = {
    winerror.ERROR_MOD_NOT_FOUND: "install the Windows feature Containers",
    # Asking starts it, if that can be.
    **dict.fromkeys(
        (winerror.RPC_S_SERVER_UNAVAILABLE, winerror.EPT_S_NOT_REGISTERED, winerror.HCN_E_MANAGER_STOPPED),
        "see why the service hns does not run",
    ),
}
_GONE = {winerror.HCN_E_NETWORK_NOT_FOUND, winerror.HCN_E_ENDPOINT_NOT_FOUND, winerror.ERROR_NOT_FOUND}


class WindowsNetworks:
    """What it needs is loaded when it is asked: most machines' documents name no network."""

    def list(self) -> Sequence[ContainerNetwork]:
        return self._all(hns.NETWORK, hcn_documents.network)

    def endpoints(self) -> Sequence[NetworkEndpoint]:
        return self._all(hns.ENDPOINT, hcn_documents.endpoint)

    def load_balancers(self) -> Sequence[LoadBalancer]:
        return self._all(hns.LOAD_BALANCER, hcn_documents.load_balancer)

    def create(self, network: ContainerNetwork) -> None:
        advice = "" if network.adapter is None else f"is there an adapter {network.adapter}?"
        with _telling("create", f"network {network.name}", advice):
            hns.create(hns.NETWORK, network.id, json.dumps(hcn_documents.of_network(network)))

    def delete(self, network: str) -> None:
        with _telling("delete", f"network {network}"):
            hns.delete(hns.NETWORK, network)

    def create_endpoint(self, endpoint: NetworkEndpoint) -> None:
        with _telling("create", f"network endpoint {endpoint.name}"):
            settings = json.dumps(hcn_documents.of_endpoint(endpoint))
            hns.create_endpoint(endpoint.network, endpoint.id, settings)

    def attach(self, endpoint: str) -> None:
        with _telling("attach to this machine", f"network endpoint {endpoint}"):
            hns.attach_to_host(endpoint, hcn_documents.ATTACH_TO_HOST)

    def delete_endpoint(self, endpoint: str) -> None:
        with _telling("delete", f"network endpoint {endpoint}"):
            hns.delete(hns.ENDPOINT, endpoint)

    def delete_load_balancer(self, load_balancer: str) -> None:
        with _telling("delete", f"load balancer {load_balancer}"):
            hns.delete(hns.LOAD_BALANCER, load_balancer)

    def _all(self, kind: str, read: Callable[[str, dict[str, Any]], T]) -> Sequence[T]:
        found = []
        with _telling("list", _PLURALS[kind]):
            for each in hns.identifiers(kind, hcn_documents.QUERY):
                try:
                    document = hns.properties(kind, each, hcn_documents.QUERY)
                except Win32Error as failure:
                    if failure.winerror not in _GONE:  # it was there a moment ago
                        raise
                else:
                    found.append(read(each, json.loads(document)))
        return found


@contextmanager
def _telling(action: str, subject: str, advice: str = "") -> Iterator[None]:
    try:
        with telling(action, subject, advice):
            yield
    except HostError as fault:
        if fault.code not in _ADVICE:
            raise
        raise type(fault)(action, subject, fault.code, _ADVICE[fault.code]) from fault
