"""Into the real cluster by `wmcb join`, with the real kubelet: Ready, again, elsewhere, and out again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from cluster.test_node import HOST_PROCESS, pods
from lab import kubernetes
from lab.cluster.cluster import Cluster
from lab.cluster.kubelet_node import KubeletNode
from lab.cluster.runtime import ContainerRuntime
from lab.firewall import Firewall
from lab.node import Node
from lab.running import LASTING_SECONDS, Result, Running
from lab.standin_kubelet import Behaviour, StandinKubelet
from lab.waiting import until
from windows.exe import DOWNLOADED, PLACE, SHIPPED, download

Timed = Callable[[str], AbstractContextManager[None]]

KUBELET = r"C:\k\kubelet.exe"
KUBEADM = r"C:\bin\kubeadm.exe"
BOOTSTRAP = r"C:\etc\kubernetes\bootstrap-kubelet.conf"
SHIM = r"C:\Program Files\containerd\containerd-shim-runhcs-v1.exe"
POD = r"C:\ProgramData\containerd\state\io.containerd.runtime.v2.task\k8s.io\pod"
KUBELET_CONF = r"C:\etc\kubernetes\kubelet.conf"
WINDOWS = {"kubernetes.io/os": "windows"}
CRI_SOCKET = "kubeadm.alpha.kubernetes.io/cri-socket"

JOIN = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    token: {token}
    apiServerEndpoint: {address}
    caCertHashes: ["{ca_hash}"]
nodeRegistration:
  name: {name}
  criSocket: {runtime}
  taints:
  - {{key: os, value: windows, effect: NoSchedule}}
  kubeletExtraArgs:
  - {{name: node-labels, value: pool=blue}}
"""


class Joiner(KubeletNode):
    """A machine with the kubelet on it, and wmcb; nothing else was done to it."""

    def install(self) -> None:
        self.machine.copy_in(kubernetes.kubelet(), KUBELET)
        download(self.machine)

    def wmcb(self, *words: str) -> Result:
        return self.machine.run(DOWNLOADED, *words)

    def by_options(self, token: str | None = None, ca_hash: str | None = None) -> tuple[str, ...]:
        return (
            *("join", self.cluster.address),
            *("--token", token or self.cluster.fresh_bootstrap_token()),
            *("--discovery-token-ca-cert-hash", ca_hash or self.cluster.ca_hash),
            # Wine has no containerd, and no named pipes as gRPC wants them.
            *("--cri-socket", self.runtime.endpoint, "--runtime-service", "none"),
        )

    def by_file(self) -> tuple[str, ...]:
        file = self.machine.path(r"C:\given\join.yaml")
        file.parent.mkdir(exist_ok=True)
        file.write_text(self.join_configuration(JOIN))
        return ("--kubeadm-config", r"C:\given\join.yaml", "--runtime-service", "none")

    def node(self) -> dict[str, Any]:
        node = self.cluster.node(self.name)
        assert node is not None
        return node

    def has(self, path: str) -> bool:
        return self.machine.path(path).exists()


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Joiner:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    return made


def check_joined(joiner: Joiner) -> None:
    joiner.wait_until_ready()
    node = joiner.node()
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "windows"
    assert node["metadata"]["annotations"][CRI_SOCKET] == joiner.runtime.endpoint
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{kubernetes.RELEASE}"
    assert joiner.has(KUBELET_CONF)
    assert not joiner.has(BOOTSTRAP)


def check_audit(joiner: Joiner) -> None:
    """Of what the kubelet is told; Wine keeps no descriptor that the files' could be judged by."""
    found = json.loads(joiner.wmcb("audit", "--output", "json").out)
    results = {each["id"]: each["result"] for each in found["controls"]}
    assert {name for name, result in results.items() if result == "fail"} <= {
        f"4.1.{number}" for number in (1, 2, 5, 6, 7, 8, 9, 10)
    }
    assert {name for name, result in results.items() if result == "manual"} == {"4.2.9", "4.2.12"}
    reasons = {each["id"]: each["reason"] for each in found["controls"]}
    assert "kubelet-client-current.pem" in reasons["4.1.5"]


