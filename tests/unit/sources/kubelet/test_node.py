from __future__ import annotations

import pytest

from agent.sources.kubelet import feature_gates
from agent.sources.kubelet.node import NEWEST, OLDEST, Kubelet, Node, is_label, may_set
from agent.sources.kubelet.quantities import quantity


@pytest.mark.parametrize(
    ("version", "kubelet"),
    [
        ("Kubernetes v1.36.3", Kubelet(36)),
        ("v1.27.6+f67aeb3", Kubelet(27, sets_roles=True)),
        ("Kubernetes v1.30.0-rc.1", Kubelet(30)),
        ("v1.31.2+k3s1", Kubelet(31)),
        ("v1.28.5-gke.1200", Kubelet(28)),
        ("1.29", Kubelet(29)),
        ("v2.0.0", None),
        ("", None),
    ],
)
def test_kubelet_of_a_version(version: str, kubelet: Kubelet | None) -> None:
    assert Kubelet.of_version(version) == kubelet


def test_specifiers_that_only_the_node_answers() -> None:
    assert Node(host_name="a.b.c", os_version="10.0").specifiers() == {"H": "a.b.c", "l": "a", "w": "10.0"}
    assert Node().specifiers() == {}


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2Gi", 2 * 1024**3),
        ("500m", 0.5),
        ("1e3", 1000),
        ("1E", 10**18),
        ("1.5k", 1500),
        (".5", 0.5),
        ("1.", 1),
        ("-1Ki", -1024),
        ("", None),
        ("Gi", None),
        ("1GiB", None),
        ("1 Gi", None),
        ("lots", None),
        ("9" * 100, None),
        ("1e999", None),
    ],
)
def test_quantities(text: str, amount: float | None) -> None:
    assert quantity(text) == amount


@pytest.mark.parametrize(
    ("key", "value", "fits"),
    [
        ("a", "", True),
        ("a.b/c_d", "x-1", True),
        ("a/", "", False),
        ("/a", "", False),
        ("A.b/c", "", False),
        ("-a", "", False),
        ("a", "x y", False),
        ("a" * 64, "", False),
        ("a", "x" * 64, False),
        ("x" * 254 + "/a", "", False),
        ("", "", False),
    ],
)
def test_labels(key: str, value: str, fits: bool) -> None:
    assert is_label(key, value) is fits


@pytest.mark.parametrize(
    ("key", "allowed", "with_roles"),
    [
        ("a", True, True),
        ("example.test/a", True, True),
        ("node.openshift.io/os_id", True, True),
        ("node.kubernetes.io/a", True, True),
        ("x.node.kubernetes.io/a", True, True),
        ("kubernetes.io/hostname", True, True),
        ("kubernetes.io/a", False, False),
        ("x.k8s.io/a", False, False),
        ("notkubernetes.io/a", True, True),
        ("node-role.kubernetes.io/worker", False, True),
        ("node-role.kubernetes.io/infra", False, False),
    ],
)
def test_which_labels_a_kubelet_may_set(key: str, allowed: bool, with_roles: bool) -> None:
    assert may_set(key, Kubelet(36)) is allowed
    assert may_set(key, Kubelet(36, sets_roles=True)) is with_roles


@pytest.mark.parametrize(
    ("gate", "value", "minor", "starts"),
    [
        ("RotateKubeletServerCertificate", True, OLDEST, True),
        ("RotateKubeletServerCertificate", True, 12, True),
        ("RotateKubeletServerCertificate", False, NEWEST + 3, True),
        ("NodeLogQuery", True, 26, False),
        ("NodeLogQuery", True, 27, True),
        ("NodeLogQuery", False, 36, False),
        ("SCTPSupport", True, 21, True),
        ("SCTPSupport", False, 21, False),
        ("SCTPSupport", True, 22, False),
        ("SidecarContainers", False, 32, True),
        ("SidecarContainers", False, 33, False),
        ("SizeMemoryBackedVolumes", False, 32, False),
        ("SeparateCacheWatchRPC", True, 36, False),
        ("TopologyManagerPolicyOptions", False, 35, True),
        ("TopologyManagerPolicyOptions", False, 36, False),
        ("StatefulSetSemanticRevisionComparison", True, 34, False),
        ("StatefulSetSemanticRevisionComparison", True, 35, True),
        ("ClientsAllowCBOR", True, 31, False),
        ("ClientsAllowCBOR", True, 32, True),
        ("BuildCSIVolumes", True, 30, False),
        ("AllBeta", True, 30, True),
    ],
)
def test_feature_gates(gate: str, value: bool, minor: int, starts: bool) -> None:
    assert (feature_gates.refusal(gate, value, minor) is None) is starts
