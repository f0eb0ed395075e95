"""packaging/manifests: what the real API server says of each, and their scripts on Windows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.network_users import PLUGINS, bring_plugins
from lab import kubernetes, repository
from lab.cluster.cluster import Cluster
from lab.node import Node
from lab.running import Result
from lab.waiting import until

MANIFESTS = repository.ROOT / "packaging" / "manifests"
NAMESPACES = MANIFESTS / "namespaces"
WAYS = ("overlay", "host-gw")
LEVELS = ("enforce", "audit", "warn")

LINUX = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kube-flannel-ds, namespace: kube-flannel}
spec:
  selector: {matchLabels: {app: flannel}}
  template:
    metadata: {labels: {app: flannel}}
    spec: {containers: [{name: kube-flannel, image: flannel}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-flannel-cfg, namespace: kube-flannel}
data: {cni-conf.json: "{}", net-conf.json: "{}"}
"""
"""Of Flannel's own for Linux what is to be changed."""


def kustomizations() -> list[Path]:
    found = sorted(place.parent for place in MANIFESTS.rglob("kustomization.yaml"))
    return [place for place in found if "kind: Kustomization" in (place / "kustomization.yaml").read_text()]


def said(cluster: Cluster, place: Path) -> str:
    return cluster.kubectl("kustomize", str(place))


def things(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def apply(cluster: Cluster, text: str) -> None:
    cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=text)


@pytest.fixture
def flannel(cluster: Cluster) -> Iterator[Cluster]:
    """The namespaces are there; afterwards kube-system is again as it was, and the other one is empty."""
    apply(cluster, said(cluster, NAMESPACES))
    yield cluster
    cluster.kubectl(
        "label", "namespace", "kube-system", *(f"pod-security.kubernetes.io/{each}-" for each in LEVELS)
    )


def test_the_api_server_takes_each_as_it_stands(flannel: Cluster) -> None:
    for place in kustomizations():
        text = said(flannel, place)
        names = [f"{thing['kind']}/{thing['metadata']['name']}" for thing in things(text)]
        try:
            apply(flannel, text)
            assert len(names) == len(set(names))
        finally:
            if place != NAMESPACES:
                flannel.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)


def test_strict_is_strict(flannel: Cluster) -> None:
    misspelt = said(flannel, MANIFESTS / "overlay").replace("hostProcess:", "hostprocess:")
    with pytest.raises(RuntimeError, match="hostprocess"):
        apply(flannel, misspelt)


def pods(cluster: Cluster, way: str) -> Iterator[dict[str, Any]]:
    for thing in things(said(cluster, MANIFESTS / way)):
        if thing["kind"] == "DaemonSet":
            metadata = {"name": "one", "namespace": thing["metadata"]["namespace"]}
            spec = {**thing["spec"]["template"]["spec"], "serviceAccountName": "default"}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("way", [*WAYS, "installing"])
def test_pods_pass_where_the_namespaces_have_their_labels_and_nowhere_else(
    flannel: Cluster, way: str
) -> None:
    closed = f"{flannel.namespace}-closed"
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    flannel.api.create("/api/v1/namespaces", {"metadata": {"name": closed, "labels": labels}})
    accounts = [f"/api/v1/namespaces/{each}/serviceaccounts/default" for each in (closed, "kube-flannel")]
    until(lambda: all(flannel.api.find(each) for each in accounts), "both have a ServiceAccount")
    for pod in pods(flannel, way):
        create = ("create", "--dry-run=server", "--validate=strict", "-f", "-")
        flannel.kubectl(*create, stdin=json.dumps(pod))
        pod["metadata"]["namespace"] = closed
        with pytest.raises(RuntimeError, match='violates PodSecurity "baseline'):
            flannel.kubectl(*create, stdin=json.dumps(pod))
    flannel.api.delete(f"/api/v1/namespaces/{closed}")