OTHER_BITS = re.compile(r"C:\\k(\\kubelet\.exe)?: (\w+), mode \d+, (.*) became \2, mode \d+, \3")
"""What was there before gets its descriptor back, of which Wine makes other permission bits."""
OF_THE_KUBELET = (r"C:\var\lib\kubelet", r"C:\var\log\kubelet", r"C:\ProgramData\wmcb\logs")


def check_again(joiner: Joiner, words: tuple[str, ...]) -> None:
    """A second run: the kubelet goes on, and nothing is changed but what it writes itself."""
    runs, before = joiner.machine.processes("kubelet.exe"), joiner.machine.snapshot()
    again = joiner.wmcb(*words)
    assert again.code == 0, again.err
    assert again.out.startswith("nothing to do")
    changed = before.changes_until(joiner.machine.snapshot())
    assert [line for line in changed if not line.startswith(OF_THE_KUBELET)] == []
    assert [each.pid for each in joiner.machine.processes("kubelet.exe")] == [each.pid for each in runs]


def test_by_options(joiner: Joiner, timed: Timed) -> None:
    somebody = joiner.machine.path(r"C:\given\admin.conf")
    somebody.parent.mkdir()
    joiner.cluster.kubeconfig(somebody, "somebody", ["system:masters"])
    before = joiner.machine.snapshot()
    token = joiner.cluster.fresh_bootstrap_token()
    with timed("wmcb join, whole"):
        done = joiner.wmcb(*joiner.by_options(token))
    assert done.code == 0, done.err
    check_joined(joiner)
    assert joiner.machine.holding(token.partition(".")[2]) == []
    check_again(joiner, joiner.by_options())

    joiner.reboot()
    check_joined(joiner)

    refused = joiner.wmcb("reset", "--delete-node")
    assert refused.code == 1
    assert "most clusters do not let a kubelet do that" in refused.err
    check_joined(joiner)
    gone = joiner.wmcb("reset", "--delete-node", "--kubeconfig", r"C:\given\admin.conf")
    assert gone.code == 0, gone.err
    assert joiner.cluster.node(joiner.name) is None
    changed = before.changes_until(joiner.machine.snapshot())
    assert [line for line in changed if not OTHER_BITS.fullmatch(line)] == []


def test_by_a_configuration(joiner: Joiner) -> None:
    done = joiner.wmcb(*joiner.by_file())
    assert done.code == 0, done.err
    check_joined(joiner)
    check_again(joiner, joiner.by_file())
    assert joiner.node()["metadata"]["labels"]["pool"] == "blue"
    taints = [(each["key"], each.get("value"), each["effect"]) for each in joiner.node()["spec"]["taints"]]
    assert ("os", "windows", "NoSchedule") in taints
    check_audit(joiner)


RESET = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ResetConfiguration\ndryRun: true\n"


def test_under_the_name_of_kubeadm(joiner: Joiner) -> None:
    joiner.machine.copy_in(SHIPPED, KUBEADM)
    joiner.machine.path(r"C:\etc\kubernetes").mkdir(parents=True)
    joiner.machine.path(r"C:\given").mkdir()
    joiner.machine.path(r"C:\given\join.yaml").write_text(joiner.join_configuration(JOIN))
    done = joiner.machine.run(KUBEADM, "join", "--config", r"C:\given\join.yaml", "-v", "5")
    assert done.code == 0, done.err
    check_joined(joiner)
    version = joiner.machine.run(KUBEADM, "version", "-o", "short")
    assert version.out.strip() == f"v{kubernetes.RELEASE}"
    shim = pod_of_containerd(joiner.machine)
    joiner.machine.path(r"C:\given\reset.yaml").write_text(RESET)
    with joiner.machine.path(r"C:\given\upgrade.yaml").open("w") as text:
        text.write(RESET.replace("Reset", "Upgrade").replace("dryRun: true", "node: {dryRun: true}"))
    before = joiner.machine.processes("kubelet.exe")
    for words in (("reset", "--config"), ("upgrade", "node", "--config")):
        looked = joiner.machine.run(KUBEADM, *words, rf"C:\given\{words[0]}.yaml")
        assert looked.code == 0, looked.err
    assert [each.pid for each in joiner.machine.processes("kubelet.exe")] == [each.pid for each in before]
    check_joined(joiner)
    gone = joiner.machine.run(KUBEADM, "reset", "-f")
    assert gone.code == 0, gone.err
    assert f"the Node {joiner.name} stays in the cluster" in gone.out
    assert list(joiner.machine.path(r"C:\etc\kubernetes").iterdir()) == []
    until(lambda: shim.ended, "its pod has ended")
    assert not joiner.has(r"C:\var")


