"""The cluster itself: what tests of nodes rely on."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

import pytest

from lab import kubernetes
from lab.cluster.cluster import Cluster
from lab.cluster.control_plane import HOST, PORT
from lab.cluster.proxy import Traffic
from lab.waiting import PATIENCE_SECONDS, until

Lend = Callable[[], AbstractContextManager[Cluster]]
Timed = Callable[[str], AbstractContextManager[None]]


def ask(kubeconfig: Path, *words: str, seconds: float = PATIENCE_SECONDS) -> subprocess.CompletedProcess[str]:
    """What a node's own client sees, through the proxy."""
    options = [f"--kubeconfig={kubeconfig}", f"--request-timeout={seconds:g}s"]
    return subprocess.run(
        [kubernetes.linux() / "kubectl", *options, *words], capture_output=True, text=True, check=False
    )


def answer(kubeconfig: Path, *words: str) -> str:
    """ "ok", or the reason that the API server or the connection gave."""
    done = ask(kubeconfig, *words)
    if done.returncode == 0:
        return "ok"
    for reason in ("Unauthorized", "Forbidden", "refused", "certificate has expired", "Timeout", "timeout"):
        if reason in done.stderr:
            return reason
    return done.stderr


def connected() -> socket.socket:
    return socket.create_connection((HOST, PORT), timeout=PATIENCE_SECONDS)


@pytest.fixture
def node_identity(cluster: Cluster, tmp_path: Path) -> Path:
    """A kubeconfig as a joined node has it."""
    return cluster.kubeconfig(tmp_path / "node.conf", "system:node:win9", ["system:nodes"])


def test_its_state_is_kubeadms(cluster: Cluster) -> None:
    configmaps = "/api/v1/namespaces/kube-system/configmaps"
    kubelet = cluster.api.get(f"{configmaps}/kubelet-config")["data"]["kubelet"]
    assert "clientCAFile: /etc/kubernetes/pki/ca.crt" in kubelet
    settings = cluster.api.get(f"{configmaps}/kubeadm-config")["data"]["ClusterConfiguration"]
    assert f"kubernetesVersion: v{kubernetes.RELEASE}" in settings
    assert cluster.kubectl("get", "daemonset", "-A", "-o", "name") == "daemonset.apps/kube-proxy\n"


# Tokens and certificates


def token_config(cluster: Cluster, place: Path, token: str) -> Path:
    text = cluster.kubeconfig(place, "nobody", []).read_text()
    head, _, tail = text.partition("users: ")
    place.write_text(f"{head}users: [{{name: lab, user: {{token: {token}}}}}]\n{tail.partition(chr(10))[2]}")
    return place


def test_a_fresh_token_may_ask_for_a_certificate(cluster: Cluster, tmp_path: Path) -> None:
    token = cluster.fresh_bootstrap_token(timedelta(minutes=5))
    config = token_config(cluster, tmp_path / "token.conf", token)
    assert answer(config, "auth", "can-i", "create", "certificatesigningrequests") == "ok"
    assert answer(config, "get", "nodes") == "Forbidden"


def test_an_expired_token_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    config = token_config(cluster, tmp_path / "token.conf", cluster.fresh_bootstrap_token(expired=True))
    assert answer(config, "get", "nodes") == "Unauthorized"


@pytest.mark.parametrize(
    ("user", "groups", "valid_for", "expected"),
    [
        pytest.param("system:node:win9", ["system:nodes"], timedelta(hours=1), "ok", id="a node"),
        pytest.param("system:node:win9", [], timedelta(hours=1), "Forbidden", id="no group"),
        pytest.param(
            "system:node:win9", ["others", "system:nodes"], timedelta(hours=1), "ok", id="two groups"
        ),
        pytest.param(
            "system:node:win9", ["system:nodes"], timedelta(seconds=-1), "Unauthorized", id="expired"
        ),
    ],
)
def test_client_certificates(
    cluster: Cluster, tmp_path: Path, user: str, groups: list[str], valid_for: timedelta, expected: str
) -> None:
    config = cluster.kubeconfig(tmp_path / "client.conf", user, groups, valid_for)
    assert answer(config, "get", "services", "-A") == expected


