"""The commands of README and docs that need a cluster, run beside a real control plane as pages have them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from cluster.test_ignition import DOCUMENT, Worker, worker_ignition
from cluster.test_manifests import LEVELS, LINUX, MANIFESTS
from documentation import blocks, on_windows, shell
from documentation.blocks import Place
from lab import kubernetes, means, namespace
from lab.buildkit import ImageBuilding
from lab.cluster.cluster import REQUESTS, Cluster
from lab.cluster.control_plane import KUBERNETES
from lab.cluster.kubelet_node import KubeletNode
from lab.cluster.openshift import bootstrappers_token, without_bootstrapper
from lab.cluster.runtime import ContainerRuntime
from lab.features import Features
from lab.firewall import Firewall
from lab.node import Node
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until
from sandbox.cli.test_profiles import PACKAGING, put_downloads
from windows.exe import SHIPPED
from windows.test_bootstrap import RUNTIME

Has = Callable[[Node, Cluster, ContainerRuntime], None]

DOWNLOADS = r"C:\downloads"
SIGNED_BY = {
    "kubernetes.io/kube-apiserver-client-kubelet": "csr-7vqkz",
    "kubernetes.io/kubelet-serving": "csr-m4xt8",
}
"""Who signs what a kubelet asks for, and what pages call the request."""


def bare(node: Node, _: Cluster, __: ContainerRuntime) -> None:
    """With what it would fetch from the projects' own servers, and the profile for containerd."""
    profile = PACKAGING / "profiles" / "containerd.yaml"
    node.copy_in(profile, r"C:\containerd.yaml")
    runtime = StandinKubelet(
        node, r"C:\given\containerd.exe", address="127.0.0.1:10999", starts=r"C:\given\starts"
    )
    put_downloads(node.path(DOWNLOADS), profile, runtime.content)
    node.copy_in(kubernetes.kubelet(), rf"{DOWNLOADS}\kubelet.exe")
    newer = node.path(rf"{DOWNLOADS}\newer\kubelet.exe")
    newer.parent.mkdir()
    # The same program: a Windows one does not mind what stands behind its end.
    newer.write_bytes(kubernetes.kubelet().read_bytes() + b"newer")
    digest = hashlib.sha256(kubernetes.kubelet().read_bytes()).hexdigest()
    node.path(rf"{DOWNLOADS}\kubelet.exe.sha256").write_text(digest)
    Firewall(node)
    Features(node)


def of_an_image(node: Node, _: Cluster, __: ContainerRuntime) -> None:
    """With containerd and a kubelet."""
    StandinKubelet(node, RUNTIME, address="127.0.0.1:10999", starts=r"C:\containerd.txt")
    node.create_service("containerd", f'"{RUNTIME}" --windows-service', automatic=True)
    node.copy_in(kubernetes.kubelet(), r"C:\k\kubelet.exe")


def joined(node: Node, cluster: Cluster, runtime: ContainerRuntime) -> None:
    of_an_image(node, cluster, runtime)
    place = (cluster.address, "--cri-socket", runtime.endpoint)
    token = ("--token", cluster.fresh_bootstrap_token(), "--discovery-token-ca-cert-hash", cluster.ca_hash)
    done = node.run(r"C:\wmcb.exe", "join", *place, *token)
    assert done.code == 0, done.err


def joined_by_kubeadm(node: Node, cluster: Cluster, runtime: ContainerRuntime) -> None:
    """By the real one, as long as PrepareNode.ps1 has been there."""
    former = KubeletNode(cluster, runtime, node)
    former.install()
    assert former.join().code == 0
    former.wait_until_ready()


def of_an_ignition(node: Node, cluster: Cluster, runtime: ContainerRuntime) -> None:
    """Made a node by hand, with nobody who approves what its kubelet asks for."""
    worker = Worker(cluster, runtime, node)
    worker.install()
    ignition = worker_ignition(cluster, bootstrappers_token(cluster), serverTLSBootstrap=True)
    node.path(DOCUMENT).write_text(ignition)
    done = worker.wmcb()
    assert done.code == 0, done.err
    until(lambda: cluster.api.items(REQUESTS), "the kubelet has asked for its first certificate", 60)


def administrators(_: Node, __: Cluster, ___: ContainerRuntime) -> None:
    """With what signs; the machine has no part in it."""
    means.ensure("minisign")


