"""Whom the machine believes: Windows' store of root certificates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent.certificates import der_of, load_pem_strictly
from agent.hashing import thumbprint
from agent.host.errors import HostError, NotFound
from agent.host.port import ROOT_CERTIFICATES
from contract.world import World

GIVEN = Path(__file__).parents[1] / "data" / "certificates"
(ROOT,) = map(der_of, load_pem_strictly((GIVEN / "example-root.pem").read_text()))
NAME = thumbprint(ROOT)
(OTHER,) = map(der_of, load_pem_strictly((GIVEN / "other-root.pem").read_text()))


@pytest.fixture(autouse=True)
def _as_it_was(world: World) -> Iterator[None]:
    yield
    for encoded in (ROOT, OTHER):
        with suppress(NotFound):
            world.host.roots.remove(thumbprint(encoded))


def test_one_is_there_from_when_it_was_added_until_it_is_removed(world: World) -> None:
    roots = world.host.roots
    assert roots.read(NAME) is None
    roots.add(ROOT)
    roots.add(OTHER)
    assert roots.read(NAME) == roots.read(NAME.lower()) == ROOT
    assert NAME in world.host.registry.keys(ROOT_CERTIFICATES)
    roots.add(ROOT)
    roots.remove(NAME)
    assert roots.read(NAME) is None
    assert roots.read(thumbprint(OTHER)) == OTHER


def test_one_that_is_not_there_cannot_be_removed(world: World) -> None:
    with pytest.raises(NotFound):
        world.host.roots.remove(NAME)


def test_what_is_no_certificate_is_not_added(world: World) -> None:
    with pytest.raises(HostError, match=r"^cannot add root certificate"):
        world.host.roots.add(b"no certificate")
