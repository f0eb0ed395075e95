"""What `wmcb join` writes beside what kubeadm.exe writes for the same JoinConfiguration and cluster."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cluster.test_join import Joiner
from cluster.test_kubeadm import DATA, marks
from lab.cluster.cluster import Cluster
from lab.cluster.runtime import ContainerRuntime
from lab.node import Node
from unit.sources.kubeadm.beside_kubeadm import BETTER, differences

GONE = "etc/kubernetes/bootstrap-kubelet.conf"
"""Both remove it when the kubelet has credentials of its own."""
OF_THE_LAB = {
    "var/lib/kubelet/config.yaml": {"containerRuntimeEndpoint"},
    "var/lib/kubelet/instance-config.yaml": {"containerRuntimeEndpoint"},
    "var/lib/kubelet/kubeadm-flags.env": {"--hostname-override"},
}
"""kubeadm.exe writes npipe:// before the lab's tcp://; it was run on a machine that is called as its node."""


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Joiner:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    return made


@pytest.mark.parametrize("case", ["joined", "arguments"])
def test_each_file_is_kubeadms_or_better(joiner: Joiner, case: str) -> None:
    values = marks(joiner.cluster, joiner.cluster.fresh_bootstrap_token())
    configuration = of_kubeadm(case, "join.yaml", values)
    configuration = configuration.replace("npipe:////./pipe/containerd-containerd", joiner.runtime.endpoint)
    file = joiner.machine.path(r"C:\given\join.yaml")
    file.parent.mkdir()
    file.write_text(configuration)

    done = joiner.wmcb("--kubeadm-config", r"C:\given\join.yaml", "--runtime-service", "none")
    assert done.code == 0, done.err
    for name in set(BETTER) - {GONE}:
        ours = joiner.machine.path("C:\\" + name.replace("/", "\\")).read_text()
        found = differences(name, ours, of_kubeadm(case, name, values))
        assert found <= {*BETTER[name], *OF_THE_LAB.get(name, ())}, name


def of_kubeadm(case: str, name: str, values: Mapping[str, str]) -> str:
    text = (DATA / case / name).read_text()
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text