PAGES = {
    "README.md": bare,
    "docs/guides/cluster-api.md": of_an_image,
    "docs/guides/config-map.md": joined,
    "docs/guides/kubeadm.md": bare,
    "docs/guides/openshift.md": of_an_ignition,
    "docs/migration.md": joined_by_kubeadm,
    "packaging/manifests/README.md": administrators,
}
"""Of each that has commands for a cluster, the machine that its reader has."""
FLANNELS_FILE = "https://github.com/flannel-io/flannel/releases/download/v0.28.9/kube-flannel.yml"
FLANNEL = f"""\
apiVersion: v1
kind: Namespace
metadata: {{name: kube-flannel, labels: {{pod-security.kubernetes.io/enforce: privileged}}}}
---
{LINUX}"""


def without_manifests(cluster: Cluster) -> None:
    for folder in ("overlay", "monitoring", "installing", "following"):
        cluster.kubectl("delete", "--ignore-not-found", "-k", str(MANIFESTS / folder))
    cluster.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=LINUX)
    labels = [f"pod-security.kubernetes.io/{level}-" for level in LEVELS]
    cluster.kubectl("label", "namespace", "kube-system", *labels)
    cluster.kubectl("delete", "--ignore-not-found", "-n", "kube-system", "configmap", "windows-nodes")


AFTERWARDS = {
    "docs/guides/openshift.md": without_bootstrapper,
    "packaging/manifests/README.md": without_manifests,
}
"""What pages make in the cluster and leave there: other tests have the same one."""


def test_no_page_is_left_out() -> None:
    assert blocks.pages_for(Place.CLUSTER) == list(PAGES)


@pytest.mark.parametrize(("page", "has"), PAGES.items(), ids=PAGES)
def test_a_page_shows_what_is_printed(
    page: str,
    has: Has,
    cluster: Cluster,
    container_runtime: ContainerRuntime,
    image_building: ImageBuilding,
    node: Node,
    tmp_path: Path,
) -> None:
    node.copy_in(SHIPPED, r"C:\wmcb.exe")
    has(node, cluster, container_runtime)
    home = shell.readers_folder(tmp_path / "repository", built=[SHIPPED])
    (home / "kube-flannel.yml").write_text(FLANNEL)
    admin = {
        **image_building.environment,
        "HOME": str(home),
        "KUBECONFIG": str(KUBERNETES / "super-admin.conf"),
        "PATH": f"{kubernetes.linux()}{os.pathsep}{image_building.environment['PATH']}",
    }
    others = {**in_the_lab(cluster, container_runtime), **image_building.called_here}
    real = WithRequests(cluster, others)
    try:
        on_windows.check(page, Place.CLUSTER, node, real, admin)
    finally:
        AFTERWARDS.get(page, bool)(cluster)


class WithRequests(Mapping[str, str]):
    """And with what the cluster calls the requests for certificates that it has at the moment."""

    def __init__(self, cluster: Cluster, others: Mapping[str, str]) -> None:
        self._cluster = cluster
        self._others = others

    def _now(self) -> dict[str, str]:
        requests = self._cluster.api.items(REQUESTS)
        names = {SIGNED_BY[each["spec"]["signerName"]]: each["metadata"]["name"] for each in requests}
        return {**self._others, **names}

    def __getitem__(self, name: str) -> str:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


def in_the_lab(cluster: Cluster, runtime: ContainerRuntime) -> Mapping[str, str]:
    """What pages call by examples' names; and what the lab has in place of others' servers and of a pipe."""
    return {
        "wmcb.exe prepare": rf"wmcb.exe prepare --artifacts {DOWNLOADS}",
        "npipe:////./pipe/containerd-containerd": runtime.endpoint,
        "wmcb.exe join": f"wmcb.exe join --cri-socket {runtime.endpoint}",
        "10.0.0.10:6443": cluster.address,
        "abcdef.0123456789abcdef": cluster.fresh_bootstrap_token(),
        f"sha256:{'0123456789abcdef' * 4}": cluster.ca_hash,
        "10.0.1.11": namespace.ADDRESS,
        # A reader looks again.
        "kubectl get csr": "until kubectl get csr 2>&1 | grep -q Pending; do :; done; kubectl get csr",
        FLANNELS_FILE: "kube-flannel.yml",
        "minisign -G": r"printf 'word\nword\n' | minisign -G",
        "minisign -Sm": r"printf 'word\n' | minisign -Sm",
    }
