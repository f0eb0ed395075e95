"""The event log."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import BadName, NotFound
from agent.host.port import EventLevel, RegistryKind, RegistryValue
from agent.host.registry_contents import kept_text
from contract.world import World, wine_cannot

SOURCES = r"SYSTEM\CurrentControlSet\Services\EventLog\Application"
FILE = PureWindowsPath(r"C:\Program Files\k\k.exe")
TEXTS = {"short": "text", "long": "x" * 40_000, "beyond ASCII": "käse 日本 😀", "empty": "", "NUL": "a\0b"}


@pytest.fixture
def source(world: World) -> Iterator[str]:
    name = f"wmcb-contract-{secrets.token_hex(4)}"
    world.host.events.register(name, FILE)
    yield name
    world.host.events.unregister(name)


def test_a_source_stands_in_the_registry_where_event_viewer_looks(world: World, source: str) -> None:
    assert world.host.registry.values(rf"{SOURCES}\{source}") == {
        "EventMessageFile": RegistryValue(RegistryKind.EXPANDABLE, str(FILE)),
        "TypesSupported": RegistryValue(RegistryKind.NUMBER, 7),
    }


def test_a_source_can_be_registered_again(world: World, source: str) -> None:
    other = PureWindowsPath(r"C:\new\k.exe")
    world.host.events.register(source, other)
    found = world.host.registry.read(rf"{SOURCES}\{source}", "EventMessageFile")
    assert found == RegistryValue(RegistryKind.EXPANDABLE, str(other))


def test_a_source_that_was_unregistered_is_gone(world: World) -> None:
    name = f"wmcb-contract-{secrets.token_hex(4)}"
    world.host.events.register(name, FILE)
    world.host.events.unregister(name)
    assert name not in world.host.registry.keys(SOURCES)
    with pytest.raises(NotFound):
        world.host.events.unregister(name)


@pytest.mark.parametrize("name", ["", "a\\b"])
def test_a_name_that_would_be_another_key_is_refused(world: World, name: str) -> None:
    with pytest.raises(BadName):
        world.host.events.register(name, FILE)


@wine_cannot("it takes every event and keeps none", weaker=True)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_event_is_kept(world: World, source: str, text: str) -> None:
    world.host.events.write(source, EventLevel.WARNING, 1000, text)
    if not world.under_wine:
        assert world.events(source) == [(EventLevel.WARNING, 1000, kept_text(text))]


@wine_cannot("it takes every event and keeps none", weaker=True)
def test_events_are_kept_with_level_and_number(world: World, source: str) -> None:
    wanted = [(level, 1000 + level.value, level.name) for level in EventLevel]
    for level, number, text in wanted:
        world.host.events.write(source, level, number, text)
    if not world.under_wine:
        assert world.events(source) == wanted
