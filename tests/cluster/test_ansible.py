"""The real ansible-playbook, over SSH and without PowerShell: Windows machines in, Ready Nodes out."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from cluster.test_ignition import worker_ignition
from lab import kubernetes, namespace, repository, ssh
from lab.cluster.cluster import REQUESTS
from lab.fixtures import secure_web, web_authority
from lab.web import Page
from unit.ansible.requests import SERVING, address, request_for
from windows.exe import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from lab.certificates import Authority
    from lab.cluster.cluster import Cluster
    from lab.cluster.runtime import ContainerRuntime
    from lab.node import Node
    from lab.web import Web

    Timed = Callable[[str], AbstractContextManager[None]]

__all__ = ["secure_web", "web_authority"]

PLAYBOOKS = repository.ROOT / "packaging" / "ansible"
OPENSHIFT = "openshift-machine-config-operator"
BOOTSTRAPPER = {"kind": "ServiceAccount", "name": "node-bootstrapper", "namespace": OPENSHIFT}
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
_RECAP = re.compile(r"^(\S+) +: ok=\d+ +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Played:
    code: int
    out: str

    def counted(self, host: str) -> dict[str, int]:
        """What stands below all for a host."""
        (numbers,) = [found[1:] for found in _RECAP.findall(self.out) if found[0] == host]
        return dict(zip(("changed", "unreachable", "failed"), map(int, numbers), strict=True))


class ControlHost:
    """Where ansible-playbook runs. Each run is at -vvv, and none of `secrets` may be in what it says."""

    def __init__(self, folder: Path, common: Mapping[str, Any]) -> None:
        self._folder = folder
        self._common = dict(common)
        self._hosts: dict[str, dict[str, Any]] = {}
        self.secrets: list[str] = []

    def knows(self, name: str, door: ssh.Door, **more: Any) -> None:
        self._hosts[name] = {
            "ansible_port": door.port,
            "ansible_ssh_private_key_file": str(door.key),
            "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={door.known_hosts}",
            **more,
        }

    def play(self, playbook: str, *options: str, **variables: Any) -> Played:
        group = {"hosts": self._hosts, "vars": {**self._common, **variables}}
        inventory = self._folder / "inventory.yml"
        inventory.write_text(json.dumps({"windows": group}))
        program = Path(sys.executable).parent / "ansible-playbook"
        done = subprocess.run(
            [str(program), "-vvv", "-i", str(inventory), playbook, *options],
            cwd=PLAYBOOKS,
            env={**os.environ, "ANSIBLE_HOME": str(self._folder / "ansible"), "ANSIBLE_NOCOLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for secret in self.secrets:
            assert secret not in done.stdout, "a secret is in what ansible-playbook says"
        return Played(done.returncode, done.stdout)


@pytest.fixture
def control_host(cluster: Cluster, container_runtime: ContainerRuntime, tmp_path: Path) -> ControlHost:
    # Wine has no containerd, and no named pipes as gRPC wants them.
    runtime = {"runtime-service": "none", "container-runtime-endpoint": container_runtime.endpoint}
    common = {
        "ansible_host": namespace.ADDRESS,
        "ansible_user": "Administrator",
        "ansible_connection": "ssh",
        "ansible_shell_type": "cmd",
        "wmcb_exe": {"file": str(SHIPPED)},
        "wmcb_kubelet": {"file": str(kubernetes.kubelet())},
        "wmcb_options": runtime,
        "wmcb_kubectl": str(kubernetes.linux() / "kubectl"),
        "wmcb_kubeconfig": str(cluster.super_admin),
    }
    return ControlHost(tmp_path, common)


@pytest.fixture
def door(node: Node, tmp_path: Path) -> Iterator[ssh.Door]:
    """SSH into `node`."""
    with ssh.serving(node, tmp_path) as opened:
        yield opened


@pytest.fixture
def openshift(cluster: Cluster) -> Iterator[str]:
    """A token as OpenShift's workers ask with for their first certificate: nobody approves by himself."""
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": OPENSHIFT}})
    accounts = f"/api/v1/namespaces/{OPENSHIFT}/serviceaccounts"
    cluster.api.create(accounts, {"metadata": {"name": BOOTSTRAPPER["name"]}})
    role = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "system:node-bootstrapper",
    }
    binding = {"metadata": {"name": OPENSHIFT}, "roleRef": role, "subjects": [BOOTSTRAPPER]}
    cluster.api.create(BINDINGS, binding)
    told = cluster.api.create(
        f"{accounts}/{BOOTSTRAPPER['name']}/token", {"spec": {"expirationSeconds": 3600}}
    )
    yield told["status"]["token"]
    cluster.api.delete(f"{BINDINGS}/{OPENSHIFT}")
    cluster.api.delete(f"/api/v1/namespaces/{OPENSHIFT}")


