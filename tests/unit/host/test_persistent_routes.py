"""Routes as `route -p` keeps them in the registry."""

from __future__ import annotations

import pathlib

import pytest

from agent.host.networks import Route
from agent.host.persistent_routes import KEY, forget, persist, persistent_routes
from agent.host.port import Registry, RegistryKind, RegistryValue
from agent.host.sandbox import open_sandbox


@pytest.fixture
def registry(tmp_path: pathlib.Path) -> Registry:
    return open_sandbox(tmp_path).registry


def test_each_is_a_value_of_its_own(registry: Registry) -> None:
    persist(registry, Route("0.0.0.0/0", "192.0.2.1"))
    persist(registry, Route("10.244.3.0/24", "192.0.2.33", 256))
    assert sorted(registry.values(KEY)) == [
        "0.0.0.0,0.0.0.0,192.0.2.1,1",
        "10.244.3.0,255.255.255.0,192.0.2.33,256",
    ]
    found = persistent_routes(registry)
    assert [(each.destination, each.gateway, each.metric) for each in found] == [
        ("0.0.0.0/0", "192.0.2.1", 1),
        ("10.244.3.0/24", "192.0.2.33", 256),
    ]
    assert forget(registry, Route("10.244.3.0/24", "192.0.2.33"))
    assert not forget(registry, Route("10.244.3.0/24", "192.0.2.33"))
    assert list(registry.values(KEY)) == ["0.0.0.0,0.0.0.0,192.0.2.1,1"]


@pytest.mark.parametrize(
    "name", ["", "x", "10.0.0.1,255.0.0.0,192.0.2.1,1", "10.0.0.0,0.255.0.0,192.0.2.1,1", "::,0,::1,1"]
)
def test_what_is_no_route_is_left_alone(registry: Registry, name: str) -> None:
    registry.write(KEY, name, RegistryValue(RegistryKind.STRING, ""))
    assert list(persistent_routes(registry)) == []
    assert not forget(registry, Route("10.0.0.0/8", "192.0.2.1"))
    assert list(registry.values(KEY)) == [name]
