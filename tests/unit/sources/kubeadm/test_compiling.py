from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import PureWindowsPath

import pytest
import yaml

from agent.sources.kubeadm.cluster import Cluster
from agent.sources.kubeadm.compiling import Found
from agent.sources.kubeadm.model import KUBELET_CONF
from agent.sources.kubelet.folders import Placement
from agent.sources.kubelet.node import Node
from agent.spec import Certificates, Directory, Effect, File, Key, Protection
from unit.sources.kubeadm.beside_kubeadm import BETTER, differences
from unit.sources.kubeadm.joins import (
    CA,
    HASH,
    HOST,
    JOIN,
    KUBELET_CONFIG,
    LOG_RUNNER,
    OF_KUBEADM,
    PLACEMENT,
    TOKEN,
    files,
    joined,
    notes,
    service,
    specification,
)

CONFIGURATION = r"C:\var\lib\kubelet\config.yaml"
FLAGS = r"C:\var\lib\kubelet\kubeadm-flags.env"


def of_kubeadm(case: str, name: str) -> str:
    marks = {
        "@TOKEN@": TOKEN,
        "@CA_HASH@": HASH,
        "@CA_DATA@": base64.b64encode(CA).decode(),
        "@CA_CERTIFICATE@\n": CA.decode(),
    }
    text = (OF_KUBEADM / case / name).read_text()
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


@pytest.mark.parametrize("case", ["usual", "arguments"])
def test_each_file_is_that_of_kubeadm_or_better(case: str) -> None:
    written = files(joined(of_kubeadm(case, "join.yaml")))
    names = {path[3:].replace("\\", "/") for path in written}
    folder = OF_KUBEADM / case
    kept = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == kept - {"join.yaml"} == set(BETTER)
    for name, reasons in BETTER.items():
        found = differences(name, written[on_drive(name)], of_kubeadm(case, name))
        assert found <= set(reasons), name


def on_drive(name: str) -> str:
    return "C:\\" + name.replace("/", "\\")


def test_every_difference_that_has_a_reason_is_there() -> None:
    written = files(joined(of_kubeadm("arguments", "join.yaml"), node=replace(HOST, found_addresses=())))
    with_address = files(joined(of_kubeadm("usual", "join.yaml")))
    for name, reasons in BETTER.items():
        found = differences(name, written[on_drive(name)], of_kubeadm("arguments", name))
        found |= differences(name, with_address[on_drive(name)], of_kubeadm("usual", name))
        assert found == set(reasons)


def test_the_arguments() -> None:
    written = files(joined(of_kubeadm("arguments", "join.yaml"), node=replace(HOST, host_name="OTHER")))
    assert written[FLAGS] == (
        'KUBELET_KUBEADM_ARGS="--hostname-override=win1 --register-with-taints=os=windows:NoSchedule '
        '--node-labels=pool=blue,zone=1 --node-ip=10.77.0.1 --v=4"\n'
    )


def test_the_service() -> None:
    made = service(joined())
    assert made.name == "kubelet"
    assert made.program == PureWindowsPath(r"C:\k\wmcb-log.exe")
    assert made.arguments == (
        r"--log-file=C:\var\log\kubelet\kubelet.log",
        r"--arguments-from=C:\var\lib\kubelet\kubeadm-flags.env",
        "--",
        r"C:\k\kubelet.exe",
        r"--config=C:\var\lib\kubelet\config.yaml",
        r"--bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf",
        r"--kubeconfig=C:\etc\kubernetes\kubelet.conf",
        r"--cert-dir=C:\var\lib\kubelet\pki",
        "--windows-service",
        "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
    )
    assert made.makes == KUBELET_CONF
    assert made.health is not None
    assert made.health.port == 10248
    assert Key("file", FLAGS) in made.reads
    assert Key("directory", r"C:\etc\kubernetes\manifests") in made.reads


