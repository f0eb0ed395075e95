"""An authority that only certifi knows vouches for no API server, however it is reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.fetch.address import Proxies
from agent.fetch.failure import Doubt
from agent.kube.access import Access
from agent.kube.client import Client, node
from agent.kube.discovery import Discovery
from agent.kube.failure import NotTrusted, Unreachable
from agent.kube.transport import Limits
from unit.fetch.authority import serving
from unit.fetch.bundled import BUNDLED, UNDER_BUNDLED, give_certifi
from unit.fetch.quick_clock import QuickClock
from unit.fetch.servers import Server, tunnel_to
from unit.kube.api_server import CLUSTER_INFO, ROOT, TOKEN, ApiServer, cluster_info, kubeconfig_of, ok
from unit.kube.test_token_discovery import pinned

NODE = node("win1")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """Whose certificate is signed by that authority."""
    bundle = give_certifi(tmp_path, monkeypatch)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(name, str(bundle))
    with ApiServer(serving(tmp_path, UNDER_BUNDLED, BUNDLED)) as started:
        started.at(NODE, ok({}))
        yield started


def refused(access: Access, proxies: Proxies) -> None:
    limits = Limits(patience=0)
    with Client(access, proxies=proxies, limits=limits, clock=QuickClock()) as asking:
        with pytest.raises(NotTrusted) as caught:
            asking.get(NODE)
        assert caught.value.doubt is Doubt.AUTHORITY
        with pytest.raises(NotTrusted):
            list(asking.watch("/api/v1/nodes", "1").events())


@pytest.mark.parametrize("authorities", [ROOT.pem, b""], ids=["of the kubeconfig", "of the machine"])
@pytest.mark.parametrize("tunnelled", [False, True], ids=["direct", "through a tunnel"])
def test_of_a_kubeconfig(server: ApiServer, authorities: bytes, tunnelled: bool) -> None:
    with Server(tunnel_to(server.port)) as proxy:
        url = "https://node.example:6443" if tunnelled else server.url
        refused(Access(url, "node.conf", authorities), Proxies(https=proxy.url()))
    assert server.asked == []


def test_of_a_pinned_discovery(server: ApiServer) -> None:
    server.at(CLUSTER_INFO, cluster_info(kubeconfig_of(server.url, ROOT)))
    discovery = Discovery(0.0, clock=QuickClock())
    with pytest.raises(NotTrusted):
        discovery.by_token(server.place, TOKEN, [pinned(ROOT)])
    assert len(server.asked) == 1, "without trust, and then no more"


def test_of_a_discovery_by_url(server: ApiServer) -> None:
    with pytest.raises(Unreachable, match="which is not trusted here"):
        Discovery(5.0, clock=QuickClock()).by_url(f"{server.url}/discovery.conf")
    assert server.asked == []
