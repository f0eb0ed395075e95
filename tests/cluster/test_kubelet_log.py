"""The real kubelet as a service behind wmcb-log.exe: it becomes a Ready Node, and its log can be read."""

from __future__ import annotations

from pathlib import PureWindowsPath

from agent import log_runner
from cluster.test_ignition import Worker
from lab import kubernetes, repository
from lab.cluster.cluster import Cluster
from lab.cluster.kubelet_node import KubeletNode
from lab.cluster.runtime import ContainerRuntime
from lab.node import Node
from lab.waiting import until

BUILT = repository.ROOT / "build" / log_runner.NAME
LOG = PureWindowsPath(r"C:\var\log\kubelet\kubelet.log")


def test_the_real_kubelets_log(bare_node: KubeletNode) -> None:
    machine = bare_node.machine
    machine.copy_in(BUILT, r"C:\k\wmcb-log.exe")
    machine.path(str(LOG.parent)).mkdir(parents=True)
    machine.delete_service("kubelet")
    words = [r"C:\k\wmcb-log.exe", *log_runner.arguments(LOG), r"C:\k\kubelet.exe"]
    machine.create_service(
        "kubelet", " ".join([*words, "--windows-service", bare_node.flags]), automatic=True
    )
    joined = bare_node.join()
    assert joined.code == 0, joined.err
    bare_node.wait_until_ready()

    written = machine.path(str(LOG)).read_text()
    assert "Running kubelet as a Windows service!" in written
    assert "wmcb-log:0] C:\\k\\kubelet.exe started as process" in written
    assert not machine.processes("conhost.exe")

    bare_node.stop()
    until(lambda: not machine.processes(log_runner.NAME), "the runner has ended")
    assert "ended with exit code 0" in machine.path(str(LOG)).read_text().splitlines()[-1]
    bare_node.start()
    bare_node.wait_until_ready()


def test_by_kubernetes_own_runner_where_it_lies_beside(
    cluster: Cluster, container_runtime: ContainerRuntime, node: Node
) -> None:
    worker = Worker(cluster, container_runtime, node)
    worker.install()
    node.copy_in(kubernetes.log_runner(), r"C:\given\kube-log-runner.exe")
    done = worker.wmcb()
    assert done.code == 0, done.err
    worker.wait_until_ready()
    (runner,) = node.processes("kube-log-runner.exe")
    assert f"--log-file={LOG}" in runner.command
    assert not node.processes(log_runner.NAME)
    assert "Running kubelet as a Windows service!" in node.path(str(LOG)).read_text()
    worker.reboot()
    worker.wait_until_ready()
    assert worker.wmcb().out.startswith("nothing to do")
