"""Parts of Windows that can be switched on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from agent.host.errors import HostError, NotFound
from agent.host.port import FeatureState
from contract.world import World

PLAIN = "TelnetClient"
"""Every Windows has it, it is off, and needs no restart."""
NOWHERE = "wmcb-contract"
SERVICING = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing"
"""Below it a restart that is wanted is marked. Wine has no such key but what our stand-in makes."""


@pytest.fixture(autouse=True)
def nothing_is_pending(world: World) -> Iterator[None]:
    """Afterwards: a restart would take the sign away, and there is none between two cases."""
    yield
    if world.under_wine:  # Windows may have a sign of its own
        with suppress(NotFound):
            world.host.registry.remove_key(SERVICING)


def test_one_is_switched_on_and_off_again(world: World) -> None:
    features = world.host.features
    assert features.state(PLAIN) is FeatureState.DISABLED
    try:
        assert features.enable(PLAIN, with_parents=False) is False
        assert features.state(PLAIN.upper()) is FeatureState.ENABLED
        assert features.enable(PLAIN, with_parents=True) is False
    finally:
        assert features.disable(PLAIN) is False
    assert features.state(PLAIN) is FeatureState.DISABLED


def test_what_is_not_known(world: World) -> None:
    assert world.host.features.state(NOWHERE) is None
    with pytest.raises(NotFound) as refused:
        world.host.features.enable(NOWHERE, with_parents=True)
    assert refused.value.code == 0x800F080C
    with pytest.raises(NotFound):
        world.host.features.disable(NOWHERE)


def test_what_it_is_part_of_has_to_be_on(world: World) -> None:
    features = world.host.features
    part, parent = "RemoteAccessServer", "RemoteAccess"
    if {features.state(part), features.state(parent)} != {FeatureState.DISABLED}:
        pytest.skip("this Windows has it on, or is none for servers")
    with pytest.raises(HostError) as refused:
        features.enable(part, with_parents=False)
    assert refused.value.code == 0xC004000D
    assert features.state(part) is FeatureState.DISABLED


def test_a_change_may_wait_for_a_restart(world: World) -> None:
    features = world.host.features
    name = "Microsoft-Hyper-V"
    if sys.platform == "win32" and not world.under_wine:
        pytest.skip("the other cases go on on this Windows, which would want to be restarted")
    try:
        assert features.enable(name, with_parents=True) is True
        assert features.state(name) is FeatureState.ENABLE_PENDING
    finally:
        features.disable(name)
    assert features.state(name) is FeatureState.DISABLED
