"""WinHTTP's default proxy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.host.port import DefaultProxy
from contract.world import World


@pytest.fixture(autouse=True)
def _as_it_was(world: World) -> Iterator[None]:
    before = world.host.proxies.default()
    world.host.proxies.set_default(None)
    yield
    world.host.proxies.set_default(before)


PROXIES = {
    "for all": DefaultProxy("proxy.example:3128", ""),
    "one a scheme": DefaultProxy("http=a.example:1;https=b.example:2", "localhost;*.svc;10.*"),
    "by an address": DefaultProxy("[fd00::1]:3128", "x" * 3000),
}


@pytest.mark.parametrize("proxy", PROXIES.values(), ids=PROXIES)
def test_what_is_set_is_told_until_another_is(world: World, proxy: DefaultProxy) -> None:
    proxies = world.host.proxies
    assert proxies.default() is None
    proxies.set_default(proxy)
    assert proxies.default() == proxy
    proxies.set_default(DefaultProxy("other:1", "here"))
    assert proxies.default() == DefaultProxy("other:1", "here")
    proxies.set_default(None)
    assert proxies.default() is None
