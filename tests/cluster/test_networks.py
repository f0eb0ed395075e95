"""Networks that we made, judged by who uses them on a Node: the real kube-proxy.exe, the real CNI plugins."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from cluster.test_join import Joiner, check_joined
from lab import cni, kubernetes
from lab.hns import Hns
from lab.waiting import until
from windows.exe import SERVICE, download

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster.conftest import Figure
    from lab.cluster.cluster import Cluster
    from lab.cluster.runtime import ContainerRuntime
    from lab.node import Node
    from lab.running import Result

DOCUMENT = r"C:\given\node.yaml"
PLUGINS = r"C:\opt\cni\bin"
PROXY = r"C:\proxy\kube-proxy.exe"
KUBECONFIG = r"C:\proxy\kubeconfig"
NOBODY = "00000000-0000-0000-0000-000000000000"
POD_NAMESPACE = {"Type": "Guest", "SchemaVersion": {"Major": 2, "Minor": 0}}
REMOTE_POD = "10.244.3.5"
SOON_SECONDS = 60.0

NETWORKS = r"""apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
networks:
- name: cbr0
  type: l2bridge
  address: 10.77.0.1
  subnets: [{prefix: 10.244.7.0/24, gateway: 10.244.7.1}]
  hostEndpoint: {address: 10.244.7.2, gateway: 10.244.7.1}
- name: vxlan0
  type: overlay
  subnets: [{prefix: 10.245.7.0/24, gateway: 10.245.7.1, vsid: 4096}]
cniConfigurations:
- path: C:\etc\cni\net.d\10-bridge.conf
  plugin: win-bridge
  network: cbr0
  podNetwork: 10.244.7.0/24
  notTranslated: [10.244.0.0/16, 10.96.0.0/12]
  services: [10.96.0.0/12]
  nodeAddress: 10.77.0.1
- path: C:\etc\cni\net.d\20-overlay.conf
  plugin: win-overlay
  network: vxlan0
  podNetwork: 10.245.7.0/24
"""
BRIDGE, OVERLAY = (rf"C:\etc\cni\net.d\{name}.conf" for name in ("10-bridge", "20-overlay"))
WITH_PROXY = rf"""{NETWORKS}files:
- path: C:\proxy\kube-proxy.conf
  text: |
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    mode: kernelspace
    hostnameOverride: win1
    clientConnection: {{kubeconfig: {KUBECONFIG}}}
    clusterCIDR: 10.244.0.0/16
    winkernel: {{networkName: cbr0, rootHnsEndpointName: cbr0_ep}}
services:
- name: kube-proxy
  program: {PROXY}
  arguments: [--config=C:\proxy\kube-proxy.conf, --windows-service]
  reads: [{{network: cbr0}}, {{file: C:\proxy\kube-proxy.conf}}]
  restartsWith: [hns]
"""


class Pod:
    """One that is on its way into the network: what a container runtime has made of it so far."""

    def __init__(self, node: Node, hns: Hns, name: str) -> None:
        self._node = node
        self._hns = hns
        self._name = name
        self.namespace = hns.call("CreateNamespace", NOBODY, POD_NAMESPACE).split()[1]

    def cni(self, command: str, file: str) -> Result:
        """By the file that a container runtime would hand to the plug-in."""
        environment = {
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": self._name,
            "CNI_NETNS": self.namespace,
            "CNI_IFNAME": "eth0",
            "CNI_PATH": PLUGINS,
        }
        configuration = self._node.path(file).read_bytes()
        program = rf"{PLUGINS}\{json.loads(configuration)['type']}.exe"
        return self._node.run(program, environment=environment, stdin=configuration)

    @property
    def endpoints(self) -> Sequence[dict[str, Any]]:
        found = self._hns.endpoints
        return [each for each in found if each.get("HostComputeNamespace") == self.namespace]

    def gets_in(self, file: str) -> str:
        """Its address."""
        added = self.cni("ADD", file)
        assert added.code == 0, added.out + added.err
        (address,) = [each["address"].partition("/")[0] for each in json.loads(added.out)["ips"]]
        (endpoint,) = self.endpoints
        assert [each["IpAddress"] for each in endpoint["IpConfigurations"]] == [address]
        network = self._hns.network(json.loads(self._node.path(file).read_bytes())["name"])
        assert network is not None
        assert endpoint["HostComputeNetwork"].lower() == network["ID"].lower()
        return str(address)

    def gets_out(self, file: str) -> None:
        removed = self.cni("DEL", file)
        assert removed.code == 0, removed.out + removed.err
        assert self.endpoints == []


def bring_plugins(node: Node) -> None:
    for plugin in cni.plugins().iterdir():
        node.copy_in(plugin, rf"{PLUGINS}\{plugin.name}")


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Joiner:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    download(node)
    bring_plugins(node)
    node.copy_in(kubernetes.windows() / "kube-proxy.exe", PROXY)
    node.path(r"C:\given").mkdir()
    node.path(DOCUMENT).write_text(WITH_PROXY)
    cluster.kubeconfig(node.path(KUBECONFIG), "system:kube-proxy", [])
    return made


def expose(cluster: Cluster, port: int) -> str:
    """A Service for a pod of another node; its address."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"port": port}]},
    }
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4",
        "ports": [{"port": 8080}],
        "endpoints": [{"addresses": [REMOTE_POD]}],
    }
    there = f"/api/v1/namespaces/{cluster.namespace}/services"
    made = cluster.api.create(there, service)
    cluster.api.create(f"/apis/discovery.k8s.io/v1/namespaces/{cluster.namespace}/endpointslices", slice_)
    return str(made["spec"]["clusterIP"])


