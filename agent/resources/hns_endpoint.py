"""This machine's own endpoint in a container network: one that is stale cannot be used, and is replaced."""

import ipaddress
import uuid
from collections.abc import Sequence
from contextlib import suppress

from agent.host.errors import Unsupported
from agent.host.networks import HNS, ContainerNetwork, NetworkEndpoint
from agent.host.port import Host
from agent.resources.hns_objects import delete_endpoint
from agent.resources.kind import CannotBeSo, Kept, Kind, State, Value
from agent.spec.networks import HnsEndpoint

_OURS = uuid.UUID("0f1d2f7e-3f7c-4a35-8f2b-5f0f6c4f0b77")
"""Out of this and its name comes the id of an endpoint that is made here: so it is known for ours."""


class HnsEndpointResource(Kind[HnsEndpoint]):
    firm = frozenset({"network", "address"})
    kept_by = HNS
    is_routing = True
    """It is an adapter of the machine's."""

    def wanted(self, want: HnsEndpoint) -> State:
        wanted: dict[str, Value] = {"network": want.network, "address": want.address, "attached": True}
        if want.gateway is not None:
            wanted["gateway"] = want.gateway
        if want.mac is not None:
            wanted["mac"] = want.mac
        return wanted

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all are cheap
        """One whose network is gone is as good as none."""
        found = _named(host, name)
        networks = {each.id: each.name for each in host.networks.list()} if found else {}
        living = [each for each in found if each.network in networks]
        if not living:
            return None
        endpoint = living[0]
        own = {each.address for each in host.facts.addresses()}
        return {
            "id": endpoint.id,
            "network": networks[endpoint.network],
            "address": endpoint.address,
            "gateway": endpoint.gateway,
            "mac": endpoint.mac,
            "attached": endpoint.is_attached or endpoint.address in own,
        }

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        if field == "mac":
            return _mac(wanted) == _mac(found)
        return wanted == found

    def obstacle(self, want: HnsEndpoint, found: State | None) -> str | None:
        if found is None or found["id"] == _own_id(want.name) or not found["attached"]:
            return None  # to which nothing is attached is nobody's: a start of Windows has left it
        if self._is_so(self.wanted(want), found):
            return None
        return (
            f"there is a network endpoint {want.name} that another program made, and it is otherwise"
            f" ({found['address']} in {found['network']}); delete it, or use another name"
        )

    def apply(self, host: Host, want: HnsEndpoint, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - no content
        _make_anew(host, want.name, self.wanted(want))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        there = self.observe(host, name, {})
        if before is None:
            for each in _named(host, name):
                if each.id == _own_id(name):
                    delete_endpoint(host, each.id)
        elif there is None or not self._is_so(before, there) or there["attached"] != before["attached"]:
            if (
                there is not None
                and there["attached"]
                and there["id"] not in (_own_id(name), before.get("id"))
            ):
                return f"network endpoint {name} is another program's now, and stays"
            _make_anew(host, name, before)
        return None

    def _is_so(self, wanted: State, found: State) -> bool:
        return all(self.same(field, wanted[field], found[field]) for field in self.firm)


def _named(host: Host, name: str) -> Sequence[NetworkEndpoint]:
    with suppress(Unsupported):
        return [each for each in host.networks.endpoints() if each.name == name and not each.is_remote]
    return ()


def _own_id(name: str) -> str:
    return str(uuid.uuid5(_OURS, name))


def _make_anew(host: Host, name: str, state: State) -> None:
    """Also where only the attachment is lost: Windows attaches none that has been so before."""
    network = next((each for each in host.networks.list() if each.name == state["network"]), None)
    if network is None:
        raise CannotBeSo(f"network endpoint {name}: there is no network {state['network']} for it")
    for each in _named(host, name):
        delete_endpoint(host, each.id)
    address = str(state["address"])
    gateway, mac = state.get("gateway"), state.get("mac")
    endpoint = NetworkEndpoint(
        _own_id(name),
        name,
        network.id,
        address,
        _prefix_length(name, network, address),
        None if gateway is None else str(gateway),
        None if mac is None else str(mac),
    )
    host.networks.create_endpoint(endpoint)
    if state["attached"]:
        host.networks.attach(endpoint.id)


def _prefix_length(name: str, network: ContainerNetwork, address: str) -> int:
    for subnet in network.subnets:
        prefix = ipaddress.ip_network(subnet.prefix)
        if ipaddress.ip_address(address) in prefix:
            return prefix.prefixlen
    raise CannotBeSo(f"network endpoint {name}: {address} is in no subnet of network {network.name}")


def _mac(value: Value) -> str:
    return str(value).replace(":", "-").upper()


KIND = HnsEndpointResource()