@pytest.mark.parametrize("way", WAYS)
def test_linux_daemon_sets_keep_to_linux(flannel: Cluster, way: str, tmp_path: Path) -> None:
    """In files of one's own by the component, in a cluster by the same patches."""
    (tmp_path / "linux.yaml").write_text(LINUX)
    (tmp_path / "manifests").symlink_to(MANIFESTS)
    (tmp_path / "kustomization.yaml").write_text(
        f"resources: [linux.yaml]\ncomponents: [manifests/linux/{way}]\n"
    )
    daemon_set, config_map = sorted(
        things(said(flannel, tmp_path)), key=lambda thing: str(thing["kind"]), reverse=True
    )
    assert daemon_set["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert set(config_map["data"]) == {"cni-conf.json", "net-conf.json"}
    networks = json.loads(config_map["data"]["net-conf.json"])
    assert networks["Backend"]["Type"] == {"overlay": "vxlan", "host-gw": "host-gw"}[way]


def test_kubeadms_kube_proxy_is_kept_to_linux_by_the_patch(cluster: Cluster) -> None:
    selector = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
    cluster.kubectl(
        *("-n", "kube-system", "patch", "daemonset", "kube-proxy", "--type=json"),
        *("-p", '[{"op": "remove", "path": "/spec/template/spec/nodeSelector"}]'),
    )
    patch = MANIFESTS / "linux" / "only-linux" / "kube-proxy.yaml"
    cluster.kubectl("-n", "kube-system", "patch", "daemonset", "kube-proxy", f"--patch-file={patch}")
    found = cluster.api.get(selector)["spec"]["template"]["spec"]["nodeSelector"]
    assert found == {"kubernetes.io/os": "linux"}


# Rights of kube-proxy and flanneld as services

NODE = ("--as=system:node:win-1", "--as-group=system:nodes", "--as-group=system:authenticated")
OWN_NAME = ("--as=system:kube-proxy", "--as-group=system:authenticated")
BY_NODE_ANYHOW = (
    "get nodes/win-1",
    "list services -A",
    "watch services -A",
    "create events -n default",
    "patch events -n default",
    "create events.events.k8s.io -n default",
    "patch events.events.k8s.io -n default",
)
OF_KUBE_PROXY = (
    "list endpointslices.discovery.k8s.io -A",
    "watch endpointslices.discovery.k8s.io -A",
    "list servicecidrs.networking.k8s.io",
    "watch servicecidrs.networking.k8s.io",
)
OF_FLANNEL = ("get nodes/other", "list nodes", "watch nodes")
PATCHES_ITS_NODE = "patch nodes/win-1 --subresource=status"
NOBODYS = (
    "get secrets -A",
    "list secrets -A",
    "watch secrets -A",
    "get configmaps -A",
    "list configmaps -A",
    "list pods -A",
    "get endpointslices.discovery.k8s.io -A",
    "create endpointslices.discovery.k8s.io -A",
    "update endpointslices.discovery.k8s.io -A",
    "create services -A",
    "update services -A",
    "delete services -A",
    "delete nodes/win-1",
    "create serviceaccounts --subresource=token -A",
    "create pods --subresource=exec -A",
    "escalate clusterroles.rbac.authorization.k8s.io",
    "impersonate users",
)


def may(cluster: Cluster, who: tuple[str, ...], *actions: str) -> list[str]:
    """Those of the actions that the API server would allow."""

    def is_allowed(action: str) -> bool:
        try:
            return cluster.kubectl("auth", "can-i", *action.split(), *who).startswith("yes")
        except RuntimeError:
            return False

    with ThreadPoolExecutor(4) as pool:
        return [
            action for action, allowed in zip(actions, pool.map(is_allowed, actions), strict=True) if allowed
        ]


def until_may(cluster: Cluster, who: tuple[str, ...], actions: tuple[str, ...], allowed: list[str]) -> None:
    """These of the actions and no others, as soon as the API server has heard of all rights there are."""
    until(
        lambda: may(cluster, who, *actions) == allowed,
        f"{allowed} are allowed",
        explain=lambda: may(cluster, who, *actions),
    )


@pytest.fixture
def rights(cluster: Cluster) -> Iterator[Cluster]:
    text = said(cluster, MANIFESTS / "services")
    apply(cluster, text)
    yield cluster
    cluster.kubectl("delete", "-f", "-", stdin=text)


def test_a_node_lacks_no_more_than_the_manifests_give(cluster: Cluster) -> None:
    given = (*OF_KUBE_PROXY, *OF_FLANNEL)
    until_may(cluster, NODE, given, [])
    assert may(cluster, NODE, *BY_NODE_ANYHOW, PATCHES_ITS_NODE) == [*BY_NODE_ANYHOW, PATCHES_ITS_NODE]


def test_kube_proxy_and_flannel_may_do_what_they_need_as_their_node_and_nothing_else(rights: Cluster) -> None:
    needs = (*BY_NODE_ANYHOW, *OF_KUBE_PROXY, *OF_FLANNEL, PATCHES_ITS_NODE)
    until_may(rights, NODE, (*needs, *NOBODYS), list(needs))


def test_so_may_kube_proxy_under_the_name_that_every_cluster_knows(cluster: Cluster) -> None:
    needs = (*BY_NODE_ANYHOW, *OF_KUBE_PROXY)
    assert may(cluster, OWN_NAME, *needs, *NOBODYS, PATCHES_ITS_NODE) == list(needs)


# Their scripts, which containers run on the machine itself

SANDBOX = {"CONTAINER_SANDBOX_MOUNT_POINT": r"C:\hpc", "NODE_NAME": "win-1"}
SUBNET = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET={range}\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"
PROXY = r"C:\hpc\kube-proxy\kube-proxy.exe"
POD_ADDRESS = {
    "cniVersion": "0.3.1",
    "name": "flannel.4096",
    "ipam": {"type": "host-local", "subnet": "10.244.7.0/24"},
}
WRITTEN = r"C:\written.yaml"


def mount(cluster: Cluster, node: Node, name: str, at: str, way: str = "overlay") -> None:
    """The files of a ConfigMap, as the cluster keeps them."""
    (found,) = [
        thing
        for thing in things(said(cluster, MANIFESTS / way))
        if thing["kind"] == "ConfigMap" and thing["metadata"]["name"].startswith(f"{name}-")
    ]
    folder = node.path(at)
    folder.mkdir(parents=True)
    for file, text in found["data"].items():
        (folder / file).write_text(text)


def run_script(node: Node, script: str) -> Result:
    return node.run(r"C:\windows\system32\cmd.exe", "/c", script, environment=SANDBOX)


def source_vip(node: Node, of_range: str) -> str:
    """As the real kube-proxy reads it, where Flannel has given the node this range."""
    subnet = node.path(r"C:\run\flannel\subnet.env")
    subnet.parent.mkdir(parents=True, exist_ok=True)
    subnet.write_text(SUBNET.format(range=of_range))
    run_script(node, r"C:\etc\kube-proxy-windows\start.cmd")
    config = r"C:\run\kube-proxy\config.conf"
    read = node.run(PROXY, f"--config={config}", f"--write-config-to={WRITTEN}")
    assert read.code == 0, read.err
    settings = yaml.safe_load(node.path(WRITTEN).read_text())
    assert settings["winkernel"]["networkName"] == "flannel.4096"
    return str(settings["winkernel"]["sourceVip"])


def test_kube_proxy_of_an_overlay_gets_an_address_that_no_pod_gets(cluster: Cluster, node: Node) -> None:
    bring_plugins(node)
    node.copy_in(kubernetes.windows() / "kube-proxy.exe", PROXY)
    mount(cluster, node, "kube-proxy-windows", r"C:\etc\kube-proxy-windows")
    given = source_vip(node, "10.244.7.1/24")
    assert given == "10.244.7.2"
    assert source_vip(node, "10.244.7.1/24") == given
    pod = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "pod", "CNI_NETNS": "none", "CNI_IFNAME": "eth0"}
    added = node.run(
        rf"{PLUGINS}\host-local.exe",
        environment={**pod, "CNI_PATH": PLUGINS},
        stdin=json.dumps(POD_ADDRESS).encode(),
    )
    assert [each["address"] for each in json.loads(added.out)["ips"]] == ["10.244.7.3/24"]
    assert source_vip(node, "10.244.9.65/26") == "10.244.9.66"


def test_plug_ins_and_configuration_are_where_containerd_looks(cluster: Cluster, node: Node) -> None:
    node.path(r"C:\hpc\cni").mkdir(parents=True)
    node.path(r"C:\hpc\cni\flannel.exe").write_bytes(b"MZ")
    mount(cluster, node, "kube-flannel-windows", r"C:\etc\kube-flannel-windows")
    for _ in range(2):
        done = run_script(node, r"C:\etc\kube-flannel-windows\install-cni.cmd")
        assert done.code == 0, done.out + done.err
    assert node.path(r"C:\opt\cni\bin\flannel.exe").read_bytes() == b"MZ"
    written = json.loads(node.path(r"C:\etc\cni\net.d\10-flannel.conf").read_text())
    assert written["delegate"]["type"] == "win-overlay"