def test_a_machine_that_was_prepared_can_be_joined_reset_and_joined_again(
    cluster: Cluster, container_runtime: ContainerRuntime, node: Node
) -> None:
    """With the real kubelet, by `prepare` alone: what it brought stays when kubeadm takes the node back."""
    joiner = Joiner(cluster, container_runtime, node)
    download(node)
    Firewall(node)
    node.copy_in(kubernetes.kubelet(), r"C:\downloads\kubelet.exe")
    digest = hashlib.sha256(kubernetes.kubelet().read_bytes()).hexdigest()
    node.path(r"C:\downloads\kubelet.exe.sha256").write_text(digest)
    words = ("prepare", "--kubernetes-version", kubernetes.RELEASE, "--artifacts", r"C:\downloads")
    prepared = joiner.wmcb(*words)
    assert prepared.code == 0, prepared.err
    joined = joiner.wmcb(*joiner.by_options())
    assert joined.code == 0, joined.err
    check_joined(joiner)
    again = joiner.wmcb(*words)
    assert again.out.startswith("nothing to do"), again.err.splitlines()[-1]

    kubeadm = rf"{PLACE}\kubeadm.exe"
    reset = node.run(kubeadm, "reset", "-f")
    assert reset.code == 0, reset.err
    assert (joiner.has(KUBELET), joiner.has(KUBELET_CONF), node.service("kubelet")) == (True, False, None)
    assert joiner.wmcb("status").code == 0
    cluster.api.delete(f"/api/v1/nodes/{joiner.name}")
    again = node.run(kubeadm, *joiner.by_options()[:-2])
    assert again.code == 0, again.err
    check_joined(joiner)


def test_phase_by_phase(joiner: Joiner) -> None:
    """As Cluster API's retries and careful people do it; and called by a name that is a hard link."""
    joiner.machine.path(r"C:\given").mkdir()
    joiner.machine.path(r"C:\given\join.yaml").write_text(joiner.join_configuration(JOIN))
    os.link(joiner.machine.path(DOWNLOADED), joiner.machine.path(r"C:\download\kubeadm.exe"))
    before = joiner.machine.snapshot()
    for phase in ("preflight", "kubelet-start", "kubelet-wait-bootstrap"):
        words = ("join", "phase", phase, "--config", r"C:\given\join.yaml")
        done = joiner.machine.run(r"C:\download\kubeadm.exe", *words)
        assert done.code == 0, f"{phase}: {done.err}"
        if phase == "preflight":
            assert before.changes_until(joiner.machine.snapshot()) == []
    check_joined(joiner)


def pod_of_containerd(machine: Node) -> Running:
    """What Windows sees of one: its shim, as containerd keeps account of it, and the address that it has."""
    StandinKubelet(machine, SHIM, address="127.0.0.1:20248")
    shim = machine.start(SHIM, seconds=LASTING_SECONDS)
    machine.path(POD).mkdir(parents=True)
    machine.path(POD + r"\shim.pid").write_text(str(shim.windows_pid))
    lease = machine.path(r"C:\var\lib\cni\networks\pods\10.244.1.7")
    lease.parent.mkdir(parents=True)
    lease.write_text("pod")
    return shim


USER_DATA = """\
## template: jinja
#cloud-config

write_files:
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
{configuration}
-   path: /run/cluster-api/placeholder
    owner: root:root
    permissions: '0640'
    content: "This placeholder file is used to create the /run/cluster-api sub directory"
runcmd:
  - "echo before> C:\\\\before.txt"
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > {sentinel}
  - "echo after> C:\\\\after.txt"
"""


