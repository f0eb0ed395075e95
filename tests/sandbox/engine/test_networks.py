"""Container networks, this machine's endpoint in one, and routes, as the engine makes and takes them back."""

from __future__ import annotations

import itertools
import json
import pathlib
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.repairing import drifted, repair
from agent.engine.run import TakenBack, preview, reset, status
from agent.host import networks as there
from agent.host.errors import Unsupported
from agent.host.networks import ContainerNetwork, NetworkEndpoint
from agent.host.persistent_routes import KEY, persist
from agent.host.port import Host, NetworkAddress
from agent.host.sandbox import open_sandbox
from agent.host.sandbox.machine import Machine
from agent.host.sandbox.networks import DOCUMENT
from agent.host.sandbox.state import FOLDER_NAME
from agent.resources.hns import delete_all
from agent.resources.kind import CannotBeSo
from agent.spec import Key, Specification
from agent.spec.networks import (
    HnsEndpoint,
    HnsNetwork,
    IpForwarding,
    NetworkPolicy,
    NetworkType,
    Route,
    Subnet,
)
from sandbox.engine.test_run import run
from sandbox.engine.world import Killed, Power, changed, picture, powered

CBR0 = HnsNetwork("cbr0", NetworkType.L2BRIDGE, (Subnet("10.244.7.0/24", "10.244.7.1"),))
CBR0_EP = HnsEndpoint("cbr0_ep", "cbr0", "10.244.7.2", gateway="10.244.7.1", mac="00:15:5D:77:00:02")
OVERLAY = HnsNetwork(
    "flannel.4096",
    NetworkType.OVERLAY,
    (Subnet("10.244.7.0/24", "10.244.7.1", 4096),),
    policies=(NetworkPolicy("VxlanPort", '{"Port":4789}'),),
)
ROUTE = Route("10.244.3.0/24", "192.0.2.33")
NODE_ADDRESS, CARD = "192.0.2.10", "Ethernet"
FORWARDING = (IpForwarding(CARD, CBR0.key), IpForwarding(CBR0_EP.address, CBR0_EP.key))

FOREIGN = ContainerNetwork(str(uuid.uuid4()), "cbr0", "L2Bridge", (there.Subnet("10.99.0.0/24"),))
THEIR_ROUTE = there.Route("10.244.3.0/24", "192.0.2.99", 5, persistent=True)


def wants(*wanted: HnsNetwork | HnsEndpoint | IpForwarding | Route) -> Specification:
    return Specification.of(wanted)


WHOLE = wants(CBR0, CBR0_EP, ROUTE)


def machine(host: Host) -> object:
    """All of it that networks are."""
    return host.networks.list(), host.networks.endpoints(), host.networks.load_balancers(), host.routes.list()


def plant_load_balancer(folder: pathlib.Path, *endpoints: str) -> None:
    """As a proxy has HNS make them."""
    file = folder / FOLDER_NAME / DOCUMENT
    document = json.loads(file.read_text())
    document.setdefault("load_balancers", {})[str(uuid.uuid4())] = {"HostComputeEndpoints": list(endpoints)}
    file.write_text(json.dumps(document))


def lose(folder: pathlib.Path, *parts: str) -> None:
    file = folder / FOLDER_NAME / DOCUMENT
    document = json.loads(file.read_text())
    file.write_text(json.dumps({name: each for name, each in document.items() if name not in parts}))


def test_what_is_wanted_is_made_and_made_again_nothing_changes(host: Host) -> None:
    assert run(host, WHOLE) == [
        (Action.CREATE, "cbr0"),
        (Action.CREATE, "cbr0_ep"),
        (Action.CREATE, "10.244.3.0/24 over 192.0.2.33"),
    ]
    (network,) = host.networks.list()
    assert (network.type, network.adapter) == ("L2Bridge", CARD)
    assert network.subnets == (there.Subnet("10.244.7.0/24", "10.244.7.1"),)
    (endpoint,) = host.networks.endpoints()
    assert (endpoint.network, endpoint.address, endpoint.prefix_length) == (network.id, "10.244.7.2", 24)
    assert endpoint.is_attached
    (route,) = host.routes.list()
    assert (route.gateway, route.metric, route.persistent, route.interface) == (
        "192.0.2.33", 256, True, NODE_ADDRESS,
    )  # fmt: skip
    assert list(host.registry.values(KEY)) == ["10.244.3.0,255.255.255.0,192.0.2.33,256"]
    before = machine(host)
    assert run(host, WHOLE) == []
    assert machine(host) == before


