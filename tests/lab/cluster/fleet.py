"""Many Nodes without machines: objects that are made and renewed as kubelets do it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from lab.cluster.api import STRATEGIC, Api
from lab.kubernetes import RELEASE

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

# As many as keep two processors busy; more only wait for each other.
_CONNECTIONS = 8

_CONDITIONS = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID"),
    "Ready": ("True", "KubeletReady"),
}


class Fleet:
    def __init__(self, api: Api, count: int, name: str) -> None:
        self._api = api
        self.names = [f"{name}-{number:05}" for number in range(count)]

    def register(self) -> None:
        """Each Node and its lease, as a kubelet makes them at its first start."""
        self._each(self._register)

    def renew_leases(self) -> None:
        """What each kubelet does every ten seconds."""
        self._each(
            lambda name: self._api.patch(f"{LEASES}/{name}", {"spec": {"renewTime": _now(microseconds=True)}})
        )

    def report_status(self) -> None:
        """What each kubelet does every five minutes, and whenever something changes."""
        self._each(
            lambda name: self._api.patch(
                f"{NODES}/{name}/status", {"status": {"conditions": _conditions()}}, STRATEGIC
            )
        )

    def _register(self, name: str) -> None:
        node = self._api.create(NODES, _node(name))
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": _now(microseconds=True)}
        self._api.create(LEASES, {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec})

    def _each(self, action: Callable[[str], object]) -> None:
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(action, self.names))


def _node(name: str) -> dict[str, Any]:
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "windows",
        "node.kubernetes.io/windows-build": "10.0.20348",
    }
    resources = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {
            "addresses": [{"type": "Hostname", "address": name}],
            "allocatable": resources,
            "capacity": resources,
            "conditions": _conditions(),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "containerd://2.1.0",
                "kernelVersion": "10.0.20348.2700",
                "kubeProxyVersion": "",
                "kubeletVersion": f"v{RELEASE}",
                "machineID": name,
                "operatingSystem": "windows",
                "osImage": "Windows Server 2022 Datacenter",
                "systemUUID": "",
            },
        },
    }


def _conditions() -> list[dict[str, str]]:
    now = _now()
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        for kind, (status, reason) in _CONDITIONS.items()
    ]


def _now(*, microseconds: bool = False) -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ" if microseconds else "%Y-%m-%dT%H:%M:%SZ")