def give_user_data(joiner: Joiner, configuration: str, more: str = "") -> tuple[str, ...]:
    """The words that have it carried out."""
    indented = "".join(f"      {line}\n" for line in configuration.splitlines())
    text = USER_DATA.format(configuration=indented, sentinel="/run/cluster-api/bootstrap-success.complete")
    joiner.machine.path(r"C:\given").mkdir()
    joiner.machine.path(r"C:\given\user-data").write_text(text + more)
    return ("--user-data", r"C:\given\user-data")


def test_by_user_data(joiner: Joiner) -> None:
    asked = give_user_data(joiner, joiner.join_configuration(JOIN))
    done = joiner.wmcb(*asked)
    assert done.code == 0, done.err
    check_joined(joiner)
    for path in (r"C:\before.txt", r"C:\after.txt", r"C:\run\cluster-api\bootstrap-success.complete"):
        assert joiner.has(path), path
    assert not joiner.has(r"C:\run\kubeadm\kubeadm-join-config.yaml"), "a token is in it"
    joiner.reboot()
    again = joiner.wmcb(*asked)
    assert again.out.startswith("nothing to do"), again.err.splitlines()[-1]
    check_joined(joiner)


def test_a_machine_that_is_given_its_long_name_first(joiner: Joiner) -> None:
    """Longer than NetBIOS' 15 characters, as Cluster API's are; the Node is called by all of it."""
    name = "windows-workers-md-0-7k2pq-xv9zl"
    configuration = joiner.join_configuration(JOIN).replace(f"  name: {joiner.name}\n", "")
    asked = give_user_data(joiner, configuration, f"hostname: {name}.example.com\n")
    assert joiner.wmcb(*asked).code == 1003
    assert not joiner.has(r"C:\before.txt")
    joiner.name = name
    joiner.reboot()
    done = joiner.wmcb(*asked)
    assert done.code == 0, done.err
    check_joined(joiner)
    joiner.reboot()
    check_joined(joiner)