def user_data(cluster: Cluster, url: str, authority: str) -> dict[str, Any]:
    """A secret with a pointer to a machine config server in it, as the installer makes one for workers."""
    trusted = [{"source": f"data:,{quote(authority)}"}]
    ignition = {
        "version": "3.1.0",
        "config": {"merge": [{"source": url}]},
        "security": {"tls": {"certificateAuthorities": trusted}},
    }
    data = base64.b64encode(json.dumps({"ignition": ignition}).encode()).decode()
    secret = {"metadata": {"name": "worker-user-data"}, "data": {"userData": data}}
    cluster.api.create(f"/api/v1/namespaces/{cluster.namespace}/secrets", secret)
    return {"secret": {"namespace": cluster.namespace, "name": "worker-user-data", "key": "userData"}}


def test_a_worker_of_the_clusters_own_user_data(
    control_host: ControlHost,
    door: ssh.Door,
    openshift: str,
    cluster: Cluster,
    node: Node,
    secure_web: Web,
    web_authority: Authority,
    timed: Timed,
) -> None:
    """One test for all, since each node costs seconds."""
    served = worker_ignition(cluster, openshift, serverTLSBootstrap=True)
    secure_web.pages["/config/worker"] = Page(served.encode())
    source = user_data(cluster, secure_web.url("/config/worker"), web_authority.certificate.read_text())
    control_host.secrets = [openshift, openshift.split(".")[2]]
    control_host.knows("win1", door)

    planned = control_host.play("scaleup.yml", "--check", "--diff", wmcb_ignition=source)
    assert planned.code == 0, planned.out
    assert "\ncreate service kubelet\n" in planned.out
    assert node.service("kubelet") is None

    foreign = request_for("system:node:win1", signer=SERVING, alternatives=[address(namespace.ADDRESS)])
    cluster.api.create(REQUESTS, {"metadata": {"name": "foreign"}, "spec": foreign})
    with timed("ansible-playbook scaleup.yml, until the Node is Ready and answers"):
        done = control_host.play("scaleup.yml", wmcb_ignition=source)
    assert done.code == 0, done.out
    assert cluster.is_ready("win1")
    requests = {r["metadata"]["name"]: r for r in cluster.api.items(REQUESTS)}
    assert "conditions" not in requests.pop("foreign")["status"]
    assert "foreign for a serving certificate is not approved" in done.out
    assert sorted(r["spec"]["signerName"] for r in requests.values()) == [
        "kubernetes.io/kube-apiserver-client-kubelet",
        "kubernetes.io/kubelet-serving",
    ]
    for request in requests.values():
        assert request["status"]["conditions"][0]["reason"] == "MatchesInventory"

    with timed("the same again"):
        again = control_host.play("scaleup.yml", "--diff", wmcb_ignition=source)
    assert again.code == 0, again.out
    assert again.counted("win1") == {"changed": 0, "unreachable": 0, "failed": 0}
    assert '"msg": "nothing to do"' in again.out
    assert not [line for line in door.commands if "powershell" in line.lower()]
    assert not [found for found in node.holding(openshift) if r"\.wmcb" in found]
