"""Container networks of Windows' Host Networking Service, and their endpoints."""

import ipaddress
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, cast

from agent.host.errors import HostError, NotFound, Unsupported
from agent.host.networks import HNS, ContainerNetwork, NetworkEndpoint, NetworkPolicy, Route, Subnet
from agent.host.port import Host
from agent.resources.container_program import is_running
from agent.resources.kind import CannotBeSo, Kept, Kind, NotWell, State, Value, W, without_none
from agent.resources.routes import card
from agent.spec import Want
from agent.spec.networks import HnsEndpoint, HnsNetwork, NetworkType

_OUR_NETWORKS = uuid.UUID("6ab7d6ac-7d2b-4a3e-9d53-7c0a3f1e5b10")
"""Out of this and its name comes the id of a network that is made here: so it is known for ours."""
_OUR_ENDPOINTS = uuid.UUID("0f1d2f7e-3f7c-4a35-8f2b-5f0f6c4f0b77")
"""The same of an endpoint."""

_ON_AN_ADAPTER = (NetworkType.L2BRIDGE.value, NetworkType.OVERLAY.value, NetworkType.TRANSPARENT.value)
_ON_LINK, _EVERYBODY = "0.0.0.0", "255.255.255.255/32"  # noqa: S104 (compared with)
_BACK_WITHIN_SECONDS = 60.0
_PAUSE_SECONDS = 0.1


class _HnsResource(Kind[W]):
    """What Windows forgets with the service, and what changes the machine's adapters."""

    kept_by = HNS
    is_routing = True

    def _is_so(self, wanted: State, found: State) -> bool:
        return all(self.same(field, wanted[field], found[field]) for field in self.firm if field in wanted)


