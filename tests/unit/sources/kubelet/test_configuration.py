from __future__ import annotations

import fnmatch
import json
from typing import Any

import pytest

from agent.sources.kubelet.configuration import Configuration, for_windows, merge, read_all
from agent.sources.kubelet.decisions import Outcome
from agent.sources.kubelet.node import Kubelet, Node

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
NODE = Node()


def made(
    *texts: str, node: Node = NODE, minor: int = 36, flags: dict[str, Any] | None = None, ca: bool = True
) -> Configuration:
    files = [(f"{number}.conf", (HEAD + text).encode()) for number, text in enumerate(texts)]
    documents, report = read_all(files)
    assert not report.fatal, report
    return for_windows(documents, flags or {}, node, Kubelet(minor), carries_client_ca=ca)


def faults(text: str) -> list[str]:
    return [str(entry) for entry in read_all([("k.conf", text.encode())])[1].entries]


ALWAYS: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "cgroupsPerQOS": False,
    "containerRuntimeEndpoint": "npipe:////./pipe/containerd-containerd",
    "enforceNodeAllocatable": [],
    "kind": "KubeletConfiguration",
    "registerWithTaints": [{"key": "os", "value": "Windows", "effect": "NoSchedule"}],
    "resolvConf": "",
    "systemReserved": {"cpu": "500m", "ephemeral-storage": "1Gi", "memory": "2Gi"},
}


def beyond_always(configuration: Configuration) -> dict[str, Any]:
    return {key: value for key, value in configuration.value.items() if ALWAYS.get(key) != value}


def test_what_every_windows_node_gets() -> None:
    assert dict(made("").value) == ALWAYS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("maxPods: 5", {"maxPods": 5}, id="kept"),
        pytest.param("cgroupDriver: systemd\ncgroupRoot: /\npodPidsLimit: 1", {}, id="dropped"),
        pytest.param("memorySwap: {swapBehavior: NoSwap}", {}, id="dropped-mapping"),
        pytest.param(
            "singleProcessOOMKill: true\nuserNamespaces: {idsPerPod: 65536}", {}, id="refused-there"
        ),
        pytest.param("staticPodPath: /a/b/", {"staticPodPath": "C:\\a\\b"}, id="path"),
        pytest.param(
            "staticPodPath: pods", {"staticPodPath": "C:\\etc\\kubernetes\\pods"}, id="relative-path"
        ),
        pytest.param("staticPodPath: D:\\pods", {"staticPodPath": "D:\\pods"}, id="path-of-windows"),
        pytest.param('staticPodPath: ""', {"staticPodPath": ""}, id="no-path"),
        pytest.param(
            "authentication: {x509: {clientCAFile: /ca.crt}, anonymous: {enabled: false}}",
            {"authentication": {"x509": {"clientCAFile": "C:\\ca.crt"}, "anonymous": {"enabled": False}}},
            id="path-inside",
        ),
        pytest.param("resolvConf: /run/resolv.conf", {}, id="name-servers"),
        pytest.param("enforceNodeAllocatable: [pods]\ncgroupsPerQOS: true", {}, id="no-control-groups"),
        pytest.param("containerRuntimeEndpoint: unix:///run/crio.sock", {}, id="endpoint"),
        pytest.param("imageServiceEndpoint: unix:///run/crio.sock", {}, id="image-endpoint"),
        pytest.param("maxPods: null", {}, id="null-is-nothing"),
        pytest.param(
            "logging: {format: json, options: {x: 1}}",
            {"logging": {"format": "json", "options": {"x": 1}}},
            id="not-looked-into",
        ),
        pytest.param(
            "evictionHard: {memory.available: 1Gi, nodefs.inodesFree: 5%, pid.available: 10%}",
            {"evictionHard": {"memory.available": "1Gi"}},
            id="signals",
        ),
        pytest.param("evictionHard: {imagefs.inodesFree: 5%}", {}, id="no-signal-left"),
        pytest.param("evictionHard: {}", {"evictionHard": {}}, id="no-evictions-at-all"),
        pytest.param("cpuManagerPolicy: static\nreservedSystemCPUs: 0-1", {}, id="no-affinity"),
        pytest.param(
            "cpuManagerPolicy: static\nfeatureGates: {WindowsCPUAndMemoryAffinity: true}",
            {"cpuManagerPolicy": "static", "featureGates": {"WindowsCPUAndMemoryAffinity": True}},
            id="affinity",
        ),
        pytest.param(
            "systemReserved: {memory: 3Gi}",
            {"systemReserved": {"memory": "3Gi", "cpu": "500m", "ephemeral-storage": "1Gi"}},
            id="more-reserved",
        ),
        pytest.param(
            "systemReserved: {memory: 500Mi, cpu: '2', pid: '10'}",
            {"systemReserved": {"memory": "2Gi", "cpu": "2", "ephemeral-storage": "1Gi"}},
            id="too-little-reserved",
        ),
        pytest.param(
            "registerWithTaints: [{key: a, effect: NoSchedule}]",
            {"registerWithTaints": [{"key": "a", "effect": "NoSchedule"}, ALWAYS["registerWithTaints"][0]]},
            id="own-taint",
        ),
        pytest.param(
            "registerWithTaints: [{key: os, value: Windows, effect: NoSchedule}]", {}, id="same-taint"
        ),
        pytest.param("registerWithTaints: [{key: os, value: w, effect: NoSchedule}]", {}, id="other-value"),
        pytest.param(
            "featureGates: {BuildCSIVolumes: true, GracefulNodeShutdown: true}",
            {"featureGates": {"GracefulNodeShutdown": True}},
            id="gates",
        ),
        pytest.param(
            "enableSystemLogQuery: true",
            {"enableSystemLogQuery": True, "featureGates": {"NodeLogQuery": True}},
            id="log-query",
        ),
        pytest.param("enableSystemLogQuery: false", {"enableSystemLogQuery": False}, id="no-log-query"),
        pytest.param("somethingNew: {a: 1}", {"somethingNew": {"a": 1}}, id="unknown"),
    ],
)
def test_fields(text: str, value: dict[str, Any]) -> None:
    assert beyond_always(made(text)) == value