def test_of_many_routes_each_but_what_changes_is_seen_in_one_look(host: Host) -> None:
    routes = [Route(f"10.244.{number}.0/24", f"192.0.2.{number}") for number in range(100, 150)]
    run(host, wants(*routes))
    looks: list[str] = []

    def find(destination: str, gateway: str) -> there.Route | None:
        looks.append(destination)
        return host.routes.find(destination, gateway)

    counted = changed(host, routes={"find": find})
    assert run(counted, wants(*routes)) == []
    assert (status(counted).is_well, drifted(counted).drifts, looks) == (True, (), [])
    assert run(counted, wants(*routes[1:])) == [(Action.REMOVE, "10.244.100.0/24 over 192.0.2.100")]
    assert set(looks) == {"10.244.100.0/24"}


def test_reset_takes_back_what_was_made_and_what_leads_to_it(host: Host, tmp_path: pathlib.Path) -> None:
    before = machine(host)
    run(host, WHOLE)
    (endpoint,) = host.networks.endpoints()
    plant_load_balancer(tmp_path, endpoint.id)
    reset(host, Silent())
    assert machine(host) == before


def test_what_another_program_made_stays(host: Host) -> None:
    theirs = replace(FOREIGN, name="nat", type="NAT")
    host.networks.create(theirs)
    host.networks.create_endpoint(NetworkEndpoint(str(uuid.uuid4()), "pod", theirs.id, "10.99.0.7", 24))
    host.routes.add(THEIR_ROUTE)
    before = machine(host)
    run(host, WHOLE)
    reset(host, Silent())
    assert machine(host) == before
    delete_all(host)
    assert (host.networks.list(), host.networks.endpoints()) == ([], [])


def test_a_network_of_the_name_that_is_otherwise_is_in_the_way(host: Host) -> None:
    host.networks.create(FOREIGN)
    with pytest.raises(CannotBeSo, match=r"network cbr0 that another program made.*10\.99\.0\.0/24"):
        preview(host, WHOLE)


def test_one_that_is_as_wanted_is_taken_as_it_is_and_left_by_a_reset(host: Host) -> None:
    theirs = replace(FOREIGN, subnets=(there.Subnet("10.244.7.0/24", "10.244.7.1"),))
    host.networks.create(theirs)
    assert run(host, wants(CBR0, CBR0_EP)) == [(Action.CREATE, "cbr0_ep")]
    reset(host, Silent())
    assert host.networks.list() == [theirs]
    assert host.networks.endpoints() == []


def test_another_subnet_makes_the_network_anew_with_what_is_in_it(host: Host, tmp_path: pathlib.Path) -> None:
    run(host, WHOLE)
    (endpoint,) = host.networks.endpoints()
    plant_load_balancer(tmp_path, endpoint.id)
    moved = wants(
        replace(CBR0, subnets=(Subnet("10.244.8.0/24", "10.244.8.1"),)),
        replace(CBR0_EP, address="10.244.8.2", gateway="10.244.8.1"),
        ROUTE,
    )
    assert [action for action, _ in run(host, moved)] == [Action.CHANGE, Action.CHANGE]
    (network,), (endpoint,) = host.networks.list(), host.networks.endpoints()
    assert (network.subnets[0].prefix, endpoint.network) == ("10.244.8.0/24", network.id)
    assert host.networks.load_balancers() == []


LOSSES = {
    "everything": ("networks", "endpoints"),
    "the networks, and an endpoint is left": ("networks",),
    "the endpoints": ("endpoints",),
}


@pytest.mark.parametrize("lost", LOSSES.values(), ids=LOSSES)
def test_what_a_start_of_windows_lost_is_made_again(
    host: Host, tmp_path: pathlib.Path, lost: tuple[str, ...]
) -> None:
    run(host, WHOLE)
    before = machine(host)
    plant_load_balancer(tmp_path, "10000000-0000-0000-0000-000000000000")
    lose(tmp_path, *lost)
    keys = {drift.key for drift in drifted(host).drifts}
    assert keys >= {CBR0_EP.key}
    assert repair(host, Silent(), keys).trouble == ()
    if "networks" in lost:
        assert machine(host) == before
    assert drifted(host).drifts == ()


