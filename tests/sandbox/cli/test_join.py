"""`wmcb join` on a machine that is a folder: what it asks of the cluster, what it leaves, what it refuses."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from agent.host.port import Principal
from agent.host.protection import SIDS
from agent.host.sddl import ADMINISTRATORS, SYSTEM, SecurityDescriptor
from sandbox.cli.given import Answer, Machine, program
from unit.fetch.authority import issue, serving
from unit.kube.api_server import CLUSTER_INFO, ROOT, TOKEN, ApiServer, cluster_info, kubeconfig_of, ok, status
from unit.kube.test_token_discovery import pinned

KUBELET = r"C:\k\kubelet.exe"
KUBELET_CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubelet-config"
KUBEADM_CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
NODE = "/api/v1/nodes/win1"

CONFIGURATION = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
cgroupDriver: systemd
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: /run/systemd/resolve/resolv.conf
rotateCertificates: true
staticPodPath: /etc/kubernetes/manifests
"""
CLUSTER = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
networking: {serviceSubnet: 10.96.0.0/12, dnsDomain: cluster.local}
"""
JOIN = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {{token: {token}, apiServerEndpoint: "{place}", caCertHashes: ["{pin}"]}}
nodeRegistration: {{name: "{name}"}}
"""


class Cluster:
    """An API server that has what kubeadm puts there."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        server.at(CLUSTER_INFO, cluster_info(kubeconfig_of(server.url, ROOT)))
        server.at(KUBELET_CONFIG, ok({"data": {"kubelet": CONFIGURATION}}))
        server.at(KUBEADM_CONFIG, ok({"data": {"ClusterConfiguration": CLUSTER}}))
        server.at("/version", ok({"gitVersion": "v1.36.3"}))

    def join_configuration(self, name: str = "win1") -> str:
        return JOIN.format(token=TOKEN, place=self.server.place, pin=pinned(ROOT), name=name)

    def configure(self, more: str) -> None:
        """Of its kubelets."""
        self.server.at(KUBELET_CONFIG, ok({"data": {"kubelet": f"{CONFIGURATION}{more}\n"}}))

    def has_node(self, *, ready: bool) -> None:
        conditions = [{"type": "Ready", "status": str(ready)}]
        self.server.at(NODE, ok({"metadata": {"name": "win1"}, "status": {"conditions": conditions}}))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ApiServer(serving(tmp_path, issue("api", ROOT))) as started:
        yield Cluster(started)


@pytest.fixture
def windows(machine: Machine) -> Machine:
    """With kubelet.exe where it is to stay."""
    machine.put(KUBELET, program())
    machine.facts(host_name="WIN1")
    return machine


def join(machine: Machine, cluster: Cluster, *more: str, token: str = TOKEN, pin: str = "") -> Answer:
    return machine.wmcb(
        *("join", cluster.server.place, "--token", token),
        *("--discovery-token-ca-cert-hash", pin or pinned(ROOT)),
        *("--kubelet-version", "1.36", *more),
    )


def text(machine: Machine, path: str) -> str:
    return machine.read(path).decode()


@pytest.mark.parametrize(
    ("server_ahead", "told"),
    [
        (0, None),
        (30, None),
        (300, r"clock: this machine's is (299|300|301) seconds behind that of "),
        (-7200, r"clock: this machine's is (7199|7200|7201) seconds ahead of that of "),
    ],
)
def test_clocks_that_do_not_agree_are_told(
    windows: Machine,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    server_ahead: int,
    told: str | None,
) -> None:
    said = formatdate(time.time() + server_ahead, usegmt=True)
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda *_: said)
    answer = join(windows, cluster)
    assert answer.code == 0, answer.err
    assert bool(told and re.search(f"wmcb: warning: {told}", answer.err)) == (told is not None)
    assert ("clock: " in answer.err) == (told is not None)


AS_MADE_BY_HAND = SecurityDescriptor.parse(
    "O:BAD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;0x1200a9;;;BU)(A;OICIIOID;SDGXGWGR;;;AU)"
)
"""What C:\\ hands down."""


def test_former_folders_and_keys_in_them_are_for_administrators(windows: Machine, cluster: Cluster) -> None:
    files = windows.host.files
    folders = [PureWindowsPath(path) for path in (r"C:\etc\kubernetes\pki", r"C:\var\lib\kubelet\pki")]
    for folder in folders:
        for each in (*reversed(folder.parents[:-1]), folder):
            if files.observe(each) is None:
                files.make_directory(each, AS_MADE_BY_HAND)
    keys = [above / "old.key" for folder in folders for above in (folder, folder.parent)]
    for key in keys:
        files.write(key, b"key", AS_MADE_BY_HAND)
    before = {path: files.descriptor(path) for path in (*folders, *keys)}
    assert join(windows, cluster).code == 0
    for path in (*folders, *keys):
        descriptor = files.descriptor(path)
        assert descriptor.granted(SIDS[Principal.USER]) == 0, path
        assert all(ace.sid in (SYSTEM, ADMINISTRATORS) for ace in descriptor.aces or ()), path
    assert windows.wmcb("status").code == 0
    assert windows.wmcb("reset").code == 0
    assert {path: files.descriptor(path) for path in before} == before


@pytest.mark.parametrize(
    ("words", "seconds"), [((), "0.5"), (("--start-timeout", "0.2"), "0.2")], ids=["configured", "asked"]
)
def test_how_long_the_kubelet_is_given_to_be_well(
    windows: Machine, cluster: Cluster, words: tuple[str, ...], seconds: str
) -> None:
    windows.facts(answers={"10248": 500})
    configuration = f"{cluster.join_configuration()}timeouts: {{kubeletHealthCheck: 500ms}}\n"
    given = ("--config", windows.give("join.yaml", configuration), "--kubelet-version", "1.36")
    answer = windows.wmcb("join", *given, *words)
    assert answer.code == 1
    assert f"/healthz answers 500 after {seconds} seconds; the machine is as it was" in answer.error_lines[-1]


def test_what_it_leaves(windows: Machine, cluster: Cluster) -> None:
    answer = join(windows, cluster)
    assert answer.code == 0, answer.err
    assert text(windows, r"C:\etc\kubernetes\pki\ca.crt").encode() == ROOT.pem
    assert TOKEN in text(windows, r"C:\etc\kubernetes\bootstrap-kubelet.conf")
    assert "containerd-containerd" in text(windows, r"C:\var\lib\kubelet\instance-config.yaml")
    configuration = text(windows, r"C:\var\lib\kubelet\config.yaml")
    assert r"C:\etc\kubernetes\pki\ca.crt" in configuration
    assert "KUBELET_KUBEADM_ARGS=" in text(windows, r"C:\var\lib\kubelet\kubeadm-flags.env")
    service = windows.host.services.read("kubelet")
    assert service is not None
    assert any(word.startswith("--bootstrap-kubeconfig=") for word in service.definition.command)


def test_the_nodes_address_may_be_given(windows: Machine, cluster: Cluster) -> None:
    answer = join(windows, cluster, "--node-ip", "192.0.2.11")
    assert answer.code == 0, answer.err
    assert "--node-ip=192.0.2.11" in text(windows, r"C:\var\lib\kubelet\kubeadm-flags.env")


@pytest.mark.parametrize("command", [("join", "--config"), ("--kubeadm-config",)], ids=" ".join)
def test_an_address_in_the_configuration_and_another_one_are_refused(
    windows: Machine, cluster: Cluster, command: tuple[str, ...]
) -> None:
    extra = "kubeletExtraArgs: [{name: node-ip, value: 192.0.2.12}]"
    configuration = cluster.join_configuration().replace('name: "win1"', f'name: "win1", {extra}')
    given = windows.give("join.yaml", configuration)
    answer = windows.wmcb(*command, given, "--kubelet-version", "1.36", "--node-ip", "192.0.2.11")
    assert answer.code == 2
    assert answer.error_lines[-1] == (
        "wmcb: --node-ip: nodeRegistration.kubeletExtraArgs of the JoinConfiguration says node-ip, too;"
        " leave one of them out"
    )


def test_a_configuration_of_a_dry_run_is_only_looked_at(windows: Machine, cluster: Cluster) -> None:
    configuration = windows.give("join.yaml", f"{cluster.join_configuration()}dryRun: true\n")
    before = windows.picture()
    for words in (("join", "--config", configuration), ("--kubeadm-config", configuration)):
        answer = windows.wmcb(*words, "--kubelet-version", "1.36")
        assert answer.code == 0, answer.err
        assert "+ create    service kubelet" in answer.out.splitlines()
        assert windows.picture() == before


def test_what_is_asked_of_the_cluster(windows: Machine, cluster: Cluster) -> None:
    join(windows, cluster)
    assert cluster.server.targets == [
        f"GET {CLUSTER_INFO}",
        f"GET {CLUSTER_INFO}",
        f"GET {NODE}",
        "GET /version",
        f"GET {KUBELET_CONFIG}",
        f"GET {KUBEADM_CONFIG}",
    ]


def test_how_it_was_asked_for_is_told_without_the_token(windows: Machine, cluster: Cluster) -> None:
    assert join(windows, cluster).code == 0
    asked = f"wmcb join {cluster.server.place} --token *** --discovery-token-ca-cert-hash {pinned(ROOT)}"
    told = windows.wmcb("status", "--output", "json").document["command"]
    assert told == f"{asked} --kubelet-version 1.36 --sandbox {windows.place}"
    windows.host.services.stop("kubelet")
    advice = f"run this again to repair that, with what *** stands for: {told}"
    assert advice in windows.wmcb("status").out.splitlines()


def test_no_secret_is_told(windows: Machine, cluster: Cluster) -> None:
    secret = TOKEN.partition(".")[2]
    planned = join(windows, cluster, "--dry-run", "-v")
    done = join(windows, cluster, "-v")
    logs = windows.place.glob("**/wmcb/logs/*")
    told = [planned.out, planned.err, done.out, done.err, *(log.read_text() for log in logs)]
    assert not any(secret in each for each in told)


def refused(machine: Machine, cluster: Cluster, **given: Any) -> tuple[int, str]:
    before = machine.picture()
    answer = join(machine, cluster, *given.pop("more", ()), **given)
    assert machine.picture() == before, "nothing was changed"
    assert answer.out == ""
    return answer.code, answer.error_lines[-1]


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--start-timeout", "soon", "a number of seconds, such as 60"),
        ("--v", "foo", "a number, such as 2"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_before_the_cluster_is_asked(
    windows: Machine, cluster: Cluster, option: str, value: str, expected: str
) -> None:
    code, line = refused(windows, cluster, more=(option, value))
    assert (code, line) == (2, f"wmcb: {option} {value}: expected {expected}")
    assert cluster.server.targets == []


def test_a_kubelet_that_is_not_in_its_place(machine: Machine, cluster: Cluster) -> None:
    code, line = refused(machine, cluster)
    assert (code, line) == (
        2,
        rf"wmcb: there is no {KUBELET}: put the kubelet.exe of this node there; "
        f"{machine.called} prepare --kubernetes-version V fetches it, --kubelet FILE names another",
    )
    assert cluster.server.targets == []


def test_what_fetches_a_kubelet_puts_it_where_it_is_looked_for(machine: Machine, cluster: Cluster) -> None:
    _, line = refused(machine, cluster, more=("--install-dir", r"D:\my k"))
    assert line.startswith(r"wmcb: there is no D:\my k\kubelet.exe: put the kubelet.exe of this node there; ")
    assert r"prepare --kubernetes-version V --install-dir 'D:\my k' fetches it" in line


def test_an_unfit_machine_is_refused_before_the_cluster_is_asked(bare: Machine, cluster: Cluster) -> None:
    bare.put(KUBELET, program())
    bare.facts(host_name="WIN1")
    code, line = refused(bare, cluster)
    assert code == 3
    assert line.startswith(
        "wmcb: containerd-service: there is no service containerd, which the kubelet needs"
    )
    configuration = bare.give("join.yaml", cluster.join_configuration())
    answer = bare.wmcb("preflight", "--kubeadm-config", configuration, "--kubelet-version", "1.36")
    assert answer.code == 3
    (told,) = (line for line in answer.out.splitlines() if line.startswith("cluster"))
    assert "the cluster is asked when what is amiss here has been put right" in told
    assert cluster.server.targets == []
    join(bare, cluster, "--ignore-preflight-errors", "containerd-service")
    assert f"GET {KUBEADM_CONFIG}" in cluster.server.targets


def test_another_cluster_answers(windows: Machine, cluster: Cluster) -> None:
    code, line = refused(windows, cluster, pin=pinned(issue("other", authority=True)))
    assert code == 1
    assert "has another certificate authority than was given" in line
    assert "; to get the hash: openssl x509 -pubkey " in line


def test_a_wrong_secret(windows: Machine, cluster: Cluster) -> None:
    code, line = refused(windows, cluster, token="abcdef.ffffffffffffffff")  # noqa: S106 - what one looks like
    assert code == 1
    assert "does not know the secret of the token abcdef" in line


def test_a_token_that_is_not_accepted_any_more(windows: Machine, cluster: Cluster) -> None:
    cluster.server.at(KUBELET_CONFIG, status(401, "Unauthorized", "Unauthorized"))
    code, line = refused(windows, cluster)
    assert code == 1
    assert line.endswith(
        "`kubeadm token create --print-join-command` on a control-plane node makes a new one"
    )


def test_a_node_of_the_name_that_is_ready(windows: Machine, cluster: Cluster) -> None:
    cluster.has_node(ready=True)
    code, line = refused(windows, cluster)
    assert code == 1
    assert "a Node win1 is in the cluster already, and is Ready" in line


def test_a_node_of_the_name_that_is_down(windows: Machine, cluster: Cluster) -> None:
    cluster.has_node(ready=False)
    assert join(windows, cluster).code == 0


def test_a_token_that_may_not_read(windows: Machine, cluster: Cluster) -> None:
    cluster.server.at(KUBELET_CONFIG, status(403, "Forbidden", "configmaps is forbidden"))
    code, line = refused(windows, cluster)
    assert code == 1
    assert "403 Forbidden" in line


def test_a_cluster_that_kubeadm_did_not_make(windows: Machine, cluster: Cluster) -> None:
    cluster.server.at(KUBEADM_CONFIG, status(404, "NotFound"))
    code, line = refused(windows, cluster)
    assert code == 1
    assert "has no ConfigMap kube-system/kubeadm-config: it was not made by kubeadm" in line


def test_a_kubelet_newer_than_the_cluster(windows: Machine, cluster: Cluster) -> None:
    cluster.server.at("/version", ok({"gitVersion": "v1.35.1"}))
    code, line = refused(windows, cluster)
    assert code == 2
    assert "is newer than the API server (v1.35.1)" in line
    assert join(windows, cluster, "--ignore-preflight-errors", "version-skew").code == 0


def test_two_container_runtimes(windows: Machine, cluster: Cluster) -> None:
    windows.facts(pipes=["containerd-containerd", "cri-dockerd"])
    code, line = refused(windows, cluster)
    assert code == 2
    assert "several container runtimes are here" in line
    assert join(windows, cluster, "--cri-socket", "npipe:////./pipe/cri-dockerd").code == 0
