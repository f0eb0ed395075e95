"""Our client against a real API server: discovery, what a join asks for, watches that outlive faults."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from agent.fetch.address import Proxies
from agent.kube import failure, kubeconfig
from agent.kube.answers import at, text_at
from agent.kube.client import Client, Following, config_map, node, until
from agent.kube.discovery import Discovery
from agent.kube.transport import Limits
from lab import waiting
from lab.certificates import Authority
from lab.cluster.cluster import Cluster
from lab.cluster.control_plane import HOST
from lab.web import Page, proxying, serving

US = "wmcb"
KUBE_SYSTEM = "kube-system"
IMPATIENT = Limits(patience=0)
NEW = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "win9"}}
CRI_SOCKET = "kubeadm.alpha.kubernetes.io/cri-socket"


def read_file(path: str) -> bytes:
    return Path(path).read_bytes()


@pytest.fixture
def identity(cluster: Cluster, tmp_path: Path) -> kubeconfig.Kubeconfig:
    """As a joined node has it."""
    file = cluster.kubeconfig(tmp_path / "kubelet.conf", "system:node:win9", ["system:nodes"])
    return kubeconfig.read(file.read_bytes(), "kubelet.conf")


def found(cluster: Cluster, token: str, seconds: float = 60) -> kubeconfig.Cluster:
    return Discovery(seconds).by_token(cluster.address, token, [cluster.ca_hash])


def asked(cluster: Cluster) -> Counter[tuple[str, str, int]]:
    return Counter((r.verb, f"{r.resource}/{r.name}", r.code) for r in cluster.requests(program=US))


# A join's requests


def test_what_a_join_asks_for(cluster: Cluster) -> None:
    token = cluster.fresh_bootstrap_token()
    there = found(cluster, token)
    assert there.server == f"https://{cluster.address}"
    assert there.authority.decode() == cluster.ca_certificate

    with Client(kubeconfig.with_token(there, token).access(read_file)) as client:
        settings = text_at(client.get(config_map(KUBE_SYSTEM, "kubelet-config")), "data", "kubelet")
        assert "clientCAFile: /etc/kubernetes/pki/ca.crt" in settings
        whole = text_at(client.get(config_map(KUBE_SYSTEM, "kubeadm-config")), "data", "ClusterConfiguration")
        assert "clusterName: kubernetes" in whole
        assert client.find(node("win1")) is None

    # Nothing more than that, and all with the token in one connection.
    assert asked(cluster) == {
        ("get", "configmaps/cluster-info", 200): 2,
        ("get", "configmaps/kubelet-config", 200): 1,
        ("get", "configmaps/kubeadm-config", 200): 1,
        ("get", "nodes/win1", 404): 1,
    }
    assert sum(traffic.connections for traffic in cluster.traffic().values()) == 3


def test_through_a_proxy(cluster: Cluster) -> None:
    token = cluster.fresh_bootstrap_token()
    with proxying() as proxy:
        ways = Proxies(https=proxy.url)
        there = Discovery(60, proxies=ways).by_token(cluster.address, token, [cluster.ca_hash])
        access = kubeconfig.with_token(there, token).access(read_file)
        with Client(access, proxies=ways) as client:
            assert client.find(node("win1")) is None
        assert [(r.method, r.path) for r in proxy.requests] == [("CONNECT", cluster.address)] * 3


def test_a_token_may_do_no_more(cluster: Cluster) -> None:
    token = cluster.fresh_bootstrap_token()
    access = kubeconfig.with_token(found(cluster, token), token).access(read_file)
    with Client(access) as client, pytest.raises(failure.Forbidden, match="system:bootstrap:") as caught:
        client.list("/api/v1/nodes")
    assert token not in str(caught.value)


def test_a_nodes_own_annotation(identity: kubeconfig.Kubeconfig) -> None:
    with Client(identity.access(read_file)) as client:
        made = client.create("/api/v1/nodes", NEW)
        assert text_at(made, "metadata", "name") == "win9"
        patched = client.patch(node("win9"), {"metadata": {"annotations": {CRI_SOCKET: "pipe"}}})
        assert at(patched, "metadata", "annotations", CRI_SOCKET) == "pipe"
        with pytest.raises(failure.Conflict) as caught:
            client.create("/api/v1/nodes", NEW)
        assert caught.value.reason == "AlreadyExists"
        with pytest.raises(failure.Forbidden):
            client.get(node("win1"))


# Discovery that fails


def test_a_wrong_hash(cluster: Cluster, tmp_path: Path) -> None:
    other = Authority.make(tmp_path, "kubernetes").public_key_hash()
    with pytest.raises(
        failure.NotProven, match=f"another certificate authority than was given: {cluster.ca_hash}"
    ):
        Discovery(60).by_token(cluster.address, cluster.fresh_bootstrap_token(), [other])
    assert asked(cluster) == {("get", "configmaps/cluster-info", 200): 1}


def test_a_wrong_secret(cluster: Cluster) -> None:
    name, _, secret = cluster.fresh_bootstrap_token().partition(".")
    with pytest.raises(failure.NotProven, match="does not know the secret of the token") as caught:
        found(cluster, f"{name}.{secret[::-1]}")
    assert secret[::-1] not in str(caught.value)
    assert asked(cluster) == {("get", "configmaps/cluster-info", 200): 1}


@pytest.mark.parametrize("kind", ["unknown", "expired"])
def test_a_token_that_the_cluster_does_not_know(cluster: Cluster, kind: str) -> None:
    token = "zzzzzz.0123456789abcdef" if kind == "unknown" else cluster.fresh_bootstrap_token(expired=True)
    with pytest.raises(failure.NotSigned, match="kubeadm token create"):
        found(cluster, token, seconds=2)


def test_a_token_that_expires_after_discovery(cluster: Cluster) -> None:
    token = cluster.fresh_bootstrap_token()
    access = kubeconfig.with_token(found(cluster, token), token).access(read_file)
    cluster.expire_token(token)
    with Client(access, limits=IMPATIENT) as client, pytest.raises(failure.Unauthorized) as caught:
        client.get(config_map(KUBE_SYSTEM, "kubelet-config"))
    assert f"does not know the bootstrap token {token.partition('.')[0]}, or no longer" in str(caught.value)


def test_a_man_in_the_middle(cluster: Cluster, tmp_path: Path) -> None:
    """One who answers at the address of the API server and passes on what that says."""
    authority = Authority.make(tmp_path, "kubernetes")
    pair = tmp_path / "middle.pem"
    pair.write_text(authority.server([f"IP:{HOST}"]))
    token = cluster.fresh_bootstrap_token()
    place = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
    told = json.dumps(cluster.api.get(place)).encode()
    with serving(pair) as middle:
        middle.pages[place] = Page(told, headers={"Content-Type": "application/json"})
        endpoint = f"{HOST}:{middle.port}"
        with pytest.raises(
            failure.NotTrusted, match=r"cluster-info trusts one of that name, with another key"
        ):
            Discovery(60).by_token(endpoint, token, [cluster.ca_hash])
        assert len(middle.requests) == 1


def test_an_expired_serving_certificate(cluster: Cluster, identity: kubeconfig.Kubeconfig) -> None:
    says = r"expired at .* UTC; this machine's clock says .* UTC"
    with (
        cluster.expired_serving_certificate(),
        Client(identity.access(read_file)) as client,
        pytest.raises(failure.NotTrusted, match=says),
    ):
        client.get(node("win9"))


def test_an_expired_client_certificate(cluster: Cluster, tmp_path: Path) -> None:
    file = cluster.kubeconfig(
        tmp_path / "old.conf", "system:node:win9", ["system:nodes"], timedelta(seconds=-1)
    )
    access = kubeconfig.read(file.read_bytes(), "kubelet.conf").access(read_file)
    says = r"the client certificate of kubelet.conf expired at .* UTC; this machine's clock says .* UTC"
    with Client(access) as client, pytest.raises(failure.Unauthorized, match=says):
        client.get(node("win9"))


# Discovery by a kubeconfig


def test_by_kubeadms_own_cluster_info(cluster: Cluster) -> None:
    told = cluster.api.get("/api/v1/namespaces/kube-public/configmaps/cluster-info")["data"]["kubeconfig"]
    config = kubeconfig.read(told.encode(), "discovery.conf")
    token = cluster.fresh_bootstrap_token()
    made = Discovery(60).by_kubeconfig(config, read_file, token)
    assert made == kubeconfig.with_token(found(cluster, token), token)


def test_by_an_administrators_kubeconfig(cluster: Cluster) -> None:
    config = kubeconfig.read(cluster.super_admin.read_bytes(), "super-admin.conf")
    made = Discovery(60).by_kubeconfig(config, read_file)
    assert made == config
    with Client(made.access(read_file)) as client:
        assert client.list("/api/v1/nodes").items == ()


def test_by_a_kubeconfig_of_another_cluster(cluster: Cluster, tmp_path: Path) -> None:
    other = Authority.make(tmp_path, "another").certificate.read_bytes()
    config = kubeconfig.with_token(
        kubeconfig.Cluster(f"https://{cluster.address}", other), "abcdef.0123456789abcdef"
    )
    with pytest.raises(failure.NotTrusted, match=r"is signed by CN=kubernetes; .* trusts CN=another alone"):
        Discovery(60).by_kubeconfig(config, read_file)


# The API server's life


def test_requests_outlive_a_restart(cluster: Cluster, identity: kubeconfig.Kubeconfig) -> None:
    notices: list[str] = []
    with Client(identity.access(read_file), notice=notices.append) as client:
        assert client.find(node("win9")) is None
        cluster.stop_api_server()

        def start() -> None:
            waiting.until(lambda: notices, "it was asked for in vain")
            cluster.start_api_server()

        starting = threading.Thread(target=start)
        starting.start()
        assert client.find(node("win9")) is None
        starting.join()
    assert "refuses the connection" in notices[0]


def test_slow_answers_are_waited_for(cluster: Cluster, identity: kubeconfig.Kubeconfig) -> None:
    with cluster.proxy.slow(0.3), Client(identity.access(read_file)) as client:
        assert client.find(node("win9")) is None


def test_a_cable_that_is_cut(cluster: Cluster, identity: kubeconfig.Kubeconfig) -> None:
    short = Limits(patience=2, attempt=1, answer=0.5)
    with (
        cluster.proxy.cut_off(),
        Client(identity.access(read_file), limits=short) as client,
        pytest.raises(failure.Unreachable, match=r"within .* seconds"),
    ):
        client.find(node("win9"))


# Watches


class Seen:
    """What is seen of the Node win9, by a thread that follows it."""

    def __init__(self, client: Client) -> None:
        self.notices: list[str] = []
        self.following = Following(
            client, "/api/v1/nodes", fields="metadata.name=win9", notice=self.notices.append
        )
        self._states: Queue[Any] = Queue()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        try:
            for state in self.following.states():
                self._states.put(state)
        except failure.Failed as fault:
            self._states.put(fault)

    def next(self, seconds: float = 60) -> Any:
        try:
            return self._states.get(timeout=seconds)
        except Empty:
            raise AssertionError(f"nothing new for {seconds} s; {self.notices}") from None

    def label(self) -> str:
        """Of the next state."""
        return text_at(self.next().get("win9"), "metadata", "labels", "seen")

    def end(self) -> None:
        self.following.stop()
        self._thread.join(20)
        assert not self._thread.is_alive()


@pytest.fixture
def seen(cluster: Cluster, identity: kubeconfig.Kubeconfig) -> Iterator[Seen]:
    with Client(identity.access(read_file)) as client:
        follower = Seen(client)
        assert follower.next() == {}
        cluster.api.create("/api/v1/nodes", {"metadata": {"name": "win9", "labels": {"seen": "0"}}})
        assert follower.label() == "0"
        yield follower
        follower.end()


def mark(cluster: Cluster, label: str, name: str = "win9") -> None:
    cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"seen": label}}})


def until_label(seen: Seen, label: str) -> None:
    """The controllers change a Node too."""
    while seen.label() != label:
        pass


def watches(cluster: Cluster) -> Counter[str]:
    return Counter(r.verb for r in cluster.requests(program=US) if r.resource == "nodes")


def test_a_node_is_followed_with_two_requests(cluster: Cluster, seen: Seen) -> None:
    cluster.make_nodes(20)
    for number in range(1, 6):
        mark(cluster, str(number))
        until_label(seen, str(number))
    cluster.api.delete("/api/v1/nodes/win9")
    while seen.next():
        pass
    assert watches(cluster) == {"list": 1, "watch": 1}
    assert seen.notices == []


@pytest.mark.parametrize(
    ("fault", "lists"),
    [
        # Started anew it may have forgotten what is older than itself.
        pytest.param(lambda cluster: cluster.restart_api_server(), 2, id="restart"),
        pytest.param(lambda cluster: (cluster.kill_api_server(), cluster.start_api_server()), 2, id="kill"),
        pytest.param(lambda cluster: cluster.proxy.drop_connections(), 1, id="connections dropped"),
    ],
)
def test_a_watch_goes_on(
    cluster: Cluster, seen: Seen, fault: Callable[[Cluster], object], lists: int
) -> None:
    fault(cluster)
    mark(cluster, "after")
    until_label(seen, "after")
    counted = watches(cluster)
    assert counted["list"] <= lists
    assert counted["watch"] >= 2
    assert seen.notices


def test_a_version_that_is_forgotten(cluster: Cluster, seen: Seen) -> None:
    """410 Gone: an API server that was started anew remembers nothing of what was before."""
    with cluster.proxy.refusing():
        mark(cluster, "meanwhile")
        cluster.restart_api_server()
    until_label(seen, "meanwhile")
    mark(cluster, "after")
    until_label(seen, "after")
    assert watches(cluster)["list"] == 2
    assert any(re.search(r"410 Gone", notice) for notice in seen.notices)


def test_a_server_that_is_trusted_no_longer_ends_a_watch(cluster: Cluster, seen: Seen) -> None:
    with cluster.expired_serving_certificate():
        cluster.proxy.drop_connections()
        while not isinstance(last := seen.next(60), failure.Failed):
            pass
    assert isinstance(last, failure.NotTrusted)


def test_waiting_for_ones_node(cluster: Cluster, identity: kubeconfig.Kubeconfig) -> None:
    with Client(identity.access(read_file)) as client:
        following = Following(client, "/api/v1/nodes", fields="metadata.name=win9")

        def make() -> None:
            waiting.until(lambda: watches(cluster)["watch"], "it is watched for")
            cluster.api.create("/api/v1/nodes", {"metadata": {"name": "win9"}})

        making = threading.Thread(target=make)
        making.start()
        state = until(following, lambda state: "win9" in state, 60, "no Node win9")
        making.join()
    assert list(state) == ["win9"]
    assert watches(cluster) == {"list": 1, "watch": 1}


def test_waiting_in_vain(identity: kubeconfig.Kubeconfig) -> None:
    with Client(identity.access(read_file)) as client:
        following = Following(client, "/api/v1/nodes", fields="metadata.name=win9")
        with pytest.raises(failure.NotInTime, match=r"^no Node win9 within 3 seconds$"):
            until(following, lambda state: "win9" in state, 3, "no Node win9")