def test_an_endpoint_that_a_start_of_windows_left_unattached_is_made_anew(tmp_path: pathlib.Path) -> None:
    sandbox = Machine(tmp_path, run_services=False)
    host = sandbox.host
    run(host, WHOLE)
    sandbox.shut_down()
    sandbox.start_up()
    (drift,) = drifted(host).drifts
    assert (drift.key, drift.fields) == (CBR0_EP.key, ("attached",))
    repair(host, Silent(), {CBR0_EP.key})
    assert [each.is_attached for each in host.networks.endpoints()] == [True]


@pytest.mark.parametrize("is_attached", [True, False], ids=["in use", "stale"])
def test_anothers_endpoint_of_the_name_is_replaced_only_where_nothing_uses_it(
    host: Host, is_attached: bool
) -> None:
    run(host, WHOLE)
    (ours,) = host.networks.endpoints()
    host.networks.delete_endpoint(ours.id)
    host.networks.create_endpoint(replace(ours, id=str(uuid.uuid4()), address="10.244.7.9"))
    (theirs,) = host.networks.endpoints()
    if is_attached:
        host.networks.attach(theirs.id)
    left = repair(host, Silent(), {CBR0_EP.key}).left
    (found,) = host.networks.endpoints()
    assert found.id == (theirs.id if is_attached else ours.id)
    assert [drift.key for drift in left] == ([CBR0_EP.key] if is_attached else [])


def test_an_overlay_has_its_vsid_and_keeps_the_policies_that_others_add(host: Host) -> None:
    run(host, wants(OVERLAY))
    (network,) = host.networks.list()
    assert network.subnets[0].isolation == 4096
    assert [each.type for each in network.policies] == ["VxlanPort"]
    assert run(host, wants(OVERLAY)) == []


NAT = HnsNetwork("nat", NetworkType.NAT)
CHOSEN_BY_HNS = {
    "subnets and gateway": NAT,
    "the gateway": replace(NAT, subnets=(Subnet("172.24.16.0/20"),)),
}


def choosing(host: Host) -> Host:
    """As HNS does for what it is not told."""

    def create(network: ContainerNetwork) -> None:
        subnets = network.subnets or (there.Subnet("172.24.16.0/20"),)
        chosen = tuple(replace(each, gateway=each.gateway or "172.24.16.1") for each in subnets)
        host.networks.create(replace(network, subnets=chosen))

    return changed(host, networks={"create": create})


@pytest.mark.parametrize("wanted", CHOSEN_BY_HNS.values(), ids=CHOSEN_BY_HNS)
def test_what_hns_chooses_itself_is_as_wanted(host: Host, wanted: HnsNetwork) -> None:
    host = choosing(host)
    assert run(host, wants(wanted)) == [(Action.CREATE, "nat")]
    chosen = host.networks.list()
    assert [each.subnets for each in chosen] == [(there.Subnet("172.24.16.0/20", "172.24.16.1"),)]
    assert run(host, wants(wanted)) == []
    assert drifted(host).drifts == ()
    other = replace(wanted, subnets=(Subnet("172.24.16.0/20", "172.24.16.2"),))
    assert run(host, wants(other)) == [(Action.CHANGE, "nat")]
    assert [each.subnets[0].gateway for each in host.networks.list()] == ["172.24.16.2"]
    with pytest.raises(TakenBack):
        run(
            hasty(host),
            wants(replace(other, type=NetworkType.TRANSPARENT), IpForwarding("10.9.9.9", NAT.key)),
        )
    assert [(each.type, each.subnets[0].gateway) for each in host.networks.list()] == [("NAT", "172.24.16.2")]


def test_one_that_was_there_without_a_gateway_has_none_again_afterwards(host: Host) -> None:
    run(host, wants(replace(CBR0, subnets=(Subnet("10.244.7.0/24"),))))
    before = host.networks.list()
    with pytest.raises(TakenBack):
        run(hasty(host), wants(CBR0, IpForwarding("10.9.9.9", CBR0.key)))
    assert host.networks.list() == before


def _facts(folder: pathlib.Path, *cards: tuple[str, str]) -> None:
    addresses = [
        {"interface": name, "address": address, "prefix_length": 24, "mac": "00:15:5d:00:02:0a"}
        for name, address in cards
    ]
    (folder / FOLDER_NAME / "facts.json").write_text(json.dumps({"addresses": addresses}))


