"""Routes, to a network that nobody has (198.51.100.0/24), over a neighbour that is never asked. And which
interfaces hand packets on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from agent.host.errors import AlreadyExists, NotFound, Unsupported
from agent.host.files import RoutingChange
from agent.host.networks import Route, Routes
from agent.host.persistent_routes import KEY, persist
from contract.world import World

NOWHERE = "198.51.100.0/24"


@pytest.fixture
def own_address(world: World) -> str:
    return next(each.address for each in world.host.facts.addresses() if ":" not in each.address)


@pytest.fixture
def neighbour(world: World, own_address: str) -> str:
    (length,) = [each.prefix_length for each in world.host.facts.addresses() if each.address == own_address]
    subnet = ipaddress.ip_network(f"{own_address}/{length}", strict=False)
    return str(next(each for each in subnet.hosts() if str(each) != own_address))


@contextmanager
def _added(routes: Routes, route: Route) -> Iterator[None]:
    try:
        routes.add(route)
    except Unsupported as fault:
        pytest.skip(f"{fault}")
    try:
        yield
    finally:
        with suppress(NotFound):
            routes.remove(route)


def _to(routes: Routes, destination: str) -> list[Route]:
    return [each for each in routes.list() if each.destination == destination]


def _kept(world: World) -> set[str]:
    with suppress(NotFound):
        return set(world.host.registry.values(KEY))
    return set()


@pytest.mark.parametrize("persistent", [False, True])
def test_a_route_is_listed_as_it_was_added_until_it_is_removed(
    world: World, neighbour: str, own_address: str, persistent: bool
) -> None:
    routes, before = world.host.routes, _kept(world)
    wanted = Route(NOWHERE, neighbour, 77, persistent=persistent)
    with _added(routes, wanted):
        assert _to(routes, NOWHERE) == [replace(wanted, interface=own_address)]
        assert routes.find(NOWHERE, neighbour) == wanted
        assert _kept(world) - before == (
            {f"198.51.100.0,255.255.255.0,{neighbour},77"} if persistent else set()
        )
        routes.remove(wanted)
        assert _to(routes, NOWHERE) == []
        assert routes.find(NOWHERE, neighbour) is None
        assert _kept(world) == before


def test_an_interface_is_named_by_an_address_of_its_own(
    world: World, neighbour: str, own_address: str
) -> None:
    routes = world.host.routes
    with pytest.raises(NotFound, match=r"198\.51\.100\.7"):
        routes.add(Route(NOWHERE, neighbour, interface="198.51.100.7"))
    with _added(routes, Route(NOWHERE, neighbour, interface=own_address)):
        assert [each.interface for each in _to(routes, NOWHERE)] == [own_address]


def test_one_to_the_same_over_the_same_is_there_once(world: World, neighbour: str) -> None:
    wanted = Route(NOWHERE, neighbour)
    with _added(world.host.routes, wanted), pytest.raises(AlreadyExists):
        world.host.routes.add(replace(wanted, metric=9))


def test_one_that_is_not_there_cannot_be_removed(world: World, neighbour: str) -> None:
    with pytest.raises(NotFound):
        world.host.routes.remove(Route(NOWHERE, neighbour))


def test_what_is_only_kept_for_the_next_start_is_told_and_can_be_removed(
    world: World, neighbour: str
) -> None:
    routes = world.host.routes
    with _added(routes, Route(NOWHERE, neighbour, 77)):
        pass
    before = _kept(world)
    kept = Route(NOWHERE, neighbour, 77, persistent=True, active=False)
    persist(world.host.registry, kept)
    assert _to(routes, NOWHERE) == [kept]
    assert routes.find(NOWHERE, neighbour) == kept
    routes.remove(kept)
    assert (_to(routes, NOWHERE), _kept(world)) == ([], before)


@pytest.fixture
def forwards(world: World, own_address: str) -> bool:
    try:
        return world.host.routes.forwards(own_address)
    except Unsupported as fault:
        pytest.skip(f"{fault}")


def test_an_interface_hands_on_what_is_for_others_as_it_is_told(
    world: World, own_address: str, forwards: bool
) -> None:
    routes = world.host.routes
    for each in (not forwards, not forwards, forwards):
        routes.set_forwarding(own_address, forwards=each)
        assert routes.forwards(own_address) is each


def test_an_interface_that_is_not_there_forwards_nothing(world: World) -> None:
    for ask in (
        lambda: world.host.routes.forwards("198.51.100.7"),
        lambda: world.host.routes.set_forwarding("198.51.100.7", forwards=True),
    ):
        with pytest.raises(NotFound, match=r"198\.51\.100\.7"):
            ask()


PATIENCE_SECONDS = 10.0


def test_who_watches_routes_is_told_when_one_comes_and_goes(world: World, neighbour: str) -> None:
    with world.host.files.watch_all([], routing=True) as watch:
        with _added(world.host.routes, Route(NOWHERE, neighbour)):
            assert RoutingChange() in watch.wait(PATIENCE_SECONDS)
        assert RoutingChange() in watch.wait(PATIENCE_SECONDS)


def test_who_watches_routes_is_told_what_interfaces_do_with_packets(
    world: World, own_address: str, forwards: bool
) -> None:
    routes = world.host.routes
    with world.host.files.watch_all([world.folder], routing=True) as watch:
        for each in (not forwards, forwards):
            routes.set_forwarding(own_address, forwards=each)
            assert RoutingChange() in watch.wait(PATIENCE_SECONDS)
