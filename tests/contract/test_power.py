"""Reboots: whether Windows wants one. None is asked for here, since the machine would take it at its word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from agent.host.errors import NotFound
from agent.host.port import Registry, RegistryKind, RegistryValue
from contract.world import World

CURRENT_VERSION = r"SOFTWARE\Microsoft\Windows\CurrentVersion"
SESSION_MANAGER = r"SYSTEM\CurrentControlSet\Control\Session Manager"
COMPUTER_NAME = r"SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName"
MOVES = "PendingFileRenameOperations"


def strings(*data: str) -> RegistryValue:
    return RegistryValue(RegistryKind.STRINGS, data)


SIGNS = {
    "a feature or update": (
        rf"{CURRENT_VERSION}\Component Based Servicing\RebootPending", "x", strings(), "features or updates"
    ),
    "Windows Update": (
        rf"{CURRENT_VERSION}\WindowsUpdate\Auto Update\RebootRequired", "x", strings(), "Windows Update"
    ),
    "a file to be replaced": (
        SESSION_MANAGER, MOVES, strings(r"\??\C:\new", r"!\??\C:\old"), "files"
    ),
    "a new name": (
        COMPUTER_NAME, "ComputerName", RegistryValue(RegistryKind.STRING, "OTHER"), "name"
    ),
}  # fmt: skip
NO_SIGNS = {
    "a file to be removed": (SESSION_MANAGER, MOVES, strings(r"\??\C:\old", "")),
    "no file at all": (SESSION_MANAGER, MOVES, strings()),
}


@pytest.mark.parametrize(("key", "name", "value", "reason"), SIGNS.values(), ids=SIGNS)
def test_a_pending_reboot_is_told_with_its_reason(
    world: World, key: str, name: str, value: RegistryValue, reason: str
) -> None:
    before = list(world.host.power.reboot_pending())
    with _set(world.host.registry, key, name, value):
        (told,) = set(world.host.power.reboot_pending()) - set(before)
    assert reason in told
    assert list(world.host.power.reboot_pending()) == before


@pytest.mark.parametrize(("key", "name", "value"), NO_SIGNS.values(), ids=NO_SIGNS)
def test_what_needs_no_reboot_asks_for_none(world: World, key: str, name: str, value: RegistryValue) -> None:
    before = list(world.host.power.reboot_pending())
    with _set(world.host.registry, key, name, value):
        assert list(world.host.power.reboot_pending()) == before


def test_a_new_name_waits_for_the_next_start(world: World) -> None:
    name, power = world.host.facts.host_name(), world.host.power
    before = list(power.reboot_pending())
    try:
        power.rename("a-longer-name-than-netbios-takes")
        (told,) = set(power.reboot_pending()) - set(before)
        assert "another name" in told
        found = world.host.registry.read(COMPUTER_NAME, "ComputerName")
        assert found is not None
        assert found.data == "A-LONGER-NAME-T"
    finally:
        power.rename(name)
    assert list(power.reboot_pending()) == before


@contextmanager
def _set(registry: Registry, key: str, name: str, value: RegistryValue) -> Iterator[None]:
    existed = _exists(registry, key)
    before = registry.read(key, name) if existed else None
    registry.write(key, name, value)
    try:
        yield
    finally:
        if not existed:
            registry.remove_key(key)
        elif before is None:
            registry.remove(key, name)
        else:
            registry.write(key, name, before)


def _exists(registry: Registry, key: str) -> bool:
    with suppress(NotFound):
        registry.keys(key)
        return True
    return False
