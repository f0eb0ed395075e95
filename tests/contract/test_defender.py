"""What Microsoft Defender does not look at."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress

import pytest

from agent.host.errors import NotFound
from contract.world import World


@pytest.fixture
def path(world: World) -> Iterator[str]:
    path = rf"C:\wmcb-contract-{secrets.token_hex(4)}\a b.exe"
    yield path
    for what in ("path", "process"):
        with suppress(NotFound):
            world.host.defender.include(what, path)


@pytest.mark.parametrize(("what", "other"), [("path", "process"), ("process", "path")])
def test_what_is_excluded_is_listed_until_it_is_taken_back(
    world: World, path: str, what: str, other: str
) -> None:
    defender = world.host.defender
    before = defender.exclusions(what)
    defender.exclude(what, path)
    assert sorted(defender.exclusions(what)) == sorted([*before, path])
    assert path not in defender.exclusions(other)
    defender.exclude(what, path)
    assert list(defender.exclusions(what)).count(path) == 1
    defender.include(what, path)
    assert defender.exclusions(what) == before


def test_what_is_not_excluded_cannot_be_taken_back(world: World, path: str) -> None:
    with pytest.raises(NotFound):
        world.host.defender.include("path", path)
