"""`wmcb reset` and what is elsewhere: the Node in the cluster, pods that go on, their network."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PureWindowsPath

import pytest

from agent.engine import run as engine
from agent.engine.journal import Journal, Step
from agent.host.errors import AccessDenied
from agent.host.networks import ContainerNetwork, NetworkEndpoint
from agent.host.sandbox import held
from sandbox.cli.given import Answer, Machine
from sandbox.cli.test_join import Cluster, cluster, windows
from sandbox.cli.test_under_kubeadm import kubeadm
from sandbox.cli.test_upgrade import ARGUMENTS, KUBELET_CONF, OWN, joined
from unit.fetch.authority import Issued, issue
from unit.kube.api_server import ROOT, TOKEN, kubeconfig_of, ok, status

__all__ = ["cluster", "joined", "windows"]

POD_LOGS = r"C:\var\log\pods"
NODE = "/api/v1/nodes/other"
TASKS = r"C:\ProgramData\containerd\state\io.containerd.runtime.v2.task"
SHIM = r"C:\Program Files\containerd\containerd-shim-runhcs-v1.exe"
GOES_ON = "1 pod of containerd's goes on, with its logs open; --end-pods ends such"
LEASE = r"C:\var\lib\cni\networks\pods\10.244.1.7"


def deletions(cluster: Cluster) -> list[str]:
    return [target for target in cluster.server.targets if target.startswith("DELETE ")]


def somebody(machine: Machine, cluster: Cluster, authority: Issued = ROOT) -> str:
    data = kubeconfig_of(cluster.server.url, authority).partition("authority-data: ")[2].partition("\n")[0]
    return machine.give("admin.conf", OWN.format(server=cluster.server.url, authority=data, token=TOKEN))


def refused(machine: Machine, *more: str) -> Answer:
    before = machine.picture()
    answer = machine.wmcb("reset", *more)
    after = machine.picture()
    assert _but_logs_and_leases(after) == _but_logs_and_leases(before)
    return answer


def _but_logs_and_leases(picture: Mapping[str, object]) -> dict[str, object]:
    return {path: what for path, what in picture.items() if not {"logs", "cni"} & {*path.lower().split("\\")}}


# The Node


@pytest.mark.parametrize("whose", ["the node", "somebody"])
def test_the_node_is_deleted(joined: Machine, cluster: Cluster, whose: str) -> None:
    cluster.server.at(NODE, ok({}))
    given = ("--kubeconfig", somebody(joined, cluster)) if whose == "somebody" else ()
    answer = joined.wmcb("reset", "--delete-node", *given)
    assert answer.code == 0, answer.err
    assert deletions(cluster) == [f"DELETE {NODE}?dryRun=All", f"DELETE {NODE}"]
    assert "the Node other is deleted" in answer.error_lines
    assert "stays in the cluster" not in answer.out


def test_it_is_deleted_when_its_kubelet_is_stopped(
    joined: Machine, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.server.at(NODE, ok({}))
    seen = []
    delete = "agent.kube.client.Client.delete"
    monkeypatch.setattr(
        delete, lambda *_, **how: seen.append((how, joined.host.services.status("kubelet").state.name))
    )
    joined.wmcb("reset", "--delete-node")
    assert seen == [({"only_try": True}, "RUNNING"), ({"only_try": False}, "STOPPED")]


def test_it_is_left_unless_asked(joined: Machine, cluster: Cluster) -> None:
    answer = joined.wmcb("reset")
    assert "  the Node other stays in the cluster: kubectl delete node other" in answer.out.splitlines()
    assert deletions(cluster) == []
    again = joined.wmcb("reset")
    assert again.out.startswith("nothing to do")


def test_it_is_gone_already(joined: Machine, cluster: Cluster) -> None:
    assert joined.wmcb("reset", "--delete-node").code == 0
    assert deletions(cluster) == [f"DELETE {NODE}?dryRun=All", f"DELETE {NODE}"]


def test_a_kubelet_may_not(joined: Machine, cluster: Cluster) -> None:
    cluster.server.at(NODE, status(403, "Forbidden", "nodes is forbidden"))
    answer = refused(joined, "--delete-node")
    assert answer.code == 1
    assert "most clusters do not let a kubelet do that; give --kubeconfig of" in answer.error_lines[-1]
    assert "run kubectl delete node other elsewhere" in answer.error_lines[-1]


def test_one_that_is_refused_only_then_takes_the_reset_back(joined: Machine, cluster: Cluster) -> None:
    cluster.server.at(NODE, ok({}), status(403, "Forbidden", "nodes is forbidden"))
    answer = refused(joined, "--delete-node")
    assert answer.code == 1
    assert "the machine is as it was before" in answer.error_lines[-1]
    assert joined.host.services.status("kubelet").state.name == "RUNNING"


def test_of_another_cluster(joined: Machine, cluster: Cluster) -> None:
    other = somebody(joined, cluster, issue("other", authority=True))
    answer = refused(joined, "--delete-node", "--kubeconfig", other)
    assert answer.code == 2
    assert answer.error_lines[-1] == (
        f"wmcb: --kubeconfig {other}: it is of another cluster than the one that this machine is a node of"
    )


BAD: dict[str, tuple[Callable[[Machine], tuple[str, ...]], str]] = {
    "for nothing": (lambda _: ("--kubeconfig", "x"), "wmcb: --kubeconfig goes with --delete-node"),
    "not there": (
        lambda _: ("--delete-node", "--kubeconfig", "/nowhere/x"),
        "wmcb: --kubeconfig /nowhere/x: there is no such file",
    ),
    "none": (
        lambda machine: ("--delete-node", "--kubeconfig", machine.give("x", "kind: Config")),
        "wmcb: --kubeconfig ",
    ),
}


@pytest.mark.parametrize(("words", "says"), BAD.values(), ids=BAD)
def test_a_kubeconfig_that_cannot_be_meant(
    joined: Machine, words: Callable[[Machine], tuple[str, ...]], says: str
) -> None:
    answer = refused(joined, *words(joined))
    assert answer.code == 2
    assert answer.error_lines[-1].startswith(says)


def test_of_a_machine_without_credentials(joined: Machine) -> None:
    joined.host.files.remove(PureWindowsPath(KUBELET_CONF))
    answer = refused(joined, "--delete-node")
    assert answer.code == 1
    assert "this machine has no credentials of its own; give --kubeconfig" in answer.error_lines[-1]


def test_which_node_it_was_is_not_known(machine: Machine) -> None:
    answer = machine.wmcb("reset", "--delete-node")
    assert answer.code == 0
    assert "none is deleted" in answer.err


def test_with_nothing_made_a_kubeconfig_is_looked_at_all_the_same(machine: Machine) -> None:
    answer = machine.wmcb("reset", "--delete-node", "--kubeconfig", "/nowhere/x")
    assert (answer.code, answer.out) == (2, "")
    assert answer.error_lines == ["wmcb: --kubeconfig /nowhere/x: there is no such file"]


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["", "dry run"])
def test_a_node_of_an_ignition_does_not_say_which_it_is(machine: Machine, more: tuple[str, ...]) -> None:
    assert machine.wmcb(*machine.node).code == 0
    answer = refused(machine, "--delete-node", *more)
    assert (answer.code, answer.out) == (3, "")
    assert answer.error_lines == [
        "wmcb: which Node is to be deleted is not known: this machine has not joined a cluster of kubeadm's; "
        "leave --delete-node out, and run kubectl delete node elsewhere"
    ]


@pytest.mark.parametrize(
    "arguments",
    ["--hostname-override=../namespaces/x", "--hostname-override=..", '--v=2 "--v=4', None],
    ids=str,
)
@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["", "dry run"])
def test_arguments_that_do_not_say_which_node_it_is(
    joined: Machine, cluster: Cluster, arguments: str | None, more: tuple[str, ...]
) -> None:
    text = f'KUBELET_KUBEADM_ARGS="{arguments}"\n' if arguments else "damaged"
    joined.put(ARGUMENTS, text.encode())
    answer = refused(joined, "--delete-node", *more)
    assert answer.code == 1
    assert answer.error_lines[-1].startswith("wmcb: which Node is to be deleted is not known: ")
    assert deletions(cluster) == []
    assert joined.wmcb("reset").code == 0, "nothing else needs the name"


class PowerCut(BaseException):
    pass


@pytest.mark.parametrize("gone", [ARGUMENTS, KUBELET_CONF], ids=["its arguments", "its credentials"])
def test_killed_after_its_node_was_deleted(
    joined: Machine, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    cluster.server.at(NODE, ok({}))
    add = Journal.add

    def dies(*_: object, **__: object) -> None:
        raise PowerCut

    def added(journal: Journal, made: Step) -> None:
        if joined.host.files.observe(PureWindowsPath(gone)) is None:
            raise PowerCut
        add(journal, made)

    with monkeypatch.context() as dying, pytest.raises(PowerCut):
        dying.setattr(Journal, "add", added)
        dying.setattr(engine, "undo", dies)
        joined.wmcb("reset", "--delete-node")
    answer = joined.wmcb("reset", "--delete-node")
    assert answer.code == 0, answer.err
    assert "none is deleted" not in answer.err
    unsure = "unless the run that was cut off deleted it: kubectl delete node other"
    left = f"  the Node other stays in the cluster, {unsure}"
    assert (left in answer.out.splitlines()) is (gone == KUBELET_CONF)
    assert ("the Node other is deleted" in answer.err) is (gone == ARGUMENTS)


@pytest.mark.parametrize(
    "option", ["--delete-node", "--kubeconfig", "--end-pods", "--all-hns", "--keep-prepared"]
)
def test_what_is_forgotten_is_not_left(joined: Machine, option: str) -> None:
    value = ("x",) if option == "--kubeconfig" else ()
    answer = refused(joined, "--forget", option, *value)
    assert (answer.code, answer.error_lines) == (2, [f"wmcb: --forget does not go with {option}"])


# Pods


@pytest.fixture
def shim(joined: Machine) -> Iterator[subprocess.Popen[bytes]]:
    """A program of the shim's name, and of our pod."""
    joined.put(SHIM, Path(shutil.which("sleep") or "").read_bytes())
    (program,) = joined.place.rglob("containerd-shim-runhcs-v1.exe")
    program.chmod(0o755)
    with subprocess.Popen([program, "60"]) as running:
        joined.put(rf"{TASKS}\k8s.io\pod\shim.pid", str(running.pid).encode())
        joined.put(LEASE, b"container")
        joined.put(r"C:\etc\cni\net.d\10-pods.conf", b"{}")
        yield running
        running.kill()


