"""All Nodes, as the resident service sees them: real threads and connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.host.port import Host
from lab.waiting import until
from sandbox.service.live_api import NODES, LiveApi
from sandbox.service.test_cluster import KUBELET, write_credentials
from service.routing import Nodes
from service.work_queue import Signals, Source
from unit.kube.api_server import status


@pytest.fixture
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveApi]:
    api = LiveApi(tmp_path_factory.mktemp("api"))
    api.nodes.is_listed_whole = True
    with api.server:
        yield api
        api.end()


@pytest.fixture
def signals() -> Signals:
    return Signals()


@pytest.fixture
def nodes(host: Host, api: LiveApi, signals: Signals, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """Nobody follows them yet."""
    monkeypatch.setattr("service.cluster._FIRST_PAUSE_SECONDS", 0.05)
    write_credentials(host, api.server.url)
    nodes = Nodes(host, signals)
    yield nodes
    nodes.follow(None)


def pods(nodes: Nodes) -> dict[str, object]:
    """By the name of their Node."""
    return {name: thing["networks"] for name, thing in nodes.seen[1].items()} if nodes.seen else {}


def test_all_are_seen_by_one_list_and_one_watch(api: LiveApi, nodes: Nodes, signals: Signals) -> None:
    nodes.follow(KUBELET)
    until(lambda: pods(nodes) == {"win1": []}, "its own is seen")
    assert nodes.seen is not None
    assert nodes.seen[0] == "win1"
    api.nodes.put("win2", spec={"podCIDRs": ["10.244.2.0/24"]})
    until(lambda: pods(nodes) == {"win1": [], "win2": ["10.244.2.0/24"]}, "another one is seen")
    signals.take(0)
    for heartbeat in range(3):
        api.nodes.put("win2", spec={"podCIDRs": ["10.244.2.0/24"]}, status={"at": heartbeat})
    api.nodes.remove("win2")
    until(lambda: pods(nodes) == {"win1": []}, "it is gone")
    assert [signal.source for signal in signals.take(5)] == [Source.NODES]
    queries = [asked.target.partition("?")[2] for asked in api.server.asked]
    assert [("watch=true" in query, "fieldSelector" in query) for query in queries] == [
        (False, False),
        (True, False),
    ]
    assert "allowWatchBookmarks=true" in queries[1]


def test_who_is_not_allowed_to_learns_what_allows_it(api: LiveApi, nodes: Nodes, signals: Signals) -> None:
    api.server.at(NODES, *[status(403, "Forbidden")] * 3, api.nodes.answer)
    nodes.follow(KUBELET)
    told = until(lambda: nodes.trouble, "it is told")
    assert told.endswith("; packaging/manifests/pod-network allows it")
    until(lambda: nodes.seen is not None, "it is allowed to meanwhile")
    assert nodes.trouble is None
    assert {signal.source for signal in signals.take(5)} == {Source.NODES}