def test_another_log_runner_gets_the_arguments_itself() -> None:
    other = replace(LOG_RUNNER, arguments_file=None, arguments=("--",))
    join = joined(placement=replace(PLACEMENT, log_runner=other))
    assert service(join).arguments[-1] == "--node-ip=10.77.0.1"
    assert f"file {FLAGS}" in notes(join)
    alone = joined(placement=Placement(None))
    assert service(alone).program == PureWindowsPath(r"C:\k\kubelet.exe")
    assert service(alone).arguments[-1] == "--node-ip=10.77.0.1"


@pytest.mark.parametrize(
    "given, expected",
    [("", r"C:\var\lib\kubelet\pki"), ("{name: cert-dir, value: /srv/certificates}", r"C:\srv\certificates")],
)
def test_the_kubelet_s_certificates_go_with_the_node_and_nobody_reads_them(given: str, expected: str) -> None:
    wants = specification(joined(f"{JOIN}nodeRegistration:\n  kubeletExtraArgs: [{given}]\n")).by_key()
    folder = wants[Key("directory", expected)]
    assert folder == Directory(PureWindowsPath(expected), Protection.PRIVATE, belongs_to_node=True)
    (certificates,) = [want for want in wants.values() if isinstance(want, Certificates)]
    assert certificates.folder == PureWindowsPath(expected)


def test_the_bootstrap_credentials_stay_until_the_kubelet_has_its_own() -> None:
    wants = {str(want.path): want for want in specification(joined()).wants if isinstance(want, File)}
    assert wants[r"C:\etc\kubernetes\bootstrap-kubelet.conf"].until == KUBELET_CONF
    assert [path for path, want in wants.items() if want.until] == [
        r"C:\etc\kubernetes\bootstrap-kubelet.conf"
    ]


def test_folders_that_kubeadm_forgets() -> None:
    wants = {str(want.path): want for want in specification(joined()).wants if isinstance(want, Directory)}
    assert {
        r"C:\etc\kubernetes\manifests",
        r"C:\etc\kubernetes\pki",
        r"C:\var\lib\kubelet\pods",
        r"C:\var\log\kubelet",
    } <= set(wants)
    assert wants[r"C:\var\lib\kubelet"].apart == ("pods",)


def test_the_same_join_is_the_same_specification() -> None:
    assert specification(joined()) == specification(joined())


def test_no_secret_is_shown() -> None:
    join = joined()
    assert TOKEN not in repr(join)
    assert TOKEN not in repr(Found("", b"", b"", Cluster(), {"token": TOKEN}))


@pytest.mark.parametrize(
    ("more", "node", "name"),
    [
        ("", HOST, "win1"),
        ("nodeRegistration: {name: Other}\n", HOST, "other"),
        ("", replace(HOST, name="of-the-platform"), "of-the-platform"),
        ("nodeRegistration: {name: a}\n", replace(HOST, name="of-the-platform"), "a"),
    ],
)
def test_the_name(more: str, node: Node, name: str) -> None:
    join = joined(JOIN + more, node=node)
    assert join.node_name == name
    assert (f"--hostname-override={name}" in files(join)[FLAGS]) == (name != "win1")


@pytest.mark.parametrize(
    ("socket", "endpoint"),
    [
        ("''", "npipe:////./pipe/containerd-containerd"),
        ("npipe:////./pipe/cri-dockerd", "npipe:////./pipe/cri-dockerd"),
        ("tcp://10.77.0.1:3735", "tcp://10.77.0.1:3735"),
        ("unix:///run/containerd/containerd.sock", "npipe:////./pipe/containerd-containerd"),
    ],
)
def test_the_runtime(socket: str, endpoint: str) -> None:
    join = joined(f"{JOIN}nodeRegistration: {{criSocket: '{socket}'}}\n".replace("''''", "''"))
    assert join.runtime_endpoint == endpoint
    written = files(join)
    assert yaml.safe_load(written[CONFIGURATION])["containerRuntimeEndpoint"] == endpoint
    assert written[r"C:\var\lib\kubelet\instance-config.yaml"] == f"containerRuntimeEndpoint: {endpoint}\n"
    assert ("nodeRegistration.criSocket" in notes(join)) == socket.startswith("unix")


def test_an_older_kubelet_is_told_by_flags() -> None:
    join = joined(minor=22)
    assert service(join).arguments[-2:] == (
        "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd",
        "--container-runtime=remote",
    )


