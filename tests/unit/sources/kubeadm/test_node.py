"""What a node is called, where its runtime listens, how old its kubelet may be, how long an hour is."""

from __future__ import annotations

import pytest

from agent.sources import node_names
from agent.sources.durations import seconds
from agent.sources.kubeadm import runtime_endpoint
from agent.sources.kubeadm.cluster import skew_fault
from agent.sources.kubeadm.model import Argument, NodeRegistration, node_name


@pytest.mark.parametrize(
    ("registration", "host", "name"),
    [
        (NodeRegistration(), "WIN-1", "win-1"),
        (NodeRegistration("a"), "WIN-1", "a"),
        (NodeRegistration("a", kubelet_extra_args=(Argument("hostname-override", "B"),)), "WIN-1", "b"),
        (NodeRegistration("a", kubelet_extra_args=(Argument("hostname-override", ""),)), "WIN-1", "a"),
        (NodeRegistration(), "a-cluster-md-0-windows-8b7c6-x2v4f", "a-cluster-md-0-windows-8b7c6-x2v4f"),
        (NodeRegistration(), "\u0130", "i"),
    ],
)
def test_what_a_node_is_called(registration: NodeRegistration, host: str, name: str) -> None:
    assert node_name(registration, host) == name


@pytest.mark.parametrize("name", ["a", "a-1", "a.b", "1", "a" * 63, "a.example-1.org"])
def test_good_names(name: str) -> None:
    assert node_names.fault(name) is None


@pytest.mark.parametrize(
    "name", ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a" * 64, "a." * 126 + "ab", "\u00e4"]
)
def test_bad_names(name: str) -> None:
    assert node_names.fault(name)


@pytest.mark.parametrize(
    ("given", "endpoint"),
    [
        ("npipe:////./pipe/containerd-containerd", "npipe:////./pipe/containerd-containerd"),
        ("npipe:\\\\.\\pipe\\cri-dockerd", "npipe:////./pipe/cri-dockerd"),
        ("\\\\.\\pipe\\a\\b", "npipe:////./pipe/a/b"),
        ("//./pipe/a", "npipe:////./pipe/a"),
        ("tcp://127.0.0.1:3735", "tcp://127.0.0.1:3735"),
    ],
)
def test_where_a_runtime_can_be(given: str, endpoint: str) -> None:
    assert runtime_endpoint.fault(given) is None
    assert not runtime_endpoint.is_of_linux(given)
    assert runtime_endpoint.endpoint(given) == endpoint


@pytest.mark.parametrize("given", ["unix:///run/containerd/containerd.sock", "/run/crio/crio.sock"])
def test_a_runtime_of_linux(given: str) -> None:
    assert runtime_endpoint.fault(given) is None
    assert runtime_endpoint.is_of_linux(given)


@pytest.mark.parametrize(
    "given", ["containerd", "npipe://", "npipe:////./pipe/", "tcp://", "tcp://a:b", "http://a"]
)
def test_where_no_runtime_is(given: str) -> None:
    assert runtime_endpoint.fault(given)


@pytest.mark.parametrize(
    ("kubelet", "server", "cluster"),
    [
        ("v1.36.3", "v1.36.0", "v1.36.0"),
        ("1.33.0", "v1.36.0", ""),
        ("v1.24.17", "v1.26.1", "v1.26.0"),
        ("v1.36.0-rc.1", "v1.36.3+abc", "1.36"),
        ("v1.35.0", "v1.36.3", "v1.35.9"),
        ("v1.36.0", "not a version", ""),
    ],
)
def test_versions_that_go_together(kubelet: str, server: str, cluster: str) -> None:
    assert skew_fault(kubelet, server, cluster) is None


@pytest.mark.parametrize(
    ("kubelet", "server", "cluster", "message"),
    [
        (
            "v1.37.0",
            "v1.36.3",
            "v1.36.3",
            "the kubelet (v1.37.0) is newer than the API server (v1.36.3), which Kubernetes does not "
            "support; "
            "take a kubelet of 1.36 or older, or upgrade the control plane first",
        ),
        (
            "v1.36.0",
            "v1.36.3",
            "v1.35.2",
            "the kubelet (v1.36.0) is newer than the cluster's kubeadm-config (v1.35.2), which "
            "Kubernetes does "
            "not support; take a kubelet of 1.35 or older, or upgrade the control plane first",
        ),
        (
            "v1.32.0",
            "v1.36.3",
            "",
            "the kubelet (v1.32.0) is 4 minor releases older than the API server (v1.36.3); Kubernetes "
            "supports "
            "3: take one of 1.33 to 1.36",
        ),
        (
            "v1.23.0",
            "v1.26.0",
            "",
            "the kubelet (v1.23.0) is 3 minor releases older than the API server (v1.26.0); Kubernetes "
            "supports "
            "2: take one of 1.24 to 1.26",
        ),
        ("unknown", "v1.36.3", "", 'the kubelet\'s version "unknown" is none that is known'),
    ],
)
def test_versions_that_do_not(kubelet: str, server: str, cluster: str, message: str) -> None:
    assert skew_fault(kubelet, server, cluster) == message


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("0", 0),
        ("5m", 300),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("-2s", -2),
        ("+1ms", 0.001),
        (".5h", 1800),
        ("1us", 1e-6),
    ],
)
def test_spans_of_time(text: str, span: float) -> None:
    assert seconds(text) == pytest.approx(span)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m", "1d", ".s", "9999999h", "1h" * 200, "1\u0660s"])
def test_what_is_no_span(text: str) -> None:
    assert seconds(text) is None
