"""Container networks. One that is on no adapter, so that a real machine does not lose its own network."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from agent.host.errors import AlreadyExists, HostError, NotFound, Unsupported
from agent.host.networks import ContainerNetwork, NetworkEndpoint, Networks, Subnet
from contract.world import World

SUBNET = Subnet("10.211.7.0/24", "10.211.7.1")


@pytest.fixture
def networks(world: World) -> Networks:
    try:
        world.host.networks.list()
    except Unsupported as fault:
        pytest.skip(f"{fault}")
    return world.host.networks


@contextmanager
def _network(networks: Networks, **changes: object) -> Iterator[ContainerNetwork]:
    given = {"name": "wmcb-contract", "type": "Private", "subnets": (SUBNET,), **changes}
    made = ContainerNetwork(str(uuid.uuid4()), **given)  # type: ignore[arg-type]
    networks.create(made)
    try:
        yield made
    finally:
        with suppress(NotFound):
            networks.delete(made.id)


def test_a_network_is_listed_as_it_was_made_until_it_is_deleted(networks: Networks) -> None:
    with _network(networks) as made:
        assert made in networks.list()
    assert made.name not in [each.name for each in networks.list()]


def test_a_name_is_given_once(networks: Networks) -> None:
    with _network(networks), pytest.raises(AlreadyExists), _network(networks):
        pass


def test_what_is_not_there_is_not_deleted(networks: Networks) -> None:
    nobody = str(uuid.uuid4())
    for delete in (networks.delete, networks.delete_endpoint, networks.delete_load_balancer):
        with pytest.raises(NotFound):
            delete(nobody)


def test_an_endpoint_is_its_networks_and_goes_with_it(networks: Networks) -> None:
    with _network(networks) as network:
        wanted = NetworkEndpoint(
            str(uuid.uuid4()),
            "wmcb-contract_ep",
            network.id,
            "10.211.7.2",
            24,
            "10.211.7.1",
            "00-15-5D-77-00-01",
        )
        networks.create_endpoint(wanted)
        assert wanted in networks.endpoints()
        networks.delete(network.id)
    assert wanted.id not in [each.id for each in networks.endpoints()]


def test_an_endpoint_attached_to_the_machine_says_so_and_cannot_be_once_more(networks: Networks) -> None:
    with _network(networks) as network:
        wanted = NetworkEndpoint(str(uuid.uuid4()), "wmcb-contract_ep", network.id, "10.211.7.2", 24)
        networks.create_endpoint(wanted)
        try:
            networks.attach(wanted.id)
            (found,) = [each for each in networks.endpoints() if each.id == wanted.id]
            assert found.is_attached
            with pytest.raises(HostError):
                networks.attach(wanted.id)
        finally:
            networks.delete_endpoint(wanted.id)


def test_an_endpoint_of_no_network_is_refused(networks: Networks) -> None:
    with pytest.raises(NotFound):
        networks.create_endpoint(NetworkEndpoint(str(uuid.uuid4()), "x", str(uuid.uuid4()), "10.211.7.2", 24))