ADAPTERS = {
    "the only one": ((("Ethernet", NODE_ADDRESS),), CBR0, "Ethernet"),
    "that of the node's address": (
        (("Ethernet", NODE_ADDRESS), ("Storage", "198.51.100.7")),
        replace(CBR0, address="198.51.100.7"),
        "Storage",
    ),
    "the card below a switch that is there": (
        (("vEthernet (Ethernet 2)", NODE_ADDRESS),),
        CBR0,
        "Ethernet 2",
    ),
    "the card below a switch whose name was taken": (
        (("vEthernet (Ethernet 2) 3", NODE_ADDRESS),),
        CBR0,
        "Ethernet 2",
    ),
    "the card below a switch, whatever its capitals": (
        (("VETHERNET (Ethernet (LOM) 2)", NODE_ADDRESS),),
        CBR0,
        "Ethernet (LOM) 2",
    ),
    "one that is named": (
        (("Ethernet", NODE_ADDRESS), ("Storage", "198.51.100.7")),
        replace(CBR0, adapter="Storage"),
        "Storage",
    ),
}


@pytest.mark.parametrize(("cards", "wanted", "adapter"), ADAPTERS.values(), ids=ADAPTERS)
def test_the_adapter_is(
    host: Host,
    tmp_path: pathlib.Path,
    cards: tuple[tuple[str, str], ...],
    wanted: HnsNetwork,
    adapter: str,
) -> None:
    _facts(tmp_path, *cards)
    run(host, wants(wanted))
    assert [each.adapter for each in host.networks.list()] == [adapter]


NO_ADAPTER = {
    "two, and none is named": (
        (("Ethernet", NODE_ADDRESS), ("Storage", "198.51.100.7")),
        CBR0,
        "network cbr0: say on which adapter, there is not just one (Ethernet, Storage)",
    ),
    "none with the address": (
        (("Ethernet", NODE_ADDRESS),),
        replace(CBR0, address="198.51.100.7"),
        "network cbr0: no adapter of this machine has the address 198.51.100.7",
    ),
}


@pytest.mark.parametrize(("cards", "wanted", "told"), NO_ADAPTER.values(), ids=NO_ADAPTER)
def test_without_an_adapter_nothing_is_made(
    host: Host,
    tmp_path: pathlib.Path,
    cards: tuple[tuple[str, str], ...],
    wanted: HnsNetwork,
    told: str,
) -> None:
    _facts(tmp_path, *cards)
    with pytest.raises(TakenBack) as failure:
        run(host, wants(wanted))
    assert str(failure.value.__cause__) == told
    assert host.networks.list() == []


class Card:
    """The machine's only one, as Windows has it when a switch is put on it, or goes: its addresses are away
    for some seconds, and come back on another adapter, whose own ones of IPv6 and link-local ones are others.
    Its routes are gone then.
    """

    def __init__(self, host: Host, *lasting: str, away: float = 5.0) -> None:
        self.seconds = 0.0
        self._lasting, self._away = lasting, away
        self._back_at = 0.0
        self._moves = 0
        self.lacked: list[str] = []
        """What was made while they were away."""
        self._networks, self._routes, self._registry = host.networks, host.routes, host.registry
        self.host = changed(
            host,
            facts={"addresses": self._addresses},
            clock={"monotonic": lambda: self.seconds, "sleep": self._sleep},
            networks={"create": self._create, "delete": self._delete},
        )

    def _addresses(self) -> Sequence[NetworkAddress]:
        if self.seconds < self._back_at:
            return []
        name = f"vEthernet ({CARD})" if self._networks.list() else CARD
        own = (f"fe80::{self._moves + 1}", f"169.254.0.{self._moves + 1}", f"2001:db8::{self._moves + 1}")
        return [NetworkAddress(name, each, 24, "00:15:5d:00:02:0a") for each in (*own, *self._lasting)]

    def _sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def _create(self, network: ContainerNetwork) -> None:
        if self.seconds < self._back_at:
            self.lacked.append(network.name)
        self._networks.create(network)
        self._move()

    def _delete(self, network: str) -> None:
        self._networks.delete(network)
        self._move()

    def _move(self) -> None:
        self._moves += 1
        self._back_at = self.seconds + self._away
        for route in self._routes.list():
            if route.active and route.interface in self._lasting:
                self._routes.remove(route)
                if route.persistent:
                    persist(self._registry, route)


CHOSEN = {
    "its address": replace(CBR0, address=NODE_ADDRESS),
    "its adapter": replace(CBR0, adapter=CARD),
}


