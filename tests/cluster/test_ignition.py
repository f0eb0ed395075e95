"""A worker's Ignition in, a Ready Node in a real cluster out, by the exe and the real kubelet."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

import pytest

from lab import kubernetes
from lab.cluster.cluster import Cluster
from lab.cluster.kubelet_node import KubeletNode
from lab.cluster.runtime import ContainerRuntime
from lab.node import Node
from lab.running import Result
from lab.services import State
from windows.exe import DOWNLOADED, download

Timed = Callable[[str], AbstractContextManager[None]]

GIVEN = r"C:\given\kubelet.exe"
DOCUMENT = r"C:\given\worker.ign"

UNIT = """\
[Unit]
Description=Kubernetes Kubelet
Wants=rpc-statd.service network-online.target crio.service

[Service]
Type=notify
ExecStartPre=/bin/mkdir --parents /etc/kubernetes/manifests
EnvironmentFile=/etc/os-release
EnvironmentFile=-/etc/kubernetes/kubelet-env
ExecStart=/usr/local/bin/kubenswrapper \\
    /usr/bin/kubelet \\
      --config=/etc/kubernetes/kubelet.conf \\
      --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig \\
      --kubeconfig=/var/lib/kubelet/kubeconfig \\
      --container-runtime-endpoint=/var/run/crio/crio.sock \\
      --node-labels=node.kubernetes.io/class=${CLASS},node.openshift.io/os_id=${ID} \\
      --register-with-taints=os=Windows:NoSchedule \\
      --v=${KUBELET_LOG_LEVEL}
Restart=always

[Install]
WantedBy=multi-user.target
"""

CONFIGURATION = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cgroupDriver": "systemd",
    "cgroupRoot": "/",
    "authentication": {
        "x509": {"clientCAFile": "/etc/kubernetes/kubelet-ca.crt"},
        "anonymous": {"enabled": False},
    },
    "clusterDNS": ["172.30.0.10"],
    "clusterDomain": "cluster.local",
    "enforceNodeAllocatable": ["pods"],
    "rotateCertificates": True,
    "serializeImagePulls": False,
    "staticPodPath": "/etc/kubernetes/manifests",
    "systemCgroups": "/system.slice",
}


def worker_ignition(cluster: Cluster, token: str | None = None, **settings: Any) -> str:
    """As a machine config server writes it for the workers of this cluster, with a fresh token of its own.

    `settings` are added to the kubelet's configuration.
    """
    authority = cluster.ca_certificate.encode()
    kubeconfig = f"""\
apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: https://{cluster.address}
    certificate-authority-data: {base64.b64encode(authority).decode()}
users:
- name: kubelet
  user:
    token: {token or cluster.fresh_bootstrap_token()}
contexts:
- name: kubelet
  context: {{cluster: local, user: kubelet}}
current-context: kubelet
"""
    files = {
        "/etc/kubernetes/kubelet.conf": json.dumps({**CONFIGURATION, **settings}).encode(),
        "/etc/kubernetes/kubeconfig": kubeconfig.encode(),
        "/etc/kubernetes/kubelet-ca.crt": authority,
        "/etc/kubernetes/kubelet-env": b"CLASS=batch\nKUBELET_LOG_LEVEL=2\n",
    }
    return json.dumps(
        {
            "ignition": {"version": "3.2.0"},
            "storage": {
                "files": [
                    {
                        "path": path,
                        "overwrite": True,
                        "mode": 0o600,
                        "contents": {"source": f"data:,{quote(data)}"},
                    }
                    for path, data in files.items()
                ]
            },
            "systemd": {"units": [{"name": "kubelet.service", "enabled": True, "contents": UNIT}]},
        }
    )


class Worker(KubeletNode):
    """Nothing of it is made by the lab but what the exe is given."""

    def install(self) -> None:
        self.machine.copy_in(kubernetes.kubelet(), GIVEN)
        self.write_document()
        download(self.machine)

    def write_document(self) -> None:
        self.machine.path(DOCUMENT).write_text(worker_ignition(self.cluster))

    def wmcb(self, *more: str) -> Result:
        # Wine has no containerd, and no named pipes as gRPC wants them.
        runtime = ("--runtime-service", "none", "--container-runtime-endpoint", self.runtime.endpoint)
        return self.machine.run(DOWNLOADED, "--ignition", DOCUMENT, "--kubelet", GIVEN, *runtime, *more)

    def node(self) -> dict[str, Any]:
        node = self.cluster.node(self.name)
        assert node is not None
        return node


@pytest.fixture
def worker(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Worker:
    made = Worker(cluster, container_runtime, node)
    made.install()
    return made


def check_node(worker: Worker) -> None:
    """What the Ignition asked for, whatever has happened since."""
    node = worker.node()
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "windows"
    assert node["metadata"]["labels"]["node.kubernetes.io/class"] == "batch"
    assert node["metadata"]["labels"]["node.openshift.io/os_id"] == "Windows"
    taints = [(each["key"], each.get("value"), each["effect"]) for each in node["spec"]["taints"]]
    assert ("os", "Windows", "NoSchedule") in taints
    assert {"type": "InternalIP", "address": "10.77.0.1"} in node["status"]["addresses"]
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{kubernetes.RELEASE}"


def test_from_an_ignition_to_a_ready_node(worker: Worker, timed: Timed) -> None:
    with timed("wmcb, from the Ignition to a kubelet that is well"):
        done = worker.wmcb()
    assert done.code == 0, done.err
    with timed("Node Ready after that"):
        worker.wait_until_ready()
    check_node(worker)
    settings = worker.kubelet_configuration()
    assert settings["authentication"]["x509"]["clientCAFile"] == r"C:\etc\kubernetes\kubelet-ca.crt"
    assert settings["clusterDNS"] == ["172.30.0.10"]

    worker.reboot()
    worker.wait_until_ready()
    check_node(worker)
    assert worker.wmcb().out.startswith("nothing to do")


def test_through_upgrades_that_work_and_fail(worker: Worker) -> None:
    done = worker.wmcb()
    assert done.code == 0, done.err
    worker.wait_until_ready()

    # Another build of the same kubelet is another kubelet for all but its version.
    program = worker.machine.path(GIVEN)
    working = program.read_bytes()
    program.write_bytes(working + b"another build")
    upgraded = worker.wmcb()
    assert upgraded.code == 0, upgraded.err
    worker.wait_until_ready()
    check_node(worker)

    program.write_bytes(_that_ends_at_once(worker))
    failed = worker.wmcb("--kubelet-version", kubernetes.RELEASE)
    assert failed.code == 1
    assert "the machine is as it was before" in failed.err
    worker.machine.wait_for_service("kubelet", State.RUNNING)
    worker.wait_until_ready()
    check_node(worker)


def _that_ends_at_once(worker: Worker) -> bytes:
    """A program for Windows that is no kubelet."""
    content: bytes = worker.machine.path(r"C:\windows\system32\whoami.exe").read_bytes()
    return content
