"""Flannel and kube-proxy as DaemonSets bring them, beside their profiles, on a Ready Node: HNS forgets, and
what they made is there again. kube-proxy, the plug-ins, the manifests' scripts and settings are real.
"""

from __future__ import annotations

import pytest
import yaml

from cluster.conftest import Figure
from cluster.network_users import Users, bring_plugins, delegated, put_downloads
from cluster.test_join import SHIM, Joiner, check_joined
from cluster.test_manifests import SANDBOX, mount, run_script
from lab import kubernetes, programs, repository, wine
from lab.cluster.cluster import Cluster
from lab.cluster.runtime import ContainerRuntime
from lab.hns import Hns
from lab.node import Node
from lab.running import LASTING_SECONDS
from lab.waiting import until

PROFILES = repository.ROOT / "packaging" / "profiles"
DOCUMENT, DOWNLOADS = r"C:\given\node.yaml", r"C:\given\downloads"
FLANNEL, PROXY = r"C:\hpc\flannel\flanneld.exe", r"C:\hpc\kube-proxy\kube-proxy.exe"
KUBECONFIG = r"C:\var\lib\kube-proxy\kubeconfig.conf"
WAYS = {
    "host-gw": (PROXY, r"--config=C:\etc\kube-proxy-windows\config.conf"),
    "overlay": (r"C:\windows\system32\cmd.exe", "/c", r"C:\etc\kube-proxy-windows\start.cmd"),
}
"""By each, how kube-proxy's container begins."""


class DaemonSets:
    """What they put on the machine, and their containers."""

    def __init__(self, joiner: Joiner, way: str) -> None:
        self._node = node = joiner.machine
        self._environment = {**SANDBOX, "NODE_NAME": joiner.name}
        self._proxy = WAYS[way]
        if way == "host-gw":
            self._proxy = (*self._proxy, f"--hostname-override={joiner.name}")
        node.copy_in(wine.outside(programs.PLACE) / "shim.exe", SHIM)
        node.copy_in(wine.outside(programs.PLACE) / "hns.exe", FLANNEL)
        node.copy_in(kubernetes.windows() / "kube-proxy.exe", PROXY)
        bring_plugins(node, r"C:\hpc\cni")
        for name in ("kube-proxy-windows", "kube-flannel-windows"):
            mount(joiner.cluster, node, name, rf"C:\etc\{name}", way)
        settings = node.path(r"C:\etc\kube-flannel\net-conf.json")
        settings.parent.mkdir()
        settings.write_text(flannels_settings(way))
        kubeconfig = node.path(KUBECONFIG)
        kubeconfig.parent.mkdir(parents=True)
        joiner.cluster.kubeconfig(kubeconfig, "system:kube-proxy", [])

    def start(self) -> None:
        """As the kubelet does, at once after a start of Windows."""
        # A plug-in that runs just then cannot be replaced: the kubelet starts such a container again.
        until(
            lambda: run_script(self._node, r"C:\etc\kube-flannel-windows\install-cni.cmd").code == 0,
            "the plug-ins are installed",
        )
        for words in ((FLANNEL,), self._proxy):
            self._node.start(SHIM, *words, environment=self._environment, seconds=LASTING_SECONDS)


def flannels_settings(way: str) -> str:
    patch = repository.ROOT / "packaging" / "manifests" / "linux" / way / "net-conf.yaml"
    return str(yaml.safe_load(patch.read_text())["data"]["net-conf.json"])


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Joiner:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    put_downloads(node.path(DOWNLOADS))
    return made


@pytest.mark.parametrize("way", WAYS)
def test_what_daemon_sets_made_is_there_again_whatever_hns_has_lost(
    joiner: Joiner, figure: Figure, way: str
) -> None:
    hns = Hns(joiner.machine)
    profile = (PROFILES / f"kubeadm-flannel-{way}.yaml").read_text()
    joiner.machine.path(DOCUMENT).write_text(profile.replace("adapter: Ethernet", "adapter: eth0"))
    daemon_sets = DaemonSets(joiner, way)
    daemon_sets.start()  # before the Node: with an overlay kube-proxy always waits for ten seconds first
    done = joiner.wmcb(*joiner.by_options(), "--node-config", DOCUMENT, "--artifacts", DOWNLOADS)
    assert done.code == 0, done.err
    check_joined(joiner)
    users = Users(joiner, hns, delegated(joiner.machine))
    users.begin_keeping()
    if way == "host-gw":
        users.try_the_bridges_address()
    users.until_balanced()
    users.outlive_a_crash(figure, way)
    users.outlive_a_start(figure, way, daemon_sets.start, with_endpoint="cbr0_ep")
    check_joined(joiner)