@pytest.mark.parametrize("wanted", CHOSEN.values(), ids=CHOSEN)
def test_until_the_cards_addresses_are_back_nothing_else_is_made(host: Host, wanted: HnsNetwork) -> None:
    card = Card(host, NODE_ADDRESS)
    run(card.host, wants(wanted))
    assert card.seconds == pytest.approx(5, abs=0.2)
    other = replace(wanted, subnets=(Subnet("10.244.8.0/24", "10.244.8.1"),))
    assert run(card.host, wants(other)) == [(Action.CHANGE, "cbr0")]
    assert [(each.adapter, each.subnets[0].prefix) for each in host.networks.list()] == [
        (CARD, "10.244.8.0/24")
    ]
    assert card.seconds == pytest.approx(15, abs=0.6)
    assert card.lacked == []
    assert reset(card.host, Silent()).left == ()
    assert card.seconds == pytest.approx(20, abs=0.8)


ON_LINK = "0.0.0.0"  # noqa: S104 (a route's gateway)
OTHERS_ROUTES = [
    there.Route("169.254.169.254/32", "192.0.2.1", 15, interface=NODE_ADDRESS),
    there.Route("169.254.169.253/32", ON_LINK, 10, interface=NODE_ADDRESS),
    replace(THEIR_ROUTE, interface=NODE_ADDRESS),
]
WINDOWS_OWN = [
    there.Route(destination, gateway, interface=NODE_ADDRESS)
    for destination, gateway in [
        ("0.0.0.0/0", "192.0.2.1"),
        ("192.0.2.0/24", ON_LINK),
        ("192.0.2.10/32", ON_LINK),
        ("192.0.2.255/32", ON_LINK),
        ("224.0.0.0/4", ON_LINK),
        ("255.255.255.255/32", ON_LINK),
    ]
]


def routed(host: Host) -> Sequence[there.Route]:
    return sorted(host.routes.list(), key=str)


def test_others_routes_come_back_with_the_addresses_and_windows_makes_its_own(host: Host) -> None:
    for each in (*OTHERS_ROUTES, *WINDOWS_OWN):
        host.routes.add(each)
    card = Card(host, NODE_ADDRESS)
    run(card.host, wants(CBR0))
    assert routed(host) == sorted(OTHERS_ROUTES, key=str)
    run(card.host, wants(replace(CBR0, subnets=(Subnet("10.244.8.0/24", "10.244.8.1"),))))
    reset(card.host, Silent())
    assert routed(host) == sorted(OTHERS_ROUTES, key=str)


def test_where_a_route_cannot_come_back_the_network_is_made(host: Host) -> None:
    def add(route: there.Route) -> None:
        raise Unsupported("add", f"the route to {route.destination}", 127)

    host.routes.add(OTHERS_ROUTES[0])
    run(changed(Card(host, NODE_ADDRESS).host, routes={"add": add}), wants(CBR0))
    assert [each.name for each in host.networks.list()] == ["cbr0"]


def test_a_machine_without_ipv4_waits_for_the_address_that_the_network_was_chosen_by(host: Host) -> None:
    card = Card(host, "2001:db8:7::10")
    run(card.host, wants(replace(CBR0, address="2001:db8:7::10")))
    assert card.seconds == pytest.approx(5, abs=0.2)


def test_addresses_that_do_not_come_back_fail_a_run_and_no_reset(host: Host) -> None:
    run(Card(host, NODE_ADDRESS).host, wants(CBR0))
    told = (
        f"network cbr0 took the address {NODE_ADDRESS} from its adapter, and did not give it back"
        " within 60 seconds"
    )
    assert reset(Card(host, NODE_ADDRESS, away=1000).host, Silent()).left == (told,)
    assert host.networks.list() == []
    with pytest.raises(TakenBack) as failure:
        run(Card(host, NODE_ADDRESS, away=1000).host, wants(CBR0))
    assert str(failure.value.__cause__) == told
    assert host.networks.list() == []


def test_a_route_that_somebody_removed_or_changed_is_put_right(host: Host) -> None:
    run(host, WHOLE)
    before = host.routes.list()
    host.routes.remove(before[0])
    host.routes.add(replace(before[0], persistent=False))
    (drift,) = drifted(host).drifts
    assert (drift.key, drift.fields) == (Key("route", "10.244.3.0/24 over 192.0.2.33"), ("persistent",))
    repair(host, Silent(), {drift.key})
    assert host.routes.list() == before