def test_a_cluster_that_keeps_the_socket_on_the_node_object() -> None:
    join = joined(cluster=Cluster(feature_gates={"NodeLocalCRISocket": False}))
    assert r"C:\var\lib\kubelet\instance-config.yaml" not in files(join)


def test_the_authority_lies_where_the_join_puts_it() -> None:
    config = KUBELET_CONFIG.replace(b"/etc/kubernetes/pki/ca.crt", b"/srv/pki/ca.crt")
    join = joined(f"{JOIN}caCertPath: /opt/ca/cluster.crt\n", kubelet_config=config)
    written = files(join)
    assert written[r"C:\opt\ca\cluster.crt"] == CA.decode()
    made = yaml.safe_load(written[CONFIGURATION])
    assert made["authentication"]["x509"]["clientCAFile"] == r"C:\opt\ca\cluster.crt"
    assert notes(join)["configuration authentication.x509.clientCAFile"].startswith("changed: 'C:")
    elsewhere = {"kubeletconfiguration.yaml": b"authentication: {x509: {clientCAFile: /mine.crt}}\n"}
    patched = yaml.safe_load(files(joined(patches=elsewhere))[CONFIGURATION])
    assert patched["authentication"]["x509"]["clientCAFile"] == r"C:\mine.crt"


PATCHES: dict[str, tuple[bytes, dict[str, object]]] = {
    "what a patch says stays": (
        b"maxPods: 20\nclusterDNS: [10.0.0.9]\n",
        {"maxPods": 20, "clusterDNS": ["10.0.0.9"]},
    ),
    "less for the system than usual": (
        b"systemReserved: {memory: 1Gi}\n",
        {"systemReserved": {"cpu": "500m", "ephemeral-storage": "1Gi", "memory": "1Gi"}},
    ),
    "what Windows has not goes": (
        b"cgroupDriver: cgroupfs\ncpuCFSQuota: false\n",
        {"cgroupDriver": None, "cpuCFSQuota": None},
    ),
    "a path of Linux": (b"staticPodPath: /srv/pods\n", {"staticPodPath": r"C:\srv\pods"}),
    "no static pods": (b"staticPodPath: ''\n", {"staticPodPath": ""}),
    "the runtime is the node's": (
        b"containerRuntimeEndpoint: npipe:////./pipe/x\n",
        {"containerRuntimeEndpoint": "npipe:////./pipe/containerd-containerd"},
    ),
    "taints are as asked for": (
        b"registerWithTaints: [{key: a, effect: NoSchedule}]\n",
        {"registerWithTaints": [{"key": "a", "effect": "NoSchedule"}]},
    ),
    "none unless asked for": (b"maxPods: 1\n", {"registerWithTaints": None}),
}  # fmt: skip