@pytest.mark.parametrize("how", ["asked", "kubeadm"])
def test_pods_are_ended(joined: Machine, shim: subprocess.Popen[bytes], how: str) -> None:
    answer = kubeadm(joined, "reset", "-f") if how == "kubeadm" else joined.wmcb("reset", "--end-pods")
    assert answer.code == 0, answer.err
    assert shim.wait(10) != 0
    assert joined.host.files.observe(PureWindowsPath(r"C:\var\lib\cni")) is None
    assert r"  C:\etc\cni\net.d and the networks made of it stay" in answer.out


def test_pods_go_on_unless_asked(joined: Machine, shim: subprocess.Popen[bytes]) -> None:
    out = joined.wmcb("reset").out
    assert f"  {GOES_ON}" in out.splitlines()
    assert r"  C:\var\lib\cni stays: the addresses that pods have" in out.splitlines()
    assert shim.poll() is None


def test_each_reset_that_a_pod_hinders_says_how_to_end_it(
    joined: Machine, shim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.resources.directory._PATIENCE_SECONDS", 0)
    joined.put(rf"{POD_LOGS}\one\0.log", b"")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(held, "is_held", lambda place: place.path.name == "0.log")
        for _ in range(2):
            answer = joined.wmcb("reset")
            assert answer.code == 1
            assert (
                f"  directory {POD_LOGS} stays, and the next reset takes it back: cannot move" in answer.out
            )
            assert "another program has it open (Windows error 5)" in answer.out
            assert f"  {GOES_ON}" in answer.out.splitlines()
    assert joined.wmcb("reset", "--end-pods").code == 0
    assert shim.wait(10) != 0
    assert joined.host.files.observe(PureWindowsPath(POD_LOGS)) is None


def test_what_is_of_no_pod_goes_on(joined: Machine, shim: subprocess.Popen[bytes]) -> None:
    """Of another program that uses containerd; or ended, and its number is another's now."""
    joined.put(rf"{TASKS}\moby\task\shim.pid", str(shim.pid).encode())
    joined.put(rf"{TASKS}\k8s.io\pod\shim.pid", b"1")
    joined.put(rf"{TASKS}\k8s.io\broken\shim.pid", b"none")
    assert joined.wmcb("reset", "--end-pods").code == 0
    assert shim.poll() is None


def test_what_would_go(joined: Machine, cluster: Cluster, shim: subprocess.Popen[bytes]) -> None:
    answer = joined.wmcb("reset", "--dry-run", "--delete-node", "--end-pods")
    foreseen = ["would delete the Node other", r"would end 1 pod of containerd's, and remove C:\var\lib\cni"]
    assert [line.strip() for line in answer.out.splitlines() if "would" in line] == foreseen
    told = joined.wmcb("reset", "--dry-run", "--delete-node", "--end-pods", "--output", "json")
    assert json.loads(told.out)["remarks"][-2:] == foreseen
    assert shim.poll() is None
    assert deletions(cluster) == []


def test_what_is_refused_comes_before_pods_are_ended(
    joined: Machine, cluster: Cluster, shim: subprocess.Popen[bytes]
) -> None:
    cluster.server.at(NODE, ok({}), status(403, "Forbidden", "nodes is forbidden"))
    answer = refused(joined, "--end-pods", "--delete-node")
    assert answer.error_lines[-1].endswith("; the machine is as it was before")
    assert shim.poll() is None


def test_a_reset_that_is_taken_back_says_what_is_gone(
    joined: Machine, cluster: Cluster, shim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr("agent.engine.run.Making.make_sure", fails)
    cluster.server.at(NODE, ok({}))
    answer = refused(joined, "--end-pods", "--delete-node")
    assert answer.error_lines[-1].endswith(
        "; the machine is as it was before; but the Node other was deleted, and its kubelet registers it "
        "anew; but 1 pod of containerd's had to end; the kubelet starts its own; but C:\\var\\lib\\cni was "
        "removed: the addresses that pods had"
    )
    assert shim.wait(10) != 0
    assert joined.host.files.observe(PureWindowsPath(LEASE)) is None


def test_nothing_is_foreseen_where_nothing_is_done(windows: Machine) -> None:
    windows.put(LEASE, b"container")
    assert "would" not in windows.wmcb("reset", "--dry-run", "--end-pods").out
    assert windows.wmcb("reset", "--end-pods").out.startswith("nothing to do")
    assert windows.host.files.observe(PureWindowsPath(LEASE)) is not None


def test_a_pod_that_cannot_be_ended_takes_the_reset_back(
    joined: Machine, shim: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(_: object, pid: int) -> None:
        raise AccessDenied("end", f"process {pid}", 5)

    monkeypatch.setattr("agent.host.sandbox.processes.SandboxProcesses.end", end)
    answer = refused(joined, "--end-pods")
    assert answer.code == 1
    assert f"process {shim.pid}" in answer.error_lines[-1]


def test_mounts_are_removed_and_not_followed(joined: Machine) -> None:
    joined.put(r"C:\elsewhere\data", b"precious")
    joined.put(r"C:\var\lib\kubelet\pods\uid\volumes\one", b"")
    (pods,) = joined.place.rglob("volumes")
    (elsewhere,) = joined.place.rglob("elsewhere")
    (pods / "mount").symlink_to(elsewhere, target_is_directory=True)
    assert joined.wmcb("reset").code == 0
    assert joined.host.files.observe(PureWindowsPath(r"C:\var\lib\kubelet")) is None
    assert joined.read(r"C:\elsewhere\data") == b"precious"


# Networks


@pytest.fixture
def theirs(joined: Machine) -> ContainerNetwork:
    """With an endpoint in it."""
    network = ContainerNetwork(str(uuid.uuid4()), "flannel.4096", "Overlay")
    joined.host.networks.create(network)
    joined.host.networks.create_endpoint(
        NetworkEndpoint(str(uuid.uuid4()), "pod", network.id, "10.1.0.2", 24)
    )
    return network


def test_networks_of_others_stay_and_are_told(joined: Machine, theirs: ContainerNetwork) -> None:
    out = joined.wmcb("reset").out
    assert "  in HNS stays what others made: flannel.4096; --all-hns deletes it" in out.splitlines()
    assert joined.host.networks.list() == [theirs]


def test_they_go_also_when_that_is_asked_by_the_next_reset(joined: Machine, theirs: ContainerNetwork) -> None:
    """Which the first one has told of."""
    assert joined.wmcb("reset").code == 0
    foreseen = joined.wmcb("reset", "--all-hns", "--dry-run").out
    assert f"would delete all that is in HNS: {theirs.name}" in foreseen
    answer = joined.wmcb("reset", "--all-hns")
    assert answer.out == (
        f"wmcb has put nothing on this machine\n  what was in HNS is deleted: {theirs.name}\n"
    )
    assert joined.host.networks.list() == []
    assert joined.wmcb("reset", "--all-hns").out == "nothing to do: wmcb has put nothing on this machine\n"


def test_networks_of_others_go_where_that_is_asked(joined: Machine, theirs: ContainerNetwork) -> None:
    foreseen = joined.wmcb("reset", "--all-hns", "--dry-run").out
    assert f"would delete all that is in HNS: {theirs.name}" in foreseen
    assert joined.host.networks.list() == [theirs]
    answer = joined.wmcb("reset", "--all-hns")
    assert f"  what was in HNS is deleted: {theirs.name}" in answer.out.splitlines()
    assert (joined.host.networks.list(), joined.host.networks.endpoints()) == ([], [])