def test_a_route_that_was_there_otherwise_comes_back(host: Host) -> None:
    host.routes.add(there.Route(ROUTE.destination, ROUTE.gateway, 5))
    before = host.routes.list()
    run(host, wants(replace(ROUTE, metric=10)))
    assert [(each.metric, each.persistent) for each in host.routes.list()] == [(10, True)]
    reset(host, Silent())
    assert host.routes.list() == before


def forwarding(host: Host) -> dict[str, bool]:
    return {each.address: host.routes.forwards(each.address) for each in host.facts.addresses()}


FORWARDED = {NODE_ADDRESS: True, CBR0_EP.address: True}


def test_packets_go_on_between_the_card_and_the_endpoint(host: Host) -> None:
    assert run(host, wants(CBR0, CBR0_EP, *FORWARDING)) == [
        (Action.CREATE, "cbr0"),
        (Action.CREATE, "cbr0_ep"),
        (Action.CHANGE, CARD),
        (Action.CREATE, CBR0_EP.address),
    ]
    assert forwarding(host) == FORWARDED
    assert run(host, wants(CBR0, CBR0_EP, *FORWARDING)) == []
    run(host, wants(CBR0, CBR0_EP))
    assert forwarding(host) == {NODE_ADDRESS: False, CBR0_EP.address: False}
    reset(host, Silent())
    assert forwarding(host) == {NODE_ADDRESS: False}


def test_where_somebody_had_packets_go_on_before_they_do_afterwards(host: Host) -> None:
    host.routes.set_forwarding(NODE_ADDRESS, forwards=True)
    run(host, wants(CBR0, CBR0_EP, *FORWARDING))
    reset(host, Silent())
    assert forwarding(host) == {NODE_ADDRESS: True}


def test_a_start_of_windows_forgets_that_packets_go_on(tmp_path: pathlib.Path) -> None:
    sandbox = Machine(tmp_path, run_services=False)
    host = sandbox.host
    run(host, wants(CBR0, CBR0_EP, *FORWARDING))
    sandbox.shut_down()
    sandbox.start_up()
    assert forwarding(host) == {NODE_ADDRESS: False}
    drifts = drifted(host).drifts
    assert [each.key for each in drifts] == [CBR0_EP.key, *(each.key for each in FORWARDING)]
    assert repair(host, Silent(), {each.key for each in drifts}).trouble == ()
    assert forwarding(host) == FORWARDED


NO_INTERFACE = "IP forwarding: there is no interface {} within 15 seconds"


def hasty(host: Host) -> Host:
    """Its time flies while it waits."""
    seconds = itertools.count(step=10)
    return changed(host, clock={"monotonic": lambda: next(seconds), "sleep": lambda _: None})


def test_an_adapter_that_never_comes_is_told(host: Host) -> None:
    with pytest.raises(TakenBack) as failure:
        run(hasty(host), wants(CBR0, IpForwarding("10.244.7.9", CBR0.key)))
    assert str(failure.value.__cause__) == NO_INTERFACE.format("10.244.7.9")
    assert host.networks.list() == []
    run(host, wants(CBR0, CBR0_EP, *FORWARDING))
    host.networks.delete_endpoint(host.networks.endpoints()[0].id)
    repaired = repair(hasty(host), Silent(), {FORWARDING[1].key})
    assert repaired.trouble == (NO_INTERFACE.format(CBR0_EP.address),)


MOVED = wants(
    replace(CBR0, subnets=(Subnet("10.244.8.0/24", "10.244.8.1"),)),
    replace(CBR0_EP, address="10.244.8.2", gateway="10.244.8.1"),
    replace(ROUTE, metric=7),
    FORWARDING[0],
)


def test_killed_at_any_step_it_is_finished_or_taken_back(tmp_path: pathlib.Path) -> None:
    """Of making all of it, of making it otherwise, and of a reset."""
    whole = open_sandbox(tmp_path / "whole")
    steps = Power(left=1000)
    for wanted in (WHOLE, MOVED, Specification()):
        run(powered(whole, steps), wanted)
    for number in range(steps.used):
        host = open_sandbox(tmp_path / str(number))
        bare, power = picture(host), Power(left=number)
        killed = WHOLE
        with suppress(Killed):
            for killed in (WHOLE, MOVED, Specification()):
                run(powered(host, power), killed)
        assert power.dead
        run(host, killed)
        if killed.wants:
            assert drifted(host).drifts == ()
            assert len(host.networks.list()) == len(host.networks.endpoints()) == len(host.routes.list()) == 1
        run(host, Specification())
        assert picture(host) == bare, f"killed after {number} changes"