def balances(hns: Hns, address: str) -> bool:
    """To the pod, by an endpoint that there is."""
    for balancer in hns.load_balancers:
        if address in (balancer.get("FrontendVIPs") or []):
            there = [each for each in hns.endpoints if each["ID"] in balancer["HostComputeEndpoints"]]
            return [each["IpConfigurations"][0]["IpAddress"] for each in there] == [REMOTE_POD]
    return False


def until_balanced(hns: Hns, address: str) -> None:
    what = f"kube-proxy balances the Service at {address}"
    until(
        lambda: balances(hns, address),
        what,
        SOON_SECONDS,
        lambda: (log(hns.node), hns.asked[-5:], hns.load_balancers),
    )


def log(node: Node) -> str:
    place = node.path(r"C:\ProgramData\wmcb\logs\wmcb.log")
    return place.read_text() if place.exists() else "no log"


def test_a_service_and_a_pod_have_a_network_again_whatever_hns_has_lost(
    joiner: Joiner, figure: Figure
) -> None:
    """One test for all, since a Ready Node costs its time."""
    node, cluster = joiner.machine, joiner.cluster
    hns = Hns(node)
    done = joiner.wmcb(*joiner.by_options(), "--node-config", DOCUMENT)
    assert done.code == 0, done.err
    check_joined(joiner)
    address = expose(cluster, 80)
    until_balanced(hns, address)
    pod = Pod(node, hns, "one")
    assert pod.gets_in(BRIDGE) == "10.244.7.3"
    (endpoint,) = pod.endpoints
    assert [each for each in endpoint["Policies"] if each["Type"] in ("OutBoundNAT", "SDNRoute")] == [
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.244.0.0/16", "10.96.0.0/12"]}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.77.0.1/32", "NeedEncap": True}},
    ]

    assert joiner.wmcb("daemon", "install").code == 0
    node.start_service(SERVICE)
    until(lambda: "keeping" in log(node), "the resident service has begun", SOON_SECONDS)
    crashed = time.monotonic()
    hns.crash()
    until_balanced(hns, address)
    figure("a Service's load balancer after a crash of hns", time.monotonic() - crashed)
    pod.gets_out(BRIDGE)

    node.power_off()
    hns.lose_networks()
    started = time.monotonic()
    node.boot()
    until_balanced(hns, address)
    figure("the same after a start of Windows that had lost its networks", time.monotonic() - started)
    Pod(node, hns, "two").gets_in(BRIDGE)
    check_joined(joiner)

    gone = joiner.wmcb("reset", "--end-pods")
    assert gone.code == 0, gone.err
    assert (hns.networks, hns.load_balancers) == ([], [])


def test_win_overlay_puts_a_pod_into_our_overlay(node: Node) -> None:
    hns = Hns(node)
    bring_plugins(node)
    node.path(r"C:\made.py").write_text(MADE)
    made = node.python(r"C:\made.py", NETWORKS, folder=r"Z:\repo")
    assert made.code == 0, made.err
    pod = Pod(node, hns, "one")
    assert pod.gets_in(OVERLAY) == "10.245.7.2"
    (endpoint,) = pod.endpoints
    assert {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "10.77.0.1"}} in endpoint["Policies"]
    pod.gets_out(OVERLAY)


MADE = """
import sys
sys.path.insert(0, "Z:/repo")
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host.windows import open_windows
from agent.sources import node_configuration
documents = node_configuration.read("node.yaml", sys.argv[1].encode()).documents
made = node_configuration.compile_node(documents, None, "node.yaml")
make_so(open_windows(), made.specification, "test", Silent())
"""
"""What the exe does with such a document, without a kubelet."""