@pytest.mark.parametrize("case", PATCHES)
def test_patches(case: str) -> None:
    text, expected = PATCHES[case]
    made = yaml.safe_load(files(joined(patches={"kubeletconfiguration.yaml": text}))[CONFIGURATION])
    assert {key: made.get(key) for key in expected} == expected


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "an unusable path": (
        {"kubelet_config": KUBELET_CONFIG.replace(b"/etc/kubernetes/manifests", b"/windows/pods")},
        'error: the kubelet\'s configuration at $.staticPodPath: "/windows/pods" cannot be a path on '
        "Windows: "
        "C:\\windows is Windows' own",
    ),
    "another configuration": (
        {"kubelet_config": KUBELET_CONFIG.replace(b"v1beta1", b"v1")},
        "error: ConfigMap kube-system/kubelet-config line 1, column 13 at $.apiVersion: it is of "
        '"kubelet.config.k8s.io/v1"; kubelet.config.k8s.io/v1beta1 is read',
    ),
    "no configuration": (
        {"kubelet_config": b"kind: A\napiVersion: b/c\n"},
        "error: ConfigMap kube-system/kubelet-config: there is no KubeletConfiguration in it",
    ),
    "a patch of the wrong shape": (
        {"patches": {"kubeletconfiguration.yaml": b"maxPods: many\n"}},
        "error: the kubelet's configuration at $.maxPods: a whole number was expected",
    ),
    "a patch that does not apply": (
        {"patches": {"kubeletconfiguration+json.yaml": b"- {op: remove, path: /a}\n"}},
        "error: kubeletconfiguration+json.yaml line 1: the json patch does not apply: operation 1 "
        '(remove "/a"): '
        "it is not there",
    ),
    "a host name that is none": (
        {"node": Node(host_name="WIN_1")},
        'error: the node\'s name: "win_1" cannot be the name of a node: only a to z, digits, hyphens '
        "and dots, "
        "and each part of it begins and ends with a letter or digit; give another with --node-name or "
        "nodeRegistration.name",
    ),
    "an install directory that is taken": (
        {"placement": replace(PLACEMENT, install_directory=PureWindowsPath(r"C:\etc\kubernetes"))},
        'error: the install directory: "C:\\etc\\kubernetes" cannot be used: it is not for programs: the '
        "kubelet's credentials lie in it",
    ),
    "a path of Windows' own": (
        {"configuration": JOIN + "caCertPath: C:\\windows\\ca.crt\n"},
        'error: caCertPath: "C:\\windows\\ca.crt": C:\\windows is Windows\' own',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case: str) -> None:
    given, message = REFUSED[case]
    join = joined(**given)  # type: ignore[arg-type]
    assert join.specification is None
    assert [str(entry) for entry in join.report.errors] == [message]


