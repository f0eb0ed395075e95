from __future__ import annotations

from pathlib import Path

import pytest

from agent.sources.kubeadm.cluster import Cluster, read_cluster

DATA = Path(__file__).parents[3] / "data" / "kubeadm"


def test_what_a_node_goes_by() -> None:
    outcome = read_cluster((DATA / "kubeadm-config.yaml").read_bytes())
    assert outcome.report.entries == ()
    assert outcome.configuration == Cluster(
        kubernetes_version="v1.36.3", image_repository="registry.example", feature_gates={}
    )


@pytest.mark.parametrize(
    ("subnet", "address"),
    [
        ("10.96.0.0/12", "10.96.0.10"),
        ("fd00::/108,10.0.0.0/16", "fd00::a"),
        ("10.0.0.1/24", "10.0.0.10"),
        ("10.0.0.0/31", "10.96.0.10"),
        ("nonsense", "10.96.0.10"),
    ],
)
def test_where_the_clusters_dns_is(subnet: str, address: str) -> None:
    assert Cluster(service_subnet=subnet).dns_address == address


HEAD = "kind: ClusterConfiguration\napiVersion: kubeadm.k8s.io/"


@pytest.mark.parametrize(
    ("text", "cluster", "entries"),
    [
        (
            HEAD + "v1beta9\nclusterName: a\nfeatureGates: {NodeLocalCRISocket: false}\n",
            Cluster(name="a", feature_gates={"NodeLocalCRISocket": False}),
            [
                "warning: ConfigMap kube-system/kubeadm-config line 2, column 13 at $.apiVersion: "
                '"kubeadm.k8s.io/v1beta9" is not known; it is read as kubeadm.k8s.io/v1beta4',
            ],
        ),
        (
            HEAD + "v1beta4\nnetworking: {serviceSubnet: 5}\nfeatureGates: {a: 1}\n",
            None,
            [
                "error: ConfigMap kube-system/kubeadm-config line 3, column 29 at "
                "$.networking.serviceSubnet: "
                "text was expected",
                "error: ConfigMap kube-system/kubeadm-config line 4, column 19 at $.featureGates.a: true or "
                "false was expected",
            ],
        ),
        (
            "kind: A\napiVersion: b/c\n",
            None,
            [
                "error: ConfigMap kube-system/kubeadm-config: there is no ClusterConfiguration in it: "
                "this is "
                "no cluster of kubeadm's",
            ],
        ),
        (
            "a: [",
            None,
            [
                "error: ConfigMap kube-system/kubeadm-config line 2, column 1: it is not YAML: a value is "
                "missing before this, or the closing bracket"
            ],
        ),
    ],
)
def test_what_else_may_stand_there(text: str, cluster: Cluster | None, entries: list[str]) -> None:
    outcome = read_cluster(text.encode())
    assert outcome.configuration == cluster
    assert [str(entry) for entry in outcome.report.entries] == entries