@pytest.mark.parametrize(
    ("text", "minor", "value"),
    [
        ("featureGates: {NodeSwap: false}", 33, {"featureGates": {"NodeSwap": False}}),
        ("featureGates: {NodeSwap: false}", 34, {}),
        ("featureGates: {NodeSwap: true}", 34, {"featureGates": {"NodeSwap": True}}),
        ("featureGates: {CSIMigration: true}", 27, {}),
        ("featureGates: {NodeLogQuery: true}", 26, {}),
        ("featureGates: {AllAlpha: true}", 36, {"featureGates": {"AllAlpha": True}}),
        ("enableSystemLogQuery: true", 26, {}),
    ],
)
def test_by_release(text: str, minor: int, value: dict[str, Any]) -> None:
    found = beyond_always(made(text, minor=minor))
    assert found == value


def test_what_an_old_kubelet_cannot_read_from_its_configuration() -> None:
    configuration = made("registerWithTaints: [{key: a, value: b, effect: NoExecute}]", minor=22)
    assert "registerWithTaints" not in configuration.value
    assert "containerRuntimeEndpoint" not in configuration.value
    assert configuration.flags == (
        "--register-with-taints=a=b:NoExecute,os=Windows:NoSchedule",
        "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd",
    )
    assert made("", minor=27).flags == ()


def test_what_the_node_asks_for() -> None:
    node = Node(
        cluster_dns=("10.0.0.9",),
        runtime_endpoint="tcp://127.0.0.1:1",
        reserved={"cpu": "1", "memory": "4Gi"},
    )
    value = made("clusterDNS: [10.0.0.1]\nsystemReserved: {memory: 3Gi}", node=node).value
    assert value["clusterDNS"] == ["10.0.0.9"]
    assert value["containerRuntimeEndpoint"] == "tcp://127.0.0.1:1"
    assert value["systemReserved"] == {"cpu": "1", "memory": "4Gi"}