REFUSED_ARGUMENT = "error: the JoinConfiguration at $.nodeRegistration.kubeletExtraArgs"
ARGUMENTS: dict[str, tuple[str, str, dict[str, Effect]]] = {
    "one again and again": ("[{name: v, value: '1'}, {name: v, value: '2'}]", "--node-ip=10.77.0.1 "
    "--v=1 --v=2", {}),
    "in place of ours": (
        "[{name: node-ip, value: 10.0.0.1}, {name: register-with-taints, value: 'a:NoSchedule'}]",
        "--node-ip=10.0.0.1 --register-with-taints=a:NoSchedule",
        {},
    ),
    "blanks and quotes": (
        "[{name: vmodule, value: a b}, {name: cloud-provider, value: \"it's\"}, {name: provider-id, "
        "value: 'a\"b'}]",
        "--node-ip=10.77.0.1 '--vmodule=a b' \\\"--cloud-provider=it's\\\" '--provider-id=a\\\"b'",
        {},
    ),
    "a backslash": (
        "[{name: root-dir, value: 'C:\\kubelet'}]",
        "--node-ip=10.77.0.1 --root-dir=C:\\\\kubelet",
        {},
    ),
    "a path of Linux": (
        "[{name: volume-plugin-dir, value: /opt/volumes}]",
        "--node-ip=10.77.0.1 --volume-plugin-dir=C:\\\\opt\\\\volumes",
        {"flag --volume-plugin-dir": Effect.CHANGED},
    ),
    "for Linux only": (
        "[{name: cgroup-driver, value: systemd}, {name: fail-swap-on, value: 'false'}]",
        "--node-ip=10.77.0.1",
        {"flag --cgroup-driver": Effect.DROPPED, "flag --fail-swap-on": Effect.DROPPED},
    ),
    "no longer known": (
        "[{name: container-runtime, value: remote}, {name: register-schedulable, value: 'true'}]",
        "--node-ip=10.77.0.1",
        {"flag --container-runtime": Effect.DROPPED, "flag --register-schedulable": Effect.DROPPED},
    ),
    "for wmcb to decide": (
        "[{name: config, value: /a}, {name: kubeconfig, value: /b}]",
        "--node-ip=10.77.0.1",
        {"flag --config": Effect.DROPPED, "flag --kubeconfig": Effect.DROPPED},
    ),
    "labels": (
        "[{name: node_labels, value: 'a=b,node-role.kubernetes.io/worker=,node.kubernetes.io/x=y'}]",
        "--node-ip=10.77.0.1 --node-labels=a=b,node.kubernetes.io/x=y",
        {"flag --node-labels": Effect.CHANGED},
    ),
    "labels that no kubelet may give": (
        "[{name: node-labels, value: node-role.kubernetes.io/worker=}]",
        "--node-ip=10.77.0.1",
        {"flag --node-labels": Effect.DROPPED},
    ),
    "gates": (
        "[{name: feature-gates, value: 'AllAlpha=false,Nonsense=true'}]",
        "--node-ip=10.77.0.1 --feature-gates=AllAlpha=false",
        {"flag --feature-gates": Effect.CHANGED},
    ),
    "signals": (
        "[{name: eviction-hard, value: 'memory.available<1Gi,nodefs.inodesFree<5%'}]",
        "--node-ip=10.77.0.1 --eviction-hard=memory.available<1Gi",
        {"flag --eviction-hard": Effect.CHANGED},
    ),
    "processors": (
        "[{name: cpu-manager-policy, value: static}]",
        "--node-ip=10.77.0.1",
        {"flag --cpu-manager-policy": Effect.DROPPED},
    ),
    "a runtime of Linux": (
        "[{name: container-runtime-endpoint, value: 'unix:///run/crio/crio.sock'}]",
        "--node-ip=10.77.0.1",
        {"flag --container-runtime-endpoint": Effect.DROPPED},
    ),
    "a cloud that kubelets have no longer": (
        "[{name: cloud-provider, value: azure}]",
        "--node-ip=10.77.0.1 --cloud-provider=external",
        {"flag --cloud-provider": Effect.CHANGED},
    ),
    "plug-ins for credentials": (
        "[{name: image-credential-provider-bin-dir, value: /opt/bin}]",
        "--node-ip=10.77.0.1 --image-credential-provider-bin-dir=C:\\\\opt\\\\bin",
        {"flag --image-credential-provider-bin-dir": Effect.CHANGED},
    ),
    "unknown": ("[{name: shiny, value: 'true'}]", "--node-ip=10.77.0.1 --shiny=true", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(case: str) -> None:
    given, expected, effects = ARGUMENTS[case]
    join = joined(f"{JOIN}nodeRegistration:\n  kubeletExtraArgs: {given}\n")
    assert files(join)[FLAGS] == f'KUBELET_KUBEADM_ARGS="{expected}"\n'
    found = {
        note.subject: note.effect for note in specification(join).notes if note.subject.startswith("flag")
    }
    found.pop("flag --node-ip", None)
    assert found == effects


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "{name: --v, value: '1'}",
            '"--v": the names of arguments have no hyphens before them',
        ),
        (
            '{name: v, value: "1\\n2"}',
            '"v": no argument can be called so, or have such a value',
        ),
        (
            "{name: max-pods, value: many}",
            '"max-pods": "many": a whole number was expected',
        ),
        (
            "{name: node-ip, value: here}",
            '"node-ip": "here": "here" is no IP address',
        ),
        (
            "{name: node-labels, value: 'a b=c'}",
            '"node-labels": "a b=c": "a b=c" is no label',
        ),
        (
            "{name: root-dir, value: /con}",
            '"root-dir": "/con" cannot be a path on Windows: \'con\' is the name of a device on Windows',
        ),
    ],
)
def test_arguments_that_no_kubelet_would_start_with(given: str, message: str) -> None:
    join = joined(f"{JOIN}nodeRegistration:\n  kubeletExtraArgs: [{given}]\n")
    assert join.specification is None
    assert [str(entry) for entry in join.report.errors] == [f"{REFUSED_ARGUMENT}: {message}"]


@pytest.mark.parametrize("taint", ["{key: a}", "{key: a, effect: Never}", "{effect: NoSchedule}"])
def test_taints_that_no_kubelet_would_start_with(taint: str) -> None:
    join = joined(f"{JOIN}nodeRegistration:\n  taints: [{taint}]\n")
    assert join.specification is None
    (error,) = join.report.errors
    assert error.place == ("nodeRegistration", "taints", 0)
    assert "its effect is one of NoSchedule, PreferNoSchedule, NoExecute" in error.message
