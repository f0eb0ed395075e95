"""HKEY_LOCAL_MACHINE."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from agent.host.errors import BadName, NotEmpty, NotFound
from agent.host.port import Registry, RegistryKind, RegistryValue
from contract.world import World


@pytest.fixture
def key(world: World) -> Iterator[str]:
    key = f"SOFTWARE\\wmcb-contract-{secrets.token_hex(4)}"
    yield key
    with suppress(NotFound):
        world.host.registry.remove_key(key)


VALUES = {
    "string": RegistryValue(RegistryKind.STRING, "käse 😀"),
    "empty string": RegistryValue(RegistryKind.STRING, ""),
    "expandable": RegistryValue(RegistryKind.EXPANDABLE, r"%SystemRoot%\x"),
    "binary": RegistryValue(RegistryKind.BINARY, bytes(range(256))),
    "no bytes": RegistryValue(RegistryKind.BINARY, b""),
    "number": RegistryValue(RegistryKind.NUMBER, 0xFFFF_FFFF),
    "zero": RegistryValue(RegistryKind.NUMBER, 0),
    "strings": RegistryValue(RegistryKind.STRINGS, ("a", "b c")),
    "no strings": RegistryValue(RegistryKind.STRINGS, ()),
    "bytes of no type": RegistryValue(RegistryKind.NONE, b"\x01"),
    "long number": RegistryValue(RegistryKind.LONG_NUMBER, 0xFFFF_FFFF_FFFF_FFFF),
}
NUMBER = RegistryValue(RegistryKind.NUMBER, 1)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_what_is_written_is_read(world: World, key: str, value: RegistryValue) -> None:
    world.host.registry.write(key, "Name", value)
    assert world.host.registry.read(key, "Name") == value
    assert world.host.registry.values(key) == {"Name": value}


def test_the_value_without_a_name(world: World, key: str) -> None:
    world.host.registry.write(key, "", NUMBER)
    assert world.host.registry.read(key, "") == NUMBER


def test_names_have_no_case_and_keep_theirs(world: World, key: str) -> None:
    registry = world.host.registry
    registry.write(f"{key}\\Below", "Name", NUMBER)
    assert registry.read(f"{key}\\BELOW".upper(), "NAME") == NUMBER
    assert registry.keys(key.upper()) == ["Below"]
    assert list(registry.values(f"{key}\\below")) == ["Name"]


def test_a_value_is_written_anew_with_another_kind(world: World, key: str) -> None:
    for value in VALUES.values():
        world.host.registry.write(key, "Name", value)
    assert list(world.host.registry.values(key).values()) == [VALUES["long number"]]


def test_keys_below_are_listed_in_order(world: World, key: str) -> None:
    for name in ("b", "A", "c\\deep"):
        world.host.registry.write(f"{key}\\{name}", "Name", NUMBER)
    assert world.host.registry.keys(key) == ["A", "b", "c"]
    assert world.host.registry.values(f"{key}\\c") == {}


def test_a_value_is_removed(world: World, key: str) -> None:
    for name in ("one", "two"):
        world.host.registry.write(key, name, NUMBER)
    world.host.registry.remove(key, "ONE")
    assert list(world.host.registry.values(key)) == ["two"]


def test_a_key_is_removed_with_all_that_is_below(world: World, key: str) -> None:
    for name in ("below", "below\\deep", "below\\deep\\deeper", "below too"):
        world.host.registry.write(f"{key}\\{name}", "Name", NUMBER)
    world.host.registry.remove_key(f"{key}\\Below")
    assert world.host.registry.keys(key) == ["below too"]
    assert world.host.registry.read(f"{key}\\below\\deep", "Name") is None


def test_a_key_is_made_and_is_empty(world: World, key: str) -> None:
    registry = world.host.registry
    registry.make_key(f"{key}\\below")
    assert registry.keys(key) == ["below"]
    registry.write(key, "Name", NUMBER)
    registry.make_key(key.upper())
    assert registry.values(key) == {"Name": NUMBER}
    assert registry.keys(key) == ["below"]


def test_only_an_empty_key_is_removed_as_one(world: World, key: str) -> None:
    registry = world.host.registry
    registry.write(f"{key}\\below", "Name", NUMBER)
    for full in (key, f"{key}\\below"):
        with pytest.raises(NotEmpty):
            registry.remove_empty_key(full)
    assert registry.values(f"{key}\\below") == {"Name": NUMBER}
    registry.remove(f"{key}\\below", "Name")
    registry.remove_empty_key(f"{key}\\BELOW")
    assert registry.keys(key) == []
    registry.remove_empty_key(key)
    with pytest.raises(NotFound):
        registry.keys(key)


def test_nothing_is_read_where_nothing_is(world: World, key: str) -> None:
    assert world.host.registry.read(key, "Name") is None
    world.host.registry.write(key, "Other", NUMBER)
    assert world.host.registry.read(key, "Name") is None


def test_flushed_it_is_as_it_was(world: World, key: str) -> None:
    world.host.registry.write(key, "Name", NUMBER)
    world.host.registry.flush()
    assert world.host.registry.read(key, "Name") == NUMBER


MISSING: dict[str, Callable[[Registry, str], object]] = {
    "values": lambda registry, key: registry.values(key),
    "keys": lambda registry, key: registry.keys(key),
    "remove": lambda registry, key: registry.remove(key, "Name"),
    "remove_empty_key": lambda registry, key: registry.remove_empty_key(key),
    "remove_key": lambda registry, key: registry.remove_key(key),
}


@pytest.mark.parametrize("ask", MISSING.values(), ids=MISSING)
def test_a_key_that_is_not_there(world: World, key: str, ask: Callable[[Registry, str], object]) -> None:
    with pytest.raises(NotFound) as refused:
        ask(world.host.registry, key)
    assert refused.value.code == 2


def test_a_value_that_is_not_there_is_not_removed(world: World, key: str) -> None:
    world.host.registry.write(key, "Other", NUMBER)
    with pytest.raises(NotFound):
        world.host.registry.remove(key, "Name")


@pytest.mark.parametrize("bad", ["", "\\", "\\SOFTWARE"], ids=ascii)
def test_the_root_is_nobodys_business(world: World, bad: str) -> None:
    with pytest.raises(BadName):
        world.host.registry.remove_key(bad)
    with pytest.raises(BadName):
        world.host.registry.remove_empty_key(bad)
    with pytest.raises(BadName):
        world.host.registry.make_key(bad)
    with pytest.raises(BadName):
        world.host.registry.write(bad, "Name", NUMBER)