def test_flags_win_over_the_file() -> None:
    flags = {
        "clusterDNS": ["10.0.0.2"],
        "featureGates": {"NodeSwap": False},
        "systemReserved": {"memory": "9Gi"},
    }
    gates = "featureGates: {NodeSwap: true, GracefulNodeShutdown: true}"
    text = f"clusterDNS: [10.0.0.1]\n{gates}\nsystemReserved: {{cpu: '4'}}"
    value = made(text, flags=flags, minor=33).value
    assert value["clusterDNS"] == ["10.0.0.2"]
    assert value["featureGates"] == {"NodeSwap": False, "GracefulNodeShutdown": True}
    assert value["systemReserved"] == {"memory": "9Gi", "cpu": "500m", "ephemeral-storage": "1Gi"}


def test_drop_ins_are_merged_in_their_order() -> None:
    value = made(
        "maxPods: 1\nport: 1\nauthentication: {anonymous: {enabled: true}, webhook: {enabled: true}}",
        "maxPods: 2\nport: null",
        "authentication: {anonymous: {enabled: false}}",
    ).value
    assert value["maxPods"] == 2
    assert "port" not in value
    assert value["authentication"] == {"anonymous": {"enabled": False}, "webhook": {"enabled": True}}


def test_merge_leaves_its_arguments_alone() -> None:
    base: dict[str, Any] = {"a": {"b": 1}, "c": 2}
    patch: dict[str, Any] = {"a": {"b": None, "d": 3}, "c": {"e": None}}
    assert merge(base, patch) == {"a": {"d": 3}, "c": {}}
    assert base == {"a": {"b": 1}, "c": 2}


def test_where_nothing_is_carried() -> None:
    configuration = made(node=Node(cluster_dns=("172.30.0.10",)))
    value = configuration.value
    assert value["authentication"] == {
        "anonymous": {"enabled": False},
        "x509": {"clientCAFile": "C:\\etc\\kubernetes\\kubelet-ca.crt"},
    }
    assert value["clusterDNS"] == ["172.30.0.10"]
    assert value["rotateCertificates"] is True
    assert value["serverTLSBootstrap"] is True
    assert configuration.decisions[0].outcome is Outcome.ADDED
    assert "x509" not in json.dumps(dict(made(ca=False).value))


def test_the_file_is_json_in_a_fixed_order() -> None:
    contents = made("maxPods: 5\nclusterDomain: x\u00e4").contents
    assert json.loads(contents) == dict(made("clusterDomain: x\u00e4\nmaxPods: 5").value)
    assert contents == made("clusterDomain: x\u00e4\nmaxPods: 5").contents
    assert contents.endswith(b"}\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            "maxPods: many", "line 3, column 10 at $.maxPods: a whole number was expected", id="number"
        ),
        pytest.param("maxPods: 1.5", "at $.maxPods: a whole number was expected", id="fraction"),
        pytest.param("maxPods: true", "at $.maxPods: a whole number was expected", id="bool-for-a-number"),
        pytest.param("clusterDomain: 5", "at $.clusterDomain: text was expected", id="number-for-text"),
        pytest.param(
            "rotateCertificates: 'yes'", "at $.rotateCertificates: true or false", id="text-for-bool"
        ),
        pytest.param(
            "syncFrequency: 10", "at $.syncFrequency: a duration such as 10s", id="number-for-duration"
        ),
        pytest.param("syncFrequency: soon", "at $.syncFrequency: a duration such as 10s", id="no-duration"),
        pytest.param("clusterDNS: 10.0.0.1", "at $.clusterDNS: a list of texts was expected", id="no-list"),
        pytest.param("clusterDNS: [{}]", "at $.clusterDNS: a list of texts was expected", id="wrong-in-list"),
        pytest.param(
            "systemReserved: {cpu: 1}", "at $.systemReserved: a mapping of texts", id="wrong-in-map"
        ),
        pytest.param("featureGates: {A: 1}", "at $.featureGates: a mapping of true and false", id="gate"),
        pytest.param("authentication: yes", "at $.authentication: a mapping was expected", id="no-mapping"),
        pytest.param(
            "authentication:\n  x509:\n    clientCAFile: []",
            "line 5, column 19 at $.authentication.x509.clientCAFile: text was expected",
            id="inside",
        ),
    ],
)
def test_wrong_shapes(text: str, line: str) -> None:
    (fault,) = faults(HEAD + text)
    assert fault.startswith("error: k.conf ")
    assert line in fault


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("kind: Pod\napiVersion: v1", ['$.kind: it is "Pod"', '$.apiVersion: it is "v1"']),
        ("maxPods: 1", ["$.kind: it is not given", "$.apiVersion: it is not given"]),
    ],
)
def test_another_kind(text: str, lines: list[str]) -> None:
    found = faults(text)
    assert len(found) == len(lines)
    for fault, line in zip(found, lines, strict=True):
        assert line in fault