def deployment(cluster: Cluster) -> Callable[[], set[str]]:
    """Of two pods that may go nowhere but to Windows; returns what tells their uids when they are ready."""
    labels = {"app": "web"}
    apps = f"/apis/apps/v1/namespaces/{cluster.namespace}/deployments"
    template = {
        "metadata": {"labels": labels},
        "spec": {"tolerations": [{"operator": "Exists"}], "nodeSelector": WINDOWS, **HOST_PROCESS},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    cluster.api.create(apps, {"metadata": {"name": "web"}, "spec": spec})
    budget = {"minAvailable": 2, "selector": {"matchLabels": labels}}
    cluster.api.create(budgets(cluster), {"metadata": {"name": "web"}, "spec": budget})

    def ready() -> set[str]:
        found = pods(cluster)
        conditions = [each for pod in found for each in pod["status"].get("conditions", ())]
        is_ready = [each["type"] == "Ready" and each["status"] == "True" for each in conditions].count(True)
        return {pod["metadata"]["uid"] for pod in found} if is_ready == len(found) == 2 else set()

    return lambda: until(ready, "both pods are ready", 60)


def budgets(cluster: Cluster) -> str:
    return f"/apis/policy/v1/namespaces/{cluster.namespace}/poddisruptionbudgets"


def test_through_upgrades_that_work_and_fail(joiner: Joiner) -> None:
    done = joiner.wmcb(*joiner.by_file())
    assert done.code == 0, done.err
    check_joined(joiner)
    both_pods = deployment(joiner.cluster)
    before = joiner.wmcb("upgrade")
    assert before.out.startswith("nothing to do"), before.out + before.err

    # Another build of the same kubelet is another kubelet for all but its version.
    new = joiner.machine.path(r"C:\given\kubelet.exe")
    working = joiner.machine.path(KUBELET).read_bytes() + b"another build"
    new.write_bytes(working)
    to_new = ("upgrade", "--kubelet", r"C:\given\kubelet.exe")
    running = both_pods()
    kept = joiner.wmcb(*to_new, "--drain", "--drain-timeout", "2")
    assert kept.code == 1
    assert "disruption budget" in kept.err
    assert joiner.machine.path(KUBELET).read_bytes() != working
    assert not joiner.node()["spec"].get("unschedulable")
    assert both_pods() == running

    joiner.cluster.api.delete(f"{budgets(joiner.cluster)}/web")
    upgraded = joiner.wmcb(*to_new, "--drain")
    assert upgraded.code == 0, upgraded.err
    assert joiner.machine.path(KUBELET).read_bytes() == working
    check_joined(joiner)
    assert both_pods().isdisjoint(running)
    assert joiner.node()["metadata"]["labels"]["pool"] == "blue"

    new.write_bytes(joiner.machine.path(r"C:\windows\system32\whoami.exe").read_bytes())
    failed = joiner.wmcb(*to_new, "--kubelet-version", "1.36", "--cordon")
    assert failed.code == 1
    assert "the machine is as it was before" in failed.err
    assert joiner.machine.path(KUBELET).read_bytes() == working
    assert f"the Node {joiner.name} is cordoned" in failed.err
    assert not joiner.node()["spec"].get("unschedulable")
    check_joined(joiner)


@contextmanager
def configured(cluster: Cluster, more: str) -> Iterator[None]:
    """What the cluster says of all its kubelets, with something more."""
    place = "/api/v1/namespaces/kube-system/configmaps/kubelet-config"
    before = cluster.api.get(place)["data"]["kubelet"]
    cluster.api.patch(place, {"data": {"kubelet": f"{before}{more}\n"}})
    try:
        yield
    finally:
        cluster.api.patch(place, {"data": {"kubelet": before}})


FAILING: dict[str, Behaviour] = {
    "it exits at once": {"exit_at_once": 1},
    "it is never well": {"unwell": True},
}


@pytest.mark.parametrize("behaviour", FAILING.values(), ids=FAILING)
def test_the_clusters_configuration_is_taken_anew_and_with_the_old_kubelet_given_back(
    joiner: Joiner, behaviour: Behaviour
) -> None:
    done = joiner.wmcb(*joiner.by_file())
    assert done.code == 0, done.err
    check_joined(joiner)
    os.link(joiner.machine.path(DOWNLOADED), joiner.machine.path(r"C:\download\kubeadm.exe"))
    with configured(joiner.cluster, "maxPods: 77"):
        upgraded = joiner.machine.run(r"C:\download\kubeadm.exe", "upgrade", "node")
    assert upgraded.code == 0, upgraded.err
    check_joined(joiner)
    assert joiner.kubelet_configuration()["maxPods"] == 77

    config = joiner.machine.path(r"C:\var\lib\kubelet\config.yaml")
    before = (config.read_bytes(), joiner.machine.path(KUBELET).read_bytes())
    failing: Behaviour = {"version": kubernetes.RELEASE, **behaviour}
    StandinKubelet(joiner.machine, r"C:\given\failing.exe", **failing)
    with configured(joiner.cluster, "maxPods: 78"):
        failed = joiner.wmcb("upgrade", "--kubelet", r"C:\given\failing.exe", "--start-timeout", "5")
    assert failed.code == 1
    assert "the machine is as it was before" in failed.err
    assert (config.read_bytes(), joiner.machine.path(KUBELET).read_bytes()) == before
    check_joined(joiner)
    assert joiner.kubelet_configuration()["maxPods"] == 77


def test_the_unedited_kubelet_takes_what_a_join_gives(joiner: Joiner) -> None:
    done = joiner.wmcb(*joiner.by_file())
    assert done.code == 0, done.err
    (process,) = joiner.machine.processes("kubelet.exe")
    flags = [word for word in process.command[1:] if word != "--windows-service"]
    assert "--node-labels=pool=blue" in flags, "from kubeadm-flags.env"
    joiner.stop()
    ended = joiner.try_released_kubelet(subprocess.list2cmdline(flags))
    assert ended.code == 1
    assert "Failed to start ContainerManager" in ended.err, "Wine's first gap, behind all flags and files"
    assert "strict decoding" not in ended.err