def test_an_expired_copy_of_a_certificate(cluster: Cluster, tmp_path: Path) -> None:
    pair = cluster.authority.client("system:node:win9", ["system:nodes"])
    expired = tmp_path / "expired.pem"
    expired.write_text(cluster.authority.expired(pair))
    told = subprocess.run(
        ["openssl", "x509", "-in", expired, "-noout", "-subject", "-checkend", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert told.stdout == "subject=O = system:nodes, CN = system:node:win9\nCertificate will expire\n"


def test_an_expired_serving_certificate(cluster: Cluster, node_identity: Path) -> None:
    with cluster.expired_serving_certificate():
        assert answer(node_identity, "get", "services") == "certificate has expired"
    assert answer(node_identity, "get", "services") == "ok"


# The API server's life, and the network in front of it


def test_the_api_server_can_be_stopped_and_started(cluster: Cluster, node_identity: Path) -> None:
    cluster.stop_api_server()
    assert answer(node_identity, "get", "services") == "refused"
    cluster.start_api_server()
    assert answer(node_identity, "get", "services") == "ok"


@pytest.mark.parametrize("end", ["restart_api_server", "kill_api_server"])
def test_the_lab_itself_outlives_the_api_server(cluster: Cluster, end: str) -> None:
    cluster.api.get("/version")
    ending: Callable[[], None] = getattr(cluster, end)
    ending()
    cluster.start_api_server()
    assert cluster.api.get("/version")["gitVersion"] == f"v{kubernetes.RELEASE}"


def test_refused_and_let_in_again(cluster: Cluster, node_identity: Path) -> None:
    with cluster.proxy.refusing():
        assert answer(node_identity, "get", "services") == "refused"
        assert cluster.api.get("/readyz") == "ok"
    assert answer(node_identity, "get", "services") == "ok"


def test_cut_off_and_connected_again(cluster: Cluster, node_identity: Path) -> None:
    with cluster.proxy.cut_off():
        began = time.monotonic()
        assert ask(node_identity, "get", "services", seconds=1).returncode != 0
        assert time.monotonic() - began >= 1
    assert answer(node_identity, "get", "services") == "ok"


def test_what_was_held_back_arrives_once_the_cable_is_whole(cluster: Cluster) -> None:
    with connected() as connection:
        until(cluster.traffic, "the connection was seen")
        with cluster.proxy.cut_off():
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")  # an answer comes without TLS as well
            connection.settimeout(0.5)
            with pytest.raises(TimeoutError):
                connection.recv(1)
        connection.settimeout(PATIENCE_SECONDS)
        assert connection.recv(9) == b"HTTP/1.0 "


def test_slow(cluster: Cluster) -> None:
    def took() -> float:
        began = time.monotonic()
        with connected() as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")  # an answer comes without TLS as well
            assert connection.recv(9) == b"HTTP/1.0 "
        return time.monotonic() - began

    there_and_back = 2 * 0.3
    with cluster.proxy.slow(0.3):
        assert took() >= there_and_back
    until(lambda: took() < there_and_back, "it is quick again")


def test_connections_can_be_dropped(cluster: Cluster) -> None:
    with connected() as connection:
        until(cluster.traffic, "the connection was seen")
        cluster.proxy.drop_connections()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    connected().close()


# What it was asked


def test_requests_are_counted_by_client(cluster: Cluster, node_identity: Path) -> None:
    for _ in range(3):
        ask(node_identity, "get", "--raw=/api/v1/nodes/win9")
    ask(node_identity, "get", "--raw=/api/v1/nodes/win1")
    asked = cluster.requests(program="kubectl", user="system:node:win9")
    counted = Counter((request.verb, request.resource, request.name, request.code) for request in asked)
    assert counted == {("get", "nodes", "win9", 404): 3, ("get", "nodes", "win1", 403): 1}


def test_a_watch_is_one_request(cluster: Cluster, node_identity: Path) -> None:
    watch = "--raw=/api/v1/services?watch=true&timeoutSeconds=1"
    assert answer(node_identity, "get", watch) == "ok"
    assert [r.verb for r in cluster.requests(user="system:node:win9")] == ["watch"]


def test_bytes_are_counted_by_program(cluster: Cluster, node_identity: Path) -> None:
    asked = b"GET / HTTP/1.0\r\n\r\n"  # an answer comes without TLS as well
    with connected() as connection:
        connection.sendall(asked)
        told = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer(node_identity, "get", "services") == "ok"

    counted = cluster.traffic()
    assert counted[Path(sys.executable).name] == Traffic(1, len(asked), len(told))
    assert counted["kubectl"].connections == 1
    assert counted["kubectl"].sent > 1000 < counted["kubectl"].received


# Nodes without machines


def nothing_is_left(cluster: Cluster) -> bool:
    collections = (
        "/api/v1/nodes",
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
        "/api/v1/namespaces/kube-system/secrets?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken",
    )
    return not any(cluster.api.items(collection) for collection in collections)


def test_many_nodes(clusters: Lend, timed: Timed) -> None:
    with clusters() as cluster:
        with timed("300 Nodes made"):
            fleet = cluster.make_nodes(300)
        with timed("300 leases renewed"):
            fleet.renew_leases()
        with timed("300 Nodes' status reported"):
            fleet.report_status()
        assert len(cluster.api.items("/api/v1/nodes")) == 300
        last = fleet.names[-1]
        assert cluster.is_ready(last)
        until(
            lambda: "podCIDR" in (cluster.node(last) or {})["spec"], "the controllers have seen the last Node"
        )
    with clusters() as following:
        assert nothing_is_left(following)


def test_the_next_test_finds_nothing_of_this_one(clusters: Lend, tmp_path: Path) -> None:
    with clusters() as this:
        this.make_nodes(3)
        this.fresh_bootstrap_token()
        identity = this.kubeconfig(tmp_path / "node.conf", "system:node:win9", ["system:nodes"])
        assert answer(identity, "get", "services") == "ok"
        assert this.requests(program="kubectl")
        assert this.traffic()
        assert not nothing_is_left(this)
        this.stop_api_server()
    with clusters() as following:
        assert nothing_is_left(following)
        assert following.requests(program="kubectl") == []
        assert following.traffic() == {}
        assert following.namespace != this.namespace