def test_an_unknown_field_is_a_warning() -> None:
    (fault,) = faults(HEAD + "authentication: {oidc: {a: 1}}")
    assert fault.startswith("warning: k.conf line 3")
    assert "authentication.oidc" in fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("staticPodPath: /a/../b", "leads back out"),
        ("volumePluginDir: /dev/nul", "device"),
        ("systemReserved: {memory: lots}", "no amount"),
    ],
)
def test_values_that_cannot_be_meant(text: str, fault: str) -> None:
    (entry,) = made(text).report.errors
    assert fault in str(entry)


BEST_EFFORT = "featureGates: {WindowsCPUAndMemoryAffinity: true}\nmemoryManagerPolicy: BestEffort\n"
PARTS = "as much memory as systemReserved, kubeReserved and evictionHard keep from pods together"


def reserved(*amounts: str) -> str:
    return "reservedMemory: [" + ", ".join(f"{{numaNode: 0, limits: {{memory: {a}}}}}" for a in amounts) + "]"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("", f"error: *it is not given; *{PARTS}, 2548Mi", id="none"),
        pytest.param(
            "evictionHard: {memory.available: 5%}", f"error: *not given; *{PARTS}", id="none, percent"
        ),
        pytest.param(reserved("2Gi", "500Mi"), "", id="as much"),
        pytest.param(
            f"{reserved('1524Mi')}\nsystemReserved: {{memory: 1Gi}}",
            f"warning: *it is 1524Mi; *{PARTS}, 2548Mi",
            id="as much before more had to be reserved for Windows",
        ),
        pytest.param(
            f"{reserved('4Gi', '1000')}\nkubeReserved: {{memory: '1'}}\nevictionHard: {{}}",
            "warning: *it is 4294968296 bytes; *together, 2147483649 bytes",
            id="no evictions",
        ),
        pytest.param(f"{reserved('2Gi')}\nevictionHard: {{nodefs.available: 5%}}", "", id="others"),
        pytest.param(
            f"{reserved('2Gi')}\nevictionHard: {{nodefs.available: 5%}}\nmergeDefaultEvictionSettings: true",
            "warning: *it is 2048Mi; *together, 2548Mi",
            id="others beside the usual one",
        ),
        pytest.param(f"{reserved('2Gi')}\nevictionHard: {{memory.available: 5%}}", "", id="of the machine's"),
        pytest.param(reserved("lots"), "", id="for the kubelet to judge"),
    ],
)
def test_memory_by_numa_node_has_to_be_what_is_kept_from_pods(text: str, fault: str) -> None:
    found = [str(entry) for entry in made(BEST_EFFORT + text).report.entries]
    assert fnmatch.filter(found, f"{fault}*") == found
    assert len(found) == bool(fault)


def test_memory_by_numa_node_without_the_gate_is_for_linux() -> None:
    configuration = made(f"memoryManagerPolicy: Static\n{reserved('1Gi')}")
    assert beyond_always(configuration) == {}
    assert not configuration.report.entries


def test_what_is_secret_is_marked() -> None:
    configuration = made("staticPodURLHeader: {Authorization: [x]}")
    assert configuration.value["staticPodURLHeader"] == {"Authorization": ["x"]}
    assert not [decision for decision in configuration.decisions if "Authorization" in decision.before]
