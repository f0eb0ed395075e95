"""The real ansible-playbook, over SSH and without PowerShell: Windows machines in, Ready Nodes out."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from cluster.test_ignition import worker_ignition
from documentation import blocks, on_windows, output
from documentation.blocks import Place
from lab import kubernetes, namespace, repository, ssh
from lab.certificates import Authority
from lab.cluster.cluster import REQUESTS, SECRETS, Cluster
from lab.cluster.kubelet_node import KubeletNode
from lab.cluster.openshift import BINDINGS, bootstrappers_token, without_bootstrapper
from lab.cluster.runtime import ContainerRuntime
from lab.fixtures import secure_web, web, web_authority
from lab.minisign import Signer, trusted_comment
from lab.node import Node
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.web import Page, Web
from unit.ansible.requests import SERVING, address, request_for
from windows.exe import SHIPPED
from windows.test_fetching import trust

Timed = Callable[[str], AbstractContextManager[None]]

__all__ = ["secure_web", "web", "web_authority"]

PLAYBOOKS = repository.ROOT / "packaging" / "ansible"
PAGE = "packaging/ansible/README.md"
READERS = "playbooks"
"""The reader's copy of them, and his home."""
BIN = Path(sys.executable).parent
WMCB_LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"
_SEE = re.compile(rf"see {re.escape(WMCB_LOG)} line (\d+): (.+?)\s*$", re.MULTILINE)
_TOKEN = re.compile(r"(?<![\w.])(?=[a-z.]{0,22}[0-9])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.])")
"""A join's, which nobody but the playbook knows."""
_RECAP = re.compile(r"^(\S+) +: ok=\d+ +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.MULTILINE)

NAME = "windows-worker-1"
NAMING = f"""\
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
nodes: {{names: [{NAME}]}}
hostName: {NAME}
"""
SELF = """\
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
nodes: {labels: {kubernetes.io/os: windows}}
self: {source: '%s', sha256: %s}
"""
# Another kubelet for all but its version.
ANOTHER_BUILD = b"another build"
NOTHING = {"changed": 0, "unreachable": 0, "failed": 0}
# A half of two may fail.
AT_ONCE = ("-e", "wmcb_serial=2", "-e", "wmcb_max_fail_percentage=60")


@dataclass(frozen=True)
class Played:
    code: int
    out: str

    def counted(self, host: str) -> dict[str, int]:
        """What stands below all for a host."""
        (numbers,) = [found[1:] for found in _RECAP.findall(self.out) if found[0] == host]
        return dict(zip(("changed", "unreachable", "failed"), map(int, numbers), strict=True))


class ControlHost:
    """Where ansible-playbook runs. Each run is at -vvv, and says neither one of `secrets` nor a token."""

    def __init__(self, folder: Path, common: Mapping[str, Any]) -> None:
        self._folder = folder
        self._common = dict(common)
        self._hosts: dict[str, dict[str, Any]] = {}
        self.secrets: list[str] = []

    def knows(self, name: str, door: ssh.Door, **more: Any) -> None:
        self._hosts[name] = {**over_ssh(door), **more}

    def forgets(self, name: str) -> None:
        del self._hosts[name]

    def play(self, playbook: str, *options: str, **variables: Any) -> Played:
        group = {"hosts": self._hosts, "vars": {**self._common, **variables}}
        inventory = self._folder / "inventory.yml"
        inventory.write_text(json.dumps({"windows": group}))
        done = subprocess.run(
            [str(BIN / "ansible-playbook"), "-vvv", "-i", str(inventory), playbook, *options],
            cwd=PLAYBOOKS,
            env={**os.environ, **_own_folders(self._folder), "ANSIBLE_NOCOLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for secret in self.secrets:
            assert secret not in done.stdout, "a secret is in what ansible-playbook says"
        assert not _TOKEN.search(done.stdout), "a join's token is in what ansible-playbook says"
        return Played(done.returncode, done.stdout)


def _own_folders(folder: Path) -> dict[str, str]:
    """Nothing is left in the home of whoever runs the lab, but sockets: a path of theirs has to be short."""
    return {"ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_REMOTE_TEMP": str(folder / "remote")}


def as_the_page_has_it(
    cluster: Cluster,
    node: Node,
    door: ssh.Door,
    runtime: ContainerRuntime,
    kubelet: Mapping[str, str],
    folder: Path,
) -> str:
    """Each command of the page prints what it shows; the inventory is the example with the lab's values.

    All that Ansible said.
    """
    home = folder / READERS
    shutil.copytree(PLAYBOOKS, home, ignore=shutil.ignore_patterns("inventory.yml"))
    shutil.copyfile(SHIPPED, home / "wmcb.exe")
    home.joinpath(".kube").mkdir()
    home.joinpath(".kube", "config").symlink_to(cluster.super_admin)
    example = home / "inventory.example.yml"
    text, values = example.read_text(), of_the_lab(cluster, door, runtime, kubelet)
    assert [value for value in values if text.count(value) != 1] == []
    example.write_text(output.put_in(text, values))
    log = folder / "ansible.log"
    environment = {
        **os.environ,
        "HOME": str(home),
        "PATH": os.pathsep.join((str(BIN), str(kubernetes.linux()), os.environ["PATH"])),
        "ANSIBLE_LOG_PATH": str(log),
        "ANSIBLE_NOCOLOR": "1",
        # The path of a socket has to be short.
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(Path("~/.ansible/cp").expanduser()),
    }
    on_windows.check(PAGE, Place.CONTROL_HOST, node, {}, environment)
    return log.read_text()


def of_the_lab(
    cluster: Cluster, door: ssh.Door, runtime: ContainerRuntime, kubelet: Mapping[str, str]
) -> dict[str, str]:
    """What is put in the place of the example's values; what has to be said besides stands below a line."""
    besides = {
        "ansible_user: Administrator": over_ssh(door),
        "wmcb_kubeconfig: ~/.kube/config": {"wmcb_options": in_wine(runtime)},
    }
    return {
        "10.0.1.11": namespace.ADDRESS,
        "https://dl.k8s.io/v1.31.4/bin/windows/amd64/kubelet.exe": kubelet["url"],
        "0" * 64: kubelet["sha256"],
        "openshift-machine-api": cluster.namespace,
        **{
            line: "\n    ".join((line, *(f"{name}: {json.dumps(value)}" for name, value in more.items())))
            for line, more in besides.items()
        },
    }


def in_wine(runtime: ContainerRuntime) -> dict[str, str]:
    """Which has no containerd, and no named pipes as gRPC wants them."""
    return {"runtime-service": "none", "container-runtime-endpoint": runtime.endpoint}


def over_ssh(door: ssh.Door) -> dict[str, Any]:
    return {
        "ansible_port": door.port,
        "ansible_ssh_private_key_file": str(door.key),
        "ansible_ssh_common_args": f"-F none -o UserKnownHostsFile={door.known_hosts}",
    }


def test_no_page_is_left_out() -> None:
    assert blocks.pages_for(Place.CONTROL_HOST) == [PAGE]


@pytest.fixture
def control_host(cluster: Cluster, container_runtime: ContainerRuntime, tmp_path: Path) -> ControlHost:
    # One that is built meanwhile would be brought as another.
    exe = shutil.copyfile(SHIPPED, tmp_path / "wmcb.exe")
    common = {
        "ansible_host": namespace.ADDRESS,
        "ansible_user": "Administrator",
        "ansible_connection": "ssh",
        "ansible_shell_type": "cmd",
        "wmcb_exe": {"file": str(exe)},
        "wmcb_kubelet": {"file": str(kubernetes.kubelet())},
        "wmcb_options": in_wine(container_runtime),
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
    yield bootstrappers_token(cluster)
    without_bootstrapper(cluster)


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


def publish(web: Web, path: str, content: bytes) -> dict[str, str]:
    """As a source that names it by its checksum."""
    web.pages[path] = Page(content)
    return {"url": web.url(path, namespace.ADDRESS), "sha256": hashlib.sha256(content).hexdigest()}


def publish_kubelet(web: Web) -> str:
    """As the Kubernetes project publishes it; where that is found in its place."""
    kubelet = kubernetes.kubelet().read_bytes()
    place = f"/mirror/v{kubernetes.RELEASE}/bin/windows/amd64/kubelet.exe"
    web.pages[place] = Page(kubelet)
    web.pages[f"{place}.sha256"] = Page(hashlib.sha256(kubelet).hexdigest().encode())
    return f"https://dl.k8s.io/={web.url('/mirror/')}"


def publish_exe(cluster: Cluster, web: Web, secret: str, folder: Path) -> dict[str, str]:
    """As `self` in a signed ConfigMap names it, at a URL with a signature of its own."""
    web.pages[f"/wmcb.exe?signature={secret}"] = Page(SHIPPED.read_bytes())
    url = web.url(f"/wmcb.exe?signature={secret}", namespace.ADDRESS)
    text = SELF % (url, hashlib.sha256(SHIPPED.read_bytes()).hexdigest())
    signer, key = Signer(), folder / "minisign.pub"
    key.write_text(signer.public_key)
    place = f"{cluster.namespace}/windows-nodes"
    comment = trusted_comment(place, cluster.ca_hash, signed=time.time(), expires=time.time() + 86_400)
    data = {"node.yaml": text, "node.yaml.minisig": signer.signature(text, comment)}
    maps = f"/api/v1/namespaces/{cluster.namespace}/configmaps"
    cluster.api.create(maps, {"metadata": {"name": "windows-nodes"}, "data": data})
    return {"namespace": cluster.namespace, "name": "windows-nodes", "public_key": str(key)}


def test_workers_of_the_clusters_own_user_data_one_of_which_fails(
    control_host: ControlHost,
    door: ssh.Door,
    openshift: str,
    cluster: Cluster,
    container_runtime: ContainerRuntime,
    node: Node,
    secure_web: Web,
    web: Web,
    web_authority: Authority,
    tmp_path: Path,
    timed: Timed,
) -> None:
    """From scale up to reset, one test for all, since each node costs seconds.

    The first is made as the page has it; the one that fails has another kubelet.
    """
    served = worker_ignition(cluster, openshift, serverTLSBootstrap=True)
    secure_web.pages["/config/worker"] = Page(served.encode())
    source = user_data(cluster, secure_web.url("/config/worker"), web_authority.certificate.read_text())
    control_host.secrets = [openshift, openshift.split(".")[2]]
    foreign = request_for("system:node:win1", signer=SERVING, alternatives=[address(namespace.ADDRESS)])
    cluster.api.create(REQUESTS, {"metadata": {"name": "foreign"}, "spec": foreign})
    kubelet = publish(web, "/kubelet.exe", kubernetes.kubelet().read_bytes())
    with timed("what the page has: a look, a plan, and ansible-playbook scaleup.yml until its Node is Ready"):
        said = as_the_page_has_it(cluster, node, door, container_runtime, kubelet, tmp_path)
    assert openshift not in said
    assert "foreign for a serving certificate is not approved" in said
    requests = {r["metadata"]["name"]: r for r in cluster.api.items(REQUESTS)}
    assert "conditions" not in requests.pop("foreign")["status"]
    assert sorted(r["spec"]["signerName"] for r in requests.values()) == [
        "kubernetes.io/kube-apiserver-client-kubelet",
        "kubernetes.io/kubelet-serving",
    ]
    for request in requests.values():
        assert request["status"]["conditions"][0]["reason"] == "MatchesInventory"

    control_host.knows("win1", door)
    cache = tmp_path / READERS / ".cache" / "wmcb-ansible"
    as_before = {"wmcb_ignition": source, "wmcb_kubelet": kubelet, "wmcb_cache": str(cache)}
    with another_node(tmp_path) as (other, way_in):
        control_host.knows("win2", way_in, **one_that_fails(other))
        control_host.knows("win3", way_in)  # whose wave never comes
        with timed("the same again, beside one that fails"):
            done = control_host.play("scaleup.yml", "-e", "wmcb_serial=2", **as_before)
        check_failure(done, other)
        assert not other.holding(openshift)
    assert {found[0] for found in _RECAP.findall(done.out)} == {"win1", "win2"}
    assert done.counted("win1") == NOTHING
    assert '"msg": "nothing to do"' in done.out
    assert cluster.node("win2") is None
    control_host.forgets("win2")
    control_host.forgets("win3")
    assert not [found for found in node.holding(openshift) if r"\.wmcb" in found]

    newer = tmp_path / "kubelet.exe"
    newer.write_bytes(kubernetes.kubelet().read_bytes() + ANOTHER_BUILD)
    given = {"wmcb_ignition": source, "wmcb_kubelet": {"file": str(newer)}}
    with timed("ansible-playbook upgrade.yml, of a node of an Ignition"):
        upgraded = control_host.play("upgrade.yml", **given)
    assert upgraded.code == 0, upgraded.out
    assert node.path(r"C:\k\kubelet.exe").read_bytes() == newer.read_bytes()
    assert cluster.is_ready("win1")
    check_uncordoned(cluster, "win1")
    assert control_host.play("upgrade.yml", **given).counted("win1") == NOTHING

    give_back(control_host, cluster, node, "win1", **given)
    assert not [line for line in door.commands if "powershell" in line.lower()]
    assert not node.holding(openshift)


def small_kubelet(node: Node, **behaviour: Any) -> dict[str, str]:
    StandinKubelet(node, r"C:\given\kubelet.exe", version=kubernetes.RELEASE, **behaviour)
    return {"file": str(node.path(r"C:\given\kubelet.exe"))}


def one_that_fails(node: Node) -> dict[str, Any]:
    """The kubelet ends as soon as it is started."""
    return {
        "wmcb_kubelet": small_kubelet(node, exit_at_once=1),
        # All nodes have one address, so that the ports are another's.
        "wmcb_options": {"runtime-service": "none", "ignore-preflight-errors": "all"},
    }


def check_failure(played: Played, node: Node) -> None:
    """Of win2, with the line of its log; and what failed stands at the end, too."""
    assert played.code == 2, played.out
    assert played.counted("win2")["failed"] == 1
    number, line = _SEE.findall(played.out)[0]
    assert node.path(WMCB_LOG).read_text().splitlines()[int(number) - 1] == line
    last = played.out.rpartition("fatal: [win2]: FAILED!")[2]
    assert re.search(rf"see {re.escape(json.dumps(WMCB_LOG)[1:-1])} line {number}:", last), last


def check_uncordoned(cluster: Cluster, name: str) -> None:
    found = cluster.node(name)
    assert found is not None
    assert "unschedulable" not in found["spec"]


def give_back(control_host: ControlHost, cluster: Cluster, node: Node, name: str, **variables: Any) -> Played:
    gone = control_host.play("reset.yml", **variables)
    assert gone.code == 0, gone.out
    assert cluster.node(name) is None
    assert [node.service(service) for service in ("kubelet", "wmcb")] == [None, None]
    assert not node.path(rf"{ssh.HOME}\.wmcb").exists()
    again = control_host.play("reset.yml", **variables)
    assert again.counted(name) == NOTHING, again.out
    return gone


@pytest.fixture
def nobody_approves(cluster: Cluster) -> Iterator[None]:
    """As in a cluster where somebody looks at each request for a node's first certificate."""
    place = f"{BINDINGS}/kubeadm:node-autoapprove-bootstrap"
    kept = cluster.api.get(place)
    cluster.api.delete(place)
    yield
    del kept["metadata"]["resourceVersion"], kept["metadata"]["uid"]
    cluster.api.create(BINDINGS, kept)


def tokens(cluster: Cluster) -> list[str]:
    found = cluster.api.items(f"{SECRETS}?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken")
    return [secret["metadata"]["name"] for secret in found]


@pytest.mark.usefixtures("nobody_approves")
def test_a_kubeadm_cluster_and_a_node_that_fails_beside_one_that_does_not(
    control_host: ControlHost,
    door: ssh.Door,
    cluster: Cluster,
    node: Node,
    container_runtime: ContainerRuntime,
    secure_web: Web,
    web: Web,
    web_authority: Authority,
    tmp_path: Path,
    timed: Timed,
) -> None:
    """From joining to reset, one test for all. The one that is well is made of the cluster's own wmcb.exe and
    kubelet's release, given its name, and restarted.
    """
    kept = tokens(cluster)
    kubelet = kubernetes.kubelet().read_bytes()
    trust(node, web_authority)
    control_host.knows(NAME, door, wmcb_kubelet={"release": "cluster"})
    document = tmp_path / "node.yaml"
    document.write_text(NAMING)
    control_host.secrets = ["of-a-url"]
    everywhere: dict[str, Any] = {
        "wmcb_exe": {"config_map": publish_exe(cluster, web, "of-a-url", tmp_path)},
        "wmcb_node_configuration": {"file": str(document)},
        "wmcb_restart": True,
        "wmcb_cache": str(tmp_path / "cache"),
        "wmcb_options": {"runtime-service": "none"},
        "wmcb_prepare_options": {"mirror": publish_kubelet(secure_web)},
        "wmcb_node_registration": {"criSocket": container_runtime.endpoint},
    }
    with another_node(tmp_path) as (other, way_in):
        control_host.knows("win2", way_in, **one_that_fails(other))
        with timed("ansible-playbook prepare-join.yml, one of two nodes failing"):
            joined = control_host.play("prepare-join.yml", *AT_ONCE, **everywhere)
        assert joined.counted(NAME)["failed"] == 0, joined.out
        check_failure(joined, other)
    assert cluster.is_ready(NAME)
    assert cluster.node("win2") is None
    assert tokens(cluster) == kept
    control_host.forgets("win2")

    again = control_host.play("prepare-join.yml", "--diff", **everywhere)
    assert again.code == 0, again.out
    assert again.counted(NAME) == NOTHING
    assert tokens(cluster) == kept

    newer = tmp_path / "kubelet.exe"
    newer.write_bytes(kubelet + ANOTHER_BUILD)
    control_host.knows(NAME, door, wmcb_kubelet={"file": str(newer)})
    everywhere["wmcb_resident"] = True
    planned = control_host.play("upgrade.yml", "--check", "--diff", **everywhere)
    assert planned.code == 0, planned.out
    assert "change file C:\\k\\kubelet.exe\n" in planned.out
    assert node.path(r"C:\k\kubelet.exe").read_bytes() == kubelet
    with timed("ansible-playbook upgrade.yml, with the Node drained, and the resident service"):
        upgraded = control_host.play("upgrade.yml", **everywhere)
    assert upgraded.code == 0, upgraded.out
    assert node.path(r"C:\k\kubelet.exe").read_bytes() == newer.read_bytes()
    check_uncordoned(cluster, NAME)
    assert node.wait_for_service("wmcb", State.RUNNING)

    with timed("ansible-playbook reset.yml, twice"):
        gone = give_back(control_host, cluster, node, NAME, **everywhere)
    assert f"{NAME}: the Node {NAME} stays in the cluster" in " ".join(gone.out.split())
    assert not [line for line in door.commands if "powershell" in line.lower()]


def test_a_node_that_others_have_made_is_taken_over(
    control_host: ControlHost, ready_node: KubeletNode, tmp_path: Path, timed: Timed
) -> None:
    """By kubeadm.exe, with a service that the lab has made: the Node stays, and so does what it was."""
    before = ready_node.cluster.node("win1")
    assert before is not None
    variables = {
        "wmcb_options": {"runtime-service": "none"},
        "wmcb_node_registration": {"criSocket": ready_node.runtime.endpoint},
    }
    with ssh.serving(ready_node.machine, tmp_path) as door:
        control_host.knows("win1", door)
        with timed("ansible-playbook takeover.yml"):
            taken = control_host.play("takeover.yml", **variables)
        assert taken.code == 0, taken.out
        again = control_host.play("takeover.yml", **variables)
        assert again.counted("win1") == NOTHING, f"{again.out}\nBefore that:\n{taken.out}"
    settings = ready_node.machine.service_settings("kubelet")
    assert settings is not None
    assert "wmcb-log.exe" in str(settings["ImagePath"])
    after = ready_node.cluster.node("win1")
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    check_uncordoned(ready_node.cluster, "win1")


@contextmanager
def another_node(folder: Path) -> Iterator[tuple[Node, ssh.Door]]:
    node = Node()
    place = folder / node.name
    place.mkdir()
    try:
        with ssh.serving(node, place) as opened:
            yield node, opened
    finally:
        node.close()
