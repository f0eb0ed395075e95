"""A real Node: the real kubelet as a Windows service, joined by the real kubeadm.exe."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from lab import kubernetes
from lab.cluster.cluster import REQUESTS, Cluster
from lab.cluster.kubelet_node import KubeletNode
from lab.cluster.runtime import ContainerRuntime
from lab.services import State
from lab.waiting import until

Timed = Callable[[str], AbstractContextManager[None]]


def test_kubeadm_makes_a_ready_node_of_a_fresh_machine(bare_node: KubeletNode, timed: Timed) -> None:
    with timed("kubeadm.exe join"):
        joined = bare_node.join()
    assert joined.code == 0, joined.err
    assert "This node has joined the cluster" in joined.out
    with timed("Node Ready after that"):
        bare_node.wait_until_ready()

    node = bare_node.cluster.node("win1")
    assert node is not None
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "windows"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{kubernetes.RELEASE}"
    assert node["status"]["nodeInfo"]["containerRuntimeVersion"] == "containerd://2.1.0"
    assert {"type": "InternalIP", "address": "10.77.0.1"} in node["status"]["addresses"]


def test_the_kubelet_answers_the_api_server(ready_node: KubeletNode) -> None:
    settings = ready_node.kubelet_configuration()
    assert settings["authentication"]["x509"]["clientCAFile"] == r"C:\etc\kubernetes\pki\ca.crt"
    assert settings["containerRuntimeEndpoint"] == ready_node.runtime.endpoint


def test_the_kubelet_as_released_judges_flags_and_configuration(bare_node: KubeletNode) -> None:
    bare_node.machine.delete_service("kubelet")
    bare_node.join(None, "kubelet-start")
    assert "unknown flag: --no-such-flag" in bare_node.try_released_kubelet("--no-such-flag").err

    def asks_for_its_certificate() -> bool:
        judged = bare_node.try_released_kubelet(bare_node.flags)
        assert "Failed to start ContainerManager" in judged.err
        assert "kubelet.sock: socket" in judged.err
        return bool(bare_node.cluster.api.items(REQUESTS))

    def has_its_certificate() -> bool:
        return all("certificate" in each["status"] for each in bare_node.cluster.api.items(REQUESTS))

    # It asks in the background, and on a busy machine its end comes before that.
    until(asks_for_its_certificate, "the kubelet asks for a certificate before its end")
    until(has_its_certificate, "what the kubelet asked for is signed")


# Stop, kill and reboot bring it back


def test_stop_and_start(ready_node: KubeletNode, timed: Timed) -> None:
    ready_node.stop()
    with timed("Ready after the kubelet was started again"):
        ready_node.start()
        ready_node.wait_until_ready()


def test_kill_and_start(ready_node: KubeletNode, timed: Timed) -> None:
    ready_node.kill()
    ready_node.machine.wait_for_service("kubelet", State.STOPPED)
    with timed("Ready after the kubelet was killed"):
        ready_node.start()
        ready_node.wait_until_ready()


def test_reboot(ready_node: KubeletNode, timed: Timed) -> None:
    before = ready_node.cluster.node("win1")
    with timed("Ready after a reboot"):
        ready_node.reboot()
        ready_node.wait_until_ready()
    after = ready_node.cluster.node("win1")
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_the_network_is_gone_for_a_while(ready_node: KubeletNode) -> None:
    with ready_node.cluster.proxy.cut_off():
        ready_node.wait_until_not_ready()
    ready_node.wait_until_ready()


# Pods


def daemon_set(cluster: Cluster, pod: dict[str, Any]) -> None:
    labels = {"app": "agent"}
    tolerations = [{"operator": "Exists"}]
    cluster.api.create(
        f"/apis/apps/v1/namespaces/{cluster.namespace}/daemonsets",
        {
            "metadata": {"name": "agent"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"tolerations": tolerations, **pod}},
            },
        },
    )


def ready_pods(cluster: Cluster) -> int:
    found = cluster.api.get(f"/apis/apps/v1/namespaces/{cluster.namespace}/daemonsets/agent")
    return int(found["status"].get("numberReady", 0))


def pods(cluster: Cluster) -> list[dict[str, Any]]:
    return cluster.api.items(f"/api/v1/namespaces/{cluster.namespace}/pods")


def restarts(cluster: Cluster) -> int:
    return sum(
        status["restartCount"] for pod in pods(cluster) for status in pod["status"]["containerStatuses"]
    )


HOST_PROCESS: dict[str, Any] = {
    "hostNetwork": True,
    "securityContext": {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}},
    "containers": [{"name": "agent", "image": "registry.example/agent:v1", "command": ["agent.exe"]}],
}


def test_a_daemon_set_of_host_process_pods_becomes_ready(
    cluster: Cluster, ready_node: KubeletNode, timed: Timed
) -> None:
    with timed("DaemonSet of a HostProcess pod ready"):
        daemon_set(cluster, HOST_PROCESS)
        until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 60)
    (pod,) = pods(cluster)
    assert pod["status"]["podIP"] == "10.77.0.1"

    (container,) = ready_node.runtime.containers()
    assert container["config"]["command"] == ["agent.exe"]
    assert container["config"]["windows"]["securityContext"]["hostProcess"] is True


def test_a_config_map_and_a_token_are_there_for_the_container(
    cluster: Cluster, ready_node: KubeletNode
) -> None:
    settings = f"/api/v1/namespaces/{cluster.namespace}/configmaps"
    cluster.api.create(settings, {"metadata": {"name": "settings"}, "data": {"mode": "careful"}})
    mounted = {"name": "settings", "mountPath": "/settings"}
    container = {**HOST_PROCESS["containers"][0], "volumeMounts": [mounted]}
    volume = {"name": "settings", "configMap": {"name": "settings"}}
    daemon_set(cluster, {**HOST_PROCESS, "containers": [container], "volumes": [volume]})
    until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 60)

    (made,) = ready_node.runtime.containers()
    places = {mount["containerPath"]: mount["hostPath"] for mount in made["config"]["mounts"]}
    mode = ready_node.machine.path(places["/settings"] + r"\mode")
    until(lambda: mode.read_text() == "careful", "the kubelet has written it")
    secrets = ready_node.machine.path(places["/var/run/secrets/kubernetes.io/serviceaccount"])
    assert sorted(entry.name for entry in secrets.iterdir()) == ["ca.crt", "namespace", "token"]


def test_a_pod_of_its_own_network_has_an_address_of_the_node(
    cluster: Cluster, ready_node: KubeletNode
) -> None:
    runtime = ready_node.runtime
    # A Node may be Ready before the controllers have given it its addresses.
    network = until(lambda: (cluster.node("win1") or {})["spec"].get("podCIDR"), "the Node has a network", 60)
    until(lambda: runtime.network() == network, "the kubelet has told the runtime", 60)
    daemon_set(cluster, {"containers": HOST_PROCESS["containers"]})
    until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 60)
    (pod,) = pods(cluster)
    (sandbox,) = runtime.sandboxes()
    assert pod["status"]["podIP"] == sandbox["ip"]
    assert sandbox["ip"].rpartition(".")[0] == network.rpartition(".")[0]


def test_a_container_that_ends_is_started_again(cluster: Cluster, ready_node: KubeletNode) -> None:
    daemon_set(cluster, HOST_PROCESS)
    until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 60)
    ready_node.runtime.end_container("agent", 3)
    until(lambda: restarts(cluster) == 1 and ready_pods(cluster) == 1, "the container runs again", 60)
    (pod,) = pods(cluster)
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 3


def test_pods_run_again_after_a_reboot(cluster: Cluster, ready_node: KubeletNode) -> None:
    daemon_set(cluster, HOST_PROCESS)
    until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 60)
    ready_node.reboot()
    until(lambda: restarts(cluster) == 1 and ready_pods(cluster) == 1, "the pod runs again", 60)


def test_a_deleted_pod_is_gone_from_the_runtime(cluster: Cluster, ready_node: KubeletNode) -> None:
    daemon_set(cluster, HOST_PROCESS)
    until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 60)
    cluster.api.delete(f"/apis/apps/v1/namespaces/{cluster.namespace}/daemonsets/agent")
    until(lambda: not pods(cluster), "the pod is gone from the cluster", 60)
    until(lambda: not ready_node.runtime.containers(), "its container is gone", 90)


# A runtime that fails


def test_a_runtime_that_is_down_makes_the_node_not_ready(ready_node: KubeletNode, timed: Timed) -> None:
    with ready_node.runtime.down(), timed("NotReady after the runtime went down"):
        ready_node.wait_until_not_ready()
    with timed("Ready after the runtime came back"):
        ready_node.wait_until_ready()


def test_what_runs_outlives_the_runtime(cluster: Cluster, ready_node: KubeletNode) -> None:
    daemon_set(cluster, HOST_PROCESS)
    until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 60)
    ready_node.runtime.restart()
    seen = "ListContainers"
    until(lambda: ready_node.runtime.calls().get(seen, 0) > 2, "the kubelet has looked again", 60)
    assert ready_pods(cluster) == 1
    assert restarts(cluster) == 0


def test_errors_of_the_runtime_reach_the_pod(cluster: Cluster, ready_node: KubeletNode) -> None:
    def reasons() -> set[str]:
        statuses = [s for pod in pods(cluster) for s in pod["status"].get("containerStatuses", [])]
        return {status["state"].get("waiting", {}).get("reason") for status in statuses}

    with ready_node.runtime.failing("INTERNAL", "CreateContainer"):
        daemon_set(cluster, HOST_PROCESS)
        until(lambda: "CreateContainerError" in reasons(), "the pod waits for the runtime", 60, reasons)
    until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 90)


def test_a_slow_runtime_is_waited_for(cluster: Cluster, ready_node: KubeletNode) -> None:
    with ready_node.runtime.slow(1.5, "PullImage"):
        daemon_set(cluster, HOST_PROCESS)
        until(lambda: ready_pods(cluster) == 1, "the DaemonSet is ready", 60)

    def pulled() -> list[str]:
        events = cluster.api.items(f"/api/v1/namespaces/{cluster.namespace}/events")
        return [event["message"] for event in events if event["reason"] == "Pulled"]

    (told,) = until(pulled, "the kubelet has told of the pull")
    taken = re.search(r" in ([\d.]+)s ", told)
    assert taken is not None, told
    assert float(taken[1]) >= 1.5


# What it asks of the API server


def test_the_real_programs_are_counted(ready_node: KubeletNode) -> None:
    cluster: Cluster = ready_node.cluster
    joined = {request.user for request in cluster.requests(program="kubeadm.exe")}
    assert any(user.startswith("system:bootstrap:") for user in joined)
    registered = [r for r in cluster.requests("kubelet.exe", "system:node:win1") if r.resource == "nodes"]
    assert [r.code for r in registered if r.verb == "create"] == [201]
    assert cluster.traffic()["kubelet.exe"].received > 10_000
    assert cluster.traffic()["kubeadm.exe"].received > 10_000


def test_the_runtime_is_asked(ready_node: KubeletNode) -> None:
    runtime: ContainerRuntime = ready_node.runtime
    assert runtime.calls()["Version"] >= 1
    assert runtime.calls()["Status"] >= 1
