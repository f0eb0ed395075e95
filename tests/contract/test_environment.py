"""The machine's variables."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress

import pytest

from agent.host.errors import BadName, NotFound
from agent.host.port import RegistryKind, RegistryValue
from contract.world import World

KEY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"


@pytest.fixture
def name(world: World) -> Iterator[str]:
    name = f"WmcbContract{secrets.token_hex(4)}"
    yield name
    with suppress(NotFound):
        world.host.environment.remove(name)


VALUES = {
    "plain": "value",
    "empty": "",
    "equals": "a=b",
    "blanks": "  a b  ",
    "quotes": '"a"',
    "beyond ASCII": "käse 日本 😀",
    "reference": r"%SystemRoot%\system32",
    "long": "x" * 5000,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_what_is_set_is_got(world: World, name: str, value: str) -> None:
    environment = world.host.environment
    environment.set(name, value)
    assert environment.get(name) == environment.get(name.upper()) == value
    assert environment.list()[name] == value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("C:\\k", RegistryKind.STRING),
        (r"%ProgramFiles%\k", RegistryKind.EXPANDABLE),
        ("100 %", RegistryKind.STRING),
        ("50 %%", RegistryKind.STRING),
    ],
    ids=["plain", "reference", "percent", "percents"],
)
def test_only_a_reference_makes_windows_expand_a_value(
    world: World, name: str, value: str, kind: RegistryKind
) -> None:
    world.host.environment.set(name, value)
    stored = world.host.registry.read(KEY, name)
    assert stored is not None
    assert (stored.kind, stored.data) == (kind, value)


@pytest.mark.parametrize("kind", [RegistryKind.STRING, RegistryKind.EXPANDABLE])
@pytest.mark.parametrize("value", ["plain", "%SystemRoot%"])
def test_a_value_is_stored_as_it_is_said(world: World, name: str, value: str, kind: RegistryKind) -> None:
    world.host.environment.set(name, value, kind)
    assert world.host.environment.kind(name) is kind
    assert world.host.environment.get(name) == value


def test_what_is_no_text_is_no_value(world: World, name: str) -> None:
    world.host.registry.write(KEY, name, RegistryValue(RegistryKind.NUMBER, 1))
    assert world.host.environment.get(name) is None
    assert world.host.environment.kind(name) is RegistryKind.NUMBER
    assert name not in world.host.environment.list()


def test_a_variable_is_set_anew(world: World, name: str) -> None:
    for value in ("first", "%PATH%", "second"):
        world.host.environment.set(name, value)
    assert world.host.environment.get(name) == "second"
    assert [key for key in world.host.environment.list() if key.upper() == name.upper()] == [name]


def test_a_variable_is_removed(world: World, name: str) -> None:
    world.host.environment.set(name, "x")
    world.host.environment.remove(name.upper())
    assert world.host.environment.get(name) is None
    assert name not in world.host.environment.list()


def test_what_is_not_there(world: World, name: str) -> None:
    assert world.host.environment.get(name) is None
    assert world.host.environment.kind(name) is None
    with pytest.raises(NotFound) as refused:
        world.host.environment.remove(name)
    assert refused.value.code == 2


def test_a_windows_has_a_path(world: World) -> None:
    assert world.host.environment.get("PATH")


def test_a_text_is_expanded_by_what_the_variables_are_now(world: World, name: str) -> None:
    environment = world.host.environment
    windows = str(world.host.facts.system_directory())
    environment.set(name, r"%SystemRoot%\here")
    for text, expanded in {
        f"%{name}%;%{name.upper()}%": rf"{windows}\here;{windows}\here",
        "100 %": "100 %",
        "%WmcbNobodyHasThis%": "%WmcbNobodyHasThis%",
    }.items():
        assert environment.expand(text).lower() == expanded.lower()
    environment.remove(name)
    assert environment.expand(f"%{name}%") == f"%{name}%"


@pytest.mark.parametrize("bad", ["", "a=b", "a\0b"], ids=ascii)
def test_names_that_no_variable_can_have(world: World, bad: str) -> None:
    for ask in (world.host.environment.get, world.host.environment.remove):
        with pytest.raises(BadName):
            ask(bad)
    with pytest.raises(BadName):
        world.host.environment.set(bad, "x")
