"""Facts about the machine, against what Python itself finds out where it can."""

from __future__ import annotations

import re
import secrets
from ipaddress import ip_address
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import BadName, NotFound
from contract.world import World, wine_cannot


def test_the_version_is_that_of_a_windows_that_can_be_a_node(world: World) -> None:
    version = world.host.facts.windows_version()
    assert (version.major, version.minor) == (10, 0)
    assert version.build >= 17763
    assert version.revision >= 0
    assert version.product.startswith("Windows ")
    assert re.fullmatch(r"\w+", version.edition)


@wine_cannot("it is no server")
def test_a_server_is_told_as_one(world: World) -> None:
    version = world.host.facts.windows_version()
    assert version.server
    assert "Server" in version.product
    assert version.edition.startswith("Server")


def test_the_architecture_is_one_that_windows_containers_have(world: World) -> None:
    assert world.host.facts.architecture() in ("amd64", "arm64")


def test_memory_is_given_in_bytes(world: World) -> None:
    assert 1 << 28 < world.host.facts.memory() < 1 << 50


@pytest.mark.parametrize("below", ["", "not there", r"not\there\either", r"file\below a file"])
def test_a_disk_is_that_of_the_nearest_folder_there_is(world: World, below: str) -> None:
    world.plant_file(world.folder / "file")
    space = world.host.facts.disk(world.folder / below)
    assert 0 < space.free < space.total
    assert space.total == world.host.facts.disk(PureWindowsPath("C:\\")).total


def test_a_disk_that_is_not_there_is_not_found(world: World) -> None:
    with pytest.raises(NotFound, match="Q:"):
        world.host.facts.disk(PureWindowsPath("Q:\\k"))


def test_addresses_leave_loopback_out(world: World) -> None:
    addresses = world.host.facts.addresses()
    assert addresses
    for each in addresses:
        address = ip_address(each.address)
        assert not address.is_loopback
        assert 0 < each.prefix_length <= address.max_prefixlen
        assert each.interface
        assert re.fullmatch("([0-9a-f]{2}(:[0-9a-f]{2})*)?", each.mac)


def test_the_host_name_is_a_dns_name(world: World) -> None:
    assert re.fullmatch(r"[A-Za-z0-9-]{1,63}", world.host.facts.host_name())


def test_the_containers_feature_is_told_or_not_known(world: World) -> None:
    assert world.host.facts.containers_feature() in (True, False, None)


def test_a_pipe_is_there_as_long_as_it_is_served(world: World) -> None:
    name = f"wmcb-contract-{secrets.token_hex(4)}"
    assert not world.host.facts.pipe_exists(name)
    with world.serve_pipe(name):
        assert world.host.facts.pipe_exists(name)
        assert world.host.facts.pipe_exists(name.upper())
        assert not world.host.facts.pipe_exists(name[:-1])
    assert not world.host.facts.pipe_exists(name)


def test_a_pipe_that_has_as_many_clients_as_it_takes_is_there(world: World) -> None:
    name = f"wmcb-contract-{secrets.token_hex(4)}"
    with world.serve_pipe(name), world.connect_to_pipe(name):
        assert world.host.facts.pipe_exists(name)


def test_whoever_looks_for_a_pipe_is_no_client_of_it(world: World) -> None:
    name = f"wmcb-contract-{secrets.token_hex(4)}"
    with world.serve_pipe(name):
        world.host.facts.pipe_exists(name)
        with world.connect_to_pipe(name):
            pass


@pytest.mark.parametrize("name", ["", "a\0b", r"\\.\pipe\containerd-containerd", "//./pipe/x"], ids=ascii)
def test_names_that_no_pipe_can_have(world: World, name: str) -> None:
    with pytest.raises(BadName):
        world.host.facts.pipe_exists(name)


@pytest.mark.parametrize("which", ["system_directory", "program_files", "program_data", "profiles"])
def test_known_folders_are_there(world: World, which: str) -> None:
    folder: PureWindowsPath = getattr(world.host.facts, which)()
    assert folder.is_absolute()
    assert world.outside(folder).is_dir()
