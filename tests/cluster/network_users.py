"""Who uses a container network: a Service that the real kube-proxy.exe balances, and pods that the real CNI
plug-ins put into it.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from cluster.conftest import Figure
from cluster.test_join import Joiner
from lab import cni, kubernetes
from lab.cluster.cluster import Cluster
from lab.hns import Hns
from lab.node import Node
from lab.running import Result
from lab.waiting import until
from windows.exe import SERVICE

PLUGINS = r"C:\opt\cni\bin"
NOBODY = "00000000-0000-0000-0000-000000000000"
SCHEMA = {"Major": 2, "Minor": 0}
POD_NAMESPACE = {"Type": "Guest", "SchemaVersion": SCHEMA}
FLANNELS_RANGE = "10.244.7.0/24"
REMOTE_POD = "10.244.3.5"
SOON_SECONDS = 60.0


class Pod:
    """One that is on its way into the network: what a container runtime has made of it so far."""

    def __init__(self, node: Node, hns: Hns, name: str) -> None:
        self._node = node
        self._hns = hns
        self._name = name
        self.namespace = hns.call("CreateNamespace", NOBODY, POD_NAMESPACE).split()[1]

    def cni(self, command: str, configuration: Mapping[str, Any]) -> Result:
        """By what a container runtime would hand to the plug-in."""
        environment = {
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": self._name,
            "CNI_NETNS": self.namespace,
            "CNI_IFNAME": "eth0",
            "CNI_PATH": PLUGINS,
        }
        program = rf"{PLUGINS}\{configuration['type']}.exe"
        return self._node.run(program, environment=environment, stdin=json.dumps(configuration).encode())

    @property
    def endpoints(self) -> Sequence[dict[str, Any]]:
        found = self._hns.endpoints
        return [each for each in found if each.get("HostComputeNamespace") == self.namespace]

    def gets_in(self, configuration: Mapping[str, Any]) -> str:
        """Its address."""
        added = self.cni("ADD", configuration)
        assert added.code == 0, added.out + added.err
        (address,) = [each["address"].partition("/")[0] for each in json.loads(added.out)["ips"]]
        self.check_is_in(configuration)
        (endpoint,) = self.endpoints
        assert [each["IpAddress"] for each in endpoint["IpConfigurations"]] == [address]
        return str(address)

    def check_is_in(self, configuration: Mapping[str, Any]) -> None:
        (endpoint,) = self.endpoints
        network = self._hns.network(configuration["name"])
        assert network is not None
        assert endpoint["HostComputeNetwork"].lower() == network["ID"].lower()

    def gets_out(self, configuration: Mapping[str, Any]) -> None:
        removed = self.cni("DEL", configuration)
        assert removed.code == 0, removed.out + removed.err
        assert self.endpoints == []


class PodOfAnotherPlugIn(Pod):
    """In a network that none of the plug-ins here takes: by the calls of HNS that such a one would make."""

    def gets_in(self, configuration: Mapping[str, Any]) -> str:
        network = self._hns.network(configuration["name"])
        assert network is not None
        told = self._hns.call("CreateEndpoint", NOBODY, {"SchemaVersion": SCHEMA}, network["ID"]).split()
        assert told[0] == "0", told
        attached = {"ResourceType": "Endpoint", "RequestType": "Add", "Settings": {"EndpointId": told[1]}}
        assert self._hns.call("ModifyNamespace", self.namespace, attached).split()[0] == "0"
        self.check_is_in(configuration)
        (endpoint,) = self.endpoints
        return str(endpoint["IpConfigurations"][0]["IpAddress"])

    def gets_out(self, configuration: Mapping[str, Any]) -> None:  # noqa: ARG002 - as a plug-in's
        for endpoint in self.endpoints:
            self._hns.call("DeleteEndpoint", endpoint["ID"], {})
        assert self.endpoints == []


class Users:
    """Of the network that a plug-in's configuration names."""

    def __init__(
        self, joiner: Joiner, hns: Hns, configuration: Mapping[str, Any], pods: type[Pod] = Pod
    ) -> None:
        self._joiner = joiner
        self._hns = hns
        self._configuration = configuration
        self._pods = pods
        self._numbers = count(1)
        self._service = expose(joiner.cluster, 80)

    def until_balanced(self) -> None:
        until_balanced(self._hns, self._service)

    def pod(self) -> Pod:
        """Another one, that is in."""
        made = self._pods(self._hns.node, self._hns, f"pod-{next(self._numbers)}")
        made.gets_in(self._configuration)
        return made

    def try_the_bridges_address(self) -> None:
        """Flannel's plug-in keeps it from no pod: HNS refuses it, being the bridge's own endpoint's, and the
        kubelet begins anew, with the next.
        """
        pod = Pod(self._hns.node, self._hns, "pod-0")
        assert "0x803b002f" in pod.cni("ADD", self._configuration).out
        pod.gets_out(self._configuration)

    def begin_keeping(self) -> None:
        node = self._hns.node
        assert self._joiner.wmcb("daemon", "install").code == 0
        node.start_service(SERVICE)
        until(lambda: "keeping" in log(node), "the resident service has begun", SOON_SECONDS)

    def outlive_a_crash(self, figure: Figure, what: str) -> None:
        """Of the service hns, with the resident service beside."""
        before = self.pod()
        crashed = time.monotonic()
        self._hns.crash()
        self.until_balanced()
        figure(f"{what}: a load balancer after a crash of hns", time.monotonic() - crashed)
        before.check_is_in(self._configuration)
        before.gets_out(self._configuration)
        self.pod().gets_out(self._configuration)

    def outlive_a_start(
        self, figure: Figure, what: str, booted: Callable[[], object] = bool, **stays: str
    ) -> None:
        """Of Windows, that has lost all networks; `booted` is what is done then by others than Windows, and
        `with_endpoint` the name of an endpoint that stays behind.
        """
        node = self._hns.node
        node.power_off()
        self._joiner.runtime.lose_power()
        self._hns.lose_networks(**stays)
        started = time.monotonic()
        node.boot()
        booted()
        self.until_balanced()
        figure(f"{what}: a load balancer after a start without networks", time.monotonic() - started)
        self.pod().gets_out(self._configuration)


def configuration_of(node: Node, file: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(node.path(file).read_bytes())
    return made


def delegated(node: Node) -> Mapping[str, Any]:
    """What Flannel's plug-in, which cannot be had here, hands to the one that it delegates to."""
    configuration = configuration_of(node, r"C:\etc\cni\net.d\10-flannel.conf")
    named = {name: configuration[name] for name in ("cniVersion", "name")}
    return {**named, **configuration["delegate"], "ipam": {"type": "host-local", "subnet": FLANNELS_RANGE}}


def bring_plugins(node: Node, folder: str = PLUGINS) -> None:
    for plugin in cni.plugins().iterdir():
        node.copy_in(plugin, rf"{folder}\{plugin.name}")


def put_downloads(folder: Path) -> None:
    """What profiles fetch, under the names of the projects' own servers."""
    folder.mkdir(parents=True)
    (folder / "kube-proxy.exe").write_bytes((kubernetes.windows() / "kube-proxy.exe").read_bytes())
    with tarfile.open(folder / "cni-plugins-windows-amd64-v1.9.1.tgz", "w:gz", compresslevel=1) as packed:
        for plugin in cni.plugins().iterdir():
            packed.add(plugin, plugin.name)
    for file in list(folder.iterdir()):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        (folder / f"{file.name}.sha256").write_text(f"{digest}  {file.name}\n")


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