class HnsNetworkResource(_HnsResource[HnsNetwork]):
    """A container network: made anew when it is lost, since HNS changes none that is there."""

    firm = frozenset({"type", "subnets"})

    def wanted(self, want: HnsNetwork) -> State:
        # Where none are given HNS chooses the subnets.
        subnets = [[each.prefix, each.gateway, each.vsid] for each in want.subnets] or None
        policies = [[each.type, each.settings] for each in want.policies] or None
        return without_none(
            {"type": want.type.value, "subnets": subnets, "policies": policies, "adapter": want.adapter}
        )

    def manner(self, want: HnsNetwork) -> State:
        return without_none({"address": want.address})

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all are cheap
        found = _network_named(host, name)
        if found is None:
            return None
        return {
            "id": found.id,
            "type": found.type,
            "subnets": [[each.prefix, each.gateway, each.isolation] for each in found.subnets],
            "policies": [[each.type, each.settings] for each in found.policies],
            "adapter": found.adapter,
        }

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        if field == "policies":
            # HNS adds its own, and a network's daemon those of other nodes.
            return all(
                each in cast("Sequence[Value]", found or ()) for each in cast("Sequence[Value]", wanted)
            )
        if field == "subnets":
            return _are_those(
                cast("Sequence[Sequence[Value]]", wanted), cast("Sequence[Sequence[Value]]", found or ())
            )
        return wanted == found

    def shown(self, field: str, value: Value, manner: State) -> str:
        if field == "subnets" and isinstance(value, list):
            return ", ".join(_subnet_in_words(each) for each in value) or "none"
        if field == "policies" and isinstance(value, list):
            return ", ".join(f"{kind} {settings}" for kind, settings in value) or "none"
        return super().shown(field, value, manner)

    def obstacle(self, want: HnsNetwork, found: State | None) -> str | None:
        if (
            found is None
            or found["id"] == _own_id(_OUR_NETWORKS, want.name)
            or self._is_so(self.wanted(want), found)
        ):
            return None
        subnets = self.shown("subnets", found["subnets"], {})
        return (
            f"there is a network {want.name} that another program made, and it is otherwise"
            f" ({found['type']}, {subnets}); delete it, or use another name"
        )

    def apply(self, host: Host, want: HnsNetwork, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - no content
        if found is None or not self._is_so(self.wanted(want), found):
            _make_network_anew(
                host, want.name, _own_id(_OUR_NETWORKS, want.name), self.wanted(want), self.manner(want)
            )

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        there = self.observe(host, name, {})
        if before and there and all(before[field] == there[field] for field in self.firm):
            return None
        if there is not None:
            if there["id"] not in (_own_id(_OUR_NETWORKS, name), (before or {}).get("id")):
                return f"network {name} is another program's now, and stays"
            if before is None:
                return _deleted(host, name, there, manner)
        if before is not None:
            _make_network_anew(
                host, name, str(before.get("id", _own_id(_OUR_NETWORKS, name))), before, manner
            )
        return None


def _are_those(wanted: Sequence[Sequence[Value]], found: Sequence[Sequence[Value]]) -> bool:
    """HNS chooses a gateway where none is given."""
    if len(wanted) != len(found):
        return False
    return all(
        each == [prefix, gateway if each[1] is not None else None, vsid]
        for each, (prefix, gateway, vsid) in zip(wanted, found, strict=True)
    )


def _network_named(host: Host, name: str) -> ContainerNetwork | None:
    with suppress(Unsupported):  # without HNS there is no network; making one says what to do
        return next((each for each in host.networks.list() if each.name == name), None)
    return None


def _deleted(host: Host, name: str, there: State, manner: State) -> str | None:
    """In a line why the machine may not be reached now. What comes next may need the card's addresses."""
    before = _connection_of(host, there["adapter"], manner.get("address"))
    delete_network(host, str(there["id"]))
    try:
        _wait_for(host, name, before)
    except NotWell as trouble:
        return str(trouble)
    return None


def _make_network_anew(host: Host, name: str, identifier: str, state: State, manner: State) -> None:
    networks = host.networks.list()
    adapter = state.get("adapter")
    if adapter is None and state["type"] in _ON_AN_ADAPTER:
        adapter = _adapter(host, name, manner.get("address"), networks)
    # With the last network the switch goes, and the card has no addresses for seconds.
    before = _connection_of(host, adapter, manner.get("address"))
    for each in networks:
        if each.name == name:
            delete_network(host, each.id)
            _wait_for(host, name, before)
    delete_what_leads_nowhere(host)
    subnets = [
        Subnet(*each)
        for each in cast("Sequence[tuple[str, str | None, int | None]]", state.get("subnets", ()))
    ]
    policies = cast("Sequence[tuple[str, str]]", state.get("policies", ()))
    host.networks.create(
        ContainerNetwork(
            identifier,
            name,
            str(state["type"]),
            tuple(subnets),
            None if adapter is None else str(adapter),
            tuple(NetworkPolicy(*each) for each in policies),
        )
    )
    _wait_for(host, name, before)


def _adapter(host: Host, name: str, address: Value, networks: Collection[ContainerNetwork]) -> str:
    """By the node's address; or the only one that has an address that is not a container network's."""
    cards = _cards(host, networks)
    if address is not None:
        if address not in cards:
            raise CannotBeSo(f"network {name}: no adapter of this machine has the address {address}")
        return cards[str(address)]
    if len(set(cards.values())) != 1:
        found = ", ".join(sorted(set(cards.values()))) or "none"
        raise CannotBeSo(f"network {name}: say on which adapter, there is not just one ({found})")
    return next(iter(cards.values()))


def _cards(host: Host, networks: Collection[ContainerNetwork]) -> Mapping[str, str]:
    """The name of the network card by each address."""
    subnets = [ipaddress.ip_network(each.prefix) for network in networks for each in network.subnets]
    cards = {}
    for each in host.facts.addresses():
        address = ipaddress.ip_address(each.address)
        if not address.is_link_local and not any(address in subnet for subnet in subnets):
            cards[each.address] = card(each.interface)
    return cards


@dataclass(frozen=True, slots=True)
class _Connection:
    """What a card has that is to be there again afterwards."""

    addresses: Collection[str]
    routes: Sequence[Route]


def _connection_of(host: Host, adapter: Value, address: Value) -> _Connection:
    addresses = _addresses_of(host, adapter, address)
    subnets = [
        ipaddress.IPv4Network(f"{each.address}/{each.prefix_length}", strict=False)
        for each in host.facts.addresses()
        if each.address in addresses and ":" not in each.address
    ]
    routes = [each for each in host.routes.list() if each.active and each.interface in addresses]
    return _Connection(addresses, [each for each in routes if not _is_windows_own(each, subnets)])


def _is_windows_own(route: Route, subnets: Collection[ipaddress.IPv4Network]) -> bool:
    """Whether it comes with the address: the default one, and those to the subnet itself and to all in it."""
    to = ipaddress.IPv4Network(route.destination)
    if route.gateway != _ON_LINK:
        return to.prefixlen == 0
    return (
        to.is_multicast or route.destination == _EVERYBODY or any(to.subnet_of(subnet) for subnet in subnets)
    )


def _addresses_of(host: Host, adapter: Value, address: Value) -> Collection[str]:
    """Those that come back. Another adapter has other link-local ones, and makes those of IPv6 itself."""
    its = [each.address for each in host.facts.addresses() if card(each.interface) == adapter]
    lasting = {each for each in its if ":" not in each and not ipaddress.ip_address(each).is_link_local}
    return lasting or {each for each in its if each == address}


def _wait_for(host: Host, name: str, before: _Connection) -> None:
    """Windows takes the addresses from the card, and gives them to the switch: until then the node has no
    network. Routes that others had made it forgets, as those of a cloud to its metadata.
    """
    deadline = host.clock.monotonic() + _BACK_WITHIN_SECONDS
    while lost := set(before.addresses) - {each.address for each in host.facts.addresses()}:
        if host.clock.monotonic() > deadline:
            raise NotWell(
                f"network {name} took the address {', '.join(sorted(lost))} from its adapter, and did not"
                f" give it back within {_BACK_WITHIN_SECONDS:g} seconds"
            )
        host.clock.sleep(_PAUSE_SECONDS)
    _give_back(host, before.routes)


def _give_back(host: Host, routes: Sequence[Route]) -> None:
    there = {(each.destination, each.gateway) for each in host.routes.list() if each.active}
    for route in routes:
        if (route.destination, route.gateway) not in there:
            with suppress(HostError):  # it may lead through a network that is gone, or be there by now
                host.routes.add(route)


def _subnet_in_words(value: Value) -> str:
    prefix, gateway, vsid = cast("Sequence[Value]", value)
    words = [str(prefix), *([f"gateway {gateway}"] if gateway else []), *([f"VSID {vsid}"] if vsid else [])]
    return " ".join(words)


class HnsEndpointResource(_HnsResource[HnsEndpoint]):
    """This machine's own endpoint in a container network.

    One that is stale cannot be used, and is replaced.
    """

    firm = frozenset({"network", "address"})

    def wanted(self, want: HnsEndpoint) -> State:
        chosen = without_none({"gateway": want.gateway, "mac": want.mac})
        return {"network": want.network, "address": want.address, "attached": True, **chosen}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all are cheap
        """One whose network is gone is as good as none."""
        found = _local_endpoints(host, name)
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
        if found is None or found["id"] == _own_id(_OUR_ENDPOINTS, want.name) or not found["attached"]:
            return None  # to which nothing is attached is nobody's: a start of Windows has left it
        if self._is_so(self.wanted(want), found):
            return None
        return (
            f"there is a network endpoint {want.name} that another program made, and it is otherwise"
            f" ({found['address']} in {found['network']}); delete it, or use another name"
        )

    def apply(self, host: Host, want: HnsEndpoint, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - no content
        _make_endpoint_anew(host, want.name, self.wanted(want))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        there = self.observe(host, name, {})
        if before is None:
            own = _own_id(_OUR_ENDPOINTS, name)
            _delete_endpoints(host, [each.id for each in _local_endpoints(host, name) if each.id == own])
        elif there is None or not self._is_so(before, there) or there["attached"] != before["attached"]:
            if (
                there is not None
                and there["attached"]
                and there["id"] not in (_own_id(_OUR_ENDPOINTS, name), before.get("id"))
            ):
                return f"network endpoint {name} is another program's now, and stays"
            _make_endpoint_anew(host, name, before)
        return None


def _local_endpoints(host: Host, name: str) -> Sequence[NetworkEndpoint]:
    with suppress(Unsupported):
        return [each for each in host.networks.endpoints() if each.name == name and not each.is_remote]
    return ()


def _own_id(namespace: uuid.UUID, name: str) -> str:
    return str(uuid.uuid5(namespace, name))


def _make_endpoint_anew(host: Host, name: str, state: State) -> None:
    """Also where only the attachment is lost: Windows attaches none that has been so before."""
    network = next((each for each in host.networks.list() if each.name == state["network"]), None)
    if network is None:
        raise CannotBeSo(f"network endpoint {name}: there is no network {state['network']} for it")
    _delete_endpoints(host, [each.id for each in _local_endpoints(host, name)])
    address = str(state["address"])
    gateway, mac = state.get("gateway"), state.get("mac")
    endpoint = NetworkEndpoint(
        _own_id(_OUR_ENDPOINTS, name),
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


_OF = " of "


class ForeignEndpointResource(Kind[Want]):
    """A network endpoint of somebody else's, which is removed where it is of no use any more."""

    firm = frozenset({"stale"})
    kept_by = HNS
    wanted_of_all: ClassVar[State] = {"stale": False}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is but one
        return {"stale": bool(_stale(host, name))}

    def apply(self, host: Host, want: Want, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - no content
        _delete_endpoints(host, _stale(host, want.key.name))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is not None and not before["stale"]:
            _delete_endpoints(host, _stale(host, name))
        return None


def _stale(host: Host, name: str) -> Sequence[str]:
    """Whose network is gone; or which a start of Windows has left attached to nothing, as it also is for a
    moment while that program makes it.
    """
    endpoint, _, program = name.rpartition(_OF)
    its = _local_endpoints(host, endpoint)
    networks = {each.id for each in host.networks.list()} if its else set()
    return [
        each.id
        for each in its
        if each.network not in networks or (not each.is_attached and not is_running(host, program))
    ]


# In which order Windows lets go of a container network: load balancers, endpoints, the network itself.


def delete_network(host: Host, network: str) -> None:
    _delete_endpoints(host, [each.id for each in host.networks.endpoints() if each.network == network])
    _delete(host.networks.delete, network)


def delete_what_leads_nowhere(host: Host) -> None:
    """Load balancers of endpoints that were lost: Windows would take a new one for a second of its kind."""
    there = {each.id for each in host.networks.endpoints()}
    for balancer in host.networks.load_balancers():
        if there.isdisjoint(balancer.endpoints):
            _delete(host.networks.delete_load_balancer, balancer.id)


def delete_all(host: Host) -> None:
    """Whoever made them."""
    for balancer in host.networks.load_balancers():
        _delete(host.networks.delete_load_balancer, balancer.id)
    for endpoint in host.networks.endpoints():
        _delete(host.networks.delete_endpoint, endpoint.id)
    for network in host.networks.list():
        _delete(host.networks.delete, network.id)


def _delete_endpoints(host: Host, endpoints: Collection[str]) -> None:
    for balancer in host.networks.load_balancers() if endpoints else ():
        if not set(endpoints).isdisjoint(balancer.endpoints):
            _delete(host.networks.delete_load_balancer, balancer.id)
    for endpoint in endpoints:
        _delete(host.networks.delete_endpoint, endpoint)


def _delete(one: Callable[[str], None], identifier: str) -> None:
    with suppress(NotFound):  # a proxy may be at it, too
        one(identifier)
