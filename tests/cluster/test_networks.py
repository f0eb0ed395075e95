"""Networks that a document has us make, judged by the real CNI plug-ins."""

from __future__ import annotations

from cluster.network_users import Pod, bring_plugins, configuration_of
from lab.hns import Hns
from lab.node import Node

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
- name: nat
  type: nat
  subnets: [{prefix: 172.30.0.0/20, gateway: 172.30.0.1}]
- name: pods
  type: transparent
  adapter: eth0peer
  subnets: [{prefix: 10.246.7.0/24, gateway: 10.246.7.1}]
  hostEndpoint: {address: 10.246.7.2}
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


def test_plug_ins_put_pods_into_our_networks(node: Node) -> None:
    hns = Hns(node)
    bring_plugins(node)
    node.path(r"C:\made.py").write_text(MADE)
    made = node.python(r"C:\made.py", NETWORKS, folder=r"Z:\repo")
    assert made.code == 0, made.err
    alone, endpoint = hns.network("pods"), hns.endpoint("pods_ep")
    assert alone is not None
    assert endpoint is not None
    assert (alone["Type"], endpoint["HostComputeNetwork"]) == ("Transparent", alone["ID"])
    nat = hns.network("nat")
    assert nat is not None
    assert (nat["Type"], nat["Ipams"][0]["Subnets"][0]["IpAddressPrefix"]) == ("NAT", "172.30.0.0/20")
    bridge, overlay = (configuration_of(node, file) for file in (BRIDGE, OVERLAY))
    pod = Pod(node, hns, "one")
    assert pod.gets_in(bridge) == "10.244.7.3"
    (endpoint,) = pod.endpoints
    assert [each for each in endpoint["Policies"] if each["Type"] in ("OutBoundNAT", "SDNRoute")] == [
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.244.0.0/16", "10.96.0.0/12"]}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.77.0.1/32", "NeedEncap": True}},
    ]
    pod.gets_out(bridge)
    pod = Pod(node, hns, "two")
    assert pod.gets_in(overlay) == "10.245.7.2"
    (endpoint,) = pod.endpoints
    assert {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "10.77.0.1"}} in endpoint["Policies"]
    pod.gets_out(overlay)


MADE = """
import sys
sys.path.insert(0, "Z:/repo")
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host.windows.machine import open_windows
from agent.sources.node_configuration.compiling import compile_node
from agent.sources.node_configuration.reading import read
documents = read("node.yaml", sys.argv[1].encode()).documents
made = compile_node(documents, None, "node.yaml")
make_so(open_windows(), made.specification, Silent())
"""
"""What the exe does with such a document, without a kubelet."""
