"""`wmcb join` on a machine where a kubelet.conf is already: whose it is, and what is in it."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.cli import join_cluster
from agent.host.protection import PRIVATE_FILE
from agent.host.sddl import SecurityDescriptor
from agent.kube.client import NODES
from sandbox.cli.given import Machine
from sandbox.cli.test_join import Cluster, cluster, join, windows
from unit.kube.api_server import ROOT, kubeconfig_of, ok

__all__ = ["cluster", "windows"]

KUBELET_CONF = r"C:\etc\kubernetes\kubelet.conf"
PLANTED = {
    "of a user": "O:BUG:BUD:P(A;;FA;;;SY)(A;;FA;;;BA)",
    "that users may change": "O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;BU)",
}


@pytest.mark.parametrize("descriptor", PLANTED.values(), ids=PLANTED)
def test_one_that_a_user_may_have_put_there(windows: Machine, cluster: Cluster, descriptor: str) -> None:
    windows.put(KUBELET_CONF, kubeconfig_of(cluster.server.url, ROOT).encode())
    path = PureWindowsPath(KUBELET_CONF)
    windows.host.files.set_descriptor(path, SecurityDescriptor.parse(descriptor))
    before = windows.picture()
    answer = join(windows, cluster)
    assert answer.code == 1
    assert answer.error_lines[-1].endswith("into a cluster of theirs; look at it, and remove it")
    assert not cluster.server.asked
    assert windows.picture() == before


DAMAGED = {
    "empty": b"",
    "zeros, as after a power cut": bytes(100),
    "half of it": b"apiVersion: v1\nclusters: [",
    "an OpenShift worker's, which is no kubeconfig": b"kind: KubeletConfiguration\n",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_one_that_is_none(windows: Machine, cluster: Cluster, content: bytes) -> None:
    windows.put(KUBELET_CONF, content)
    answer = join(windows, cluster)
    assert answer.code == 1
    (line,) = answer.error_lines
    assert line.startswith(f"wmcb: {KUBELET_CONF}")
    assert line.endswith(
        f"; if this is a node already, {windows.called} reset takes it out first; else remove that file"
    )


def test_one_that_is_just_being_written(
    windows: Machine, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows.put(KUBELET_CONF, b"")
    host = windows.host
    path = PureWindowsPath(KUBELET_CONF)
    whole = kubeconfig_of(cluster.server.url, ROOT).encode()
    monkeypatch.setattr(type(host.clock), "sleep", lambda *_: host.files.write(path, whole, PRIVATE_FILE))
    annotations = {"kubeadm.alpha.kubernetes.io/cri-socket": "npipe:////./pipe/x"}
    node = {"metadata": {"name": "win1", "annotations": annotations}}
    cluster.server.at(NODES, ok({"metadata": {"resourceVersion": "1"}, "items": [node]}))
    join_cluster.admitted(host, "win1", "npipe:////./pipe/x", 10.0, lambda _: None)
    assert [target.partition("?")[0] for target in cluster.server.targets] == [f"GET {NODES}"]
