from __future__ import annotations

from pathlib import Path

import pytest

from agent.sources.kubeadm import reading
from agent.sources.kubeadm.model import (
    Argument,
    BootstrapToken,
    Discovery,
    JoinConfiguration,
    NodeRegistration,
    Taint,
    Timeouts,
)
from agent.sources.report import Outcome

DATA = Path(__file__).parents[3] / "data" / "kubeadm"
HASH = "sha256:" + "0123456789abcdef" * 4
TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - of no cluster
HEAD = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
DISCOVERY = f"""discovery:
  bootstrapToken:
    token: {TOKEN}
    apiServerEndpoint: 10.0.0.1:6443
    caCertHashes: [{HASH}]
"""


def read(text: str | bytes, *, strictly: bool = False) -> Outcome[JoinConfiguration]:
    contents = text if isinstance(text, bytes) else text.encode()
    return reading.read("join.yaml", contents, strictly=strictly)


def taken(text: str) -> JoinConfiguration:
    outcome = read(text)
    assert outcome.configuration, [str(entry) for entry in outcome.report.entries]
    return outcome.configuration


def registration(text: str) -> NodeRegistration:
    return taken(f"{HEAD}{DISCOVERY}nodeRegistration:\n{text}").node_registration


def test_version_1beta3_as_cluster_api_writes_it() -> None:
    outcome = reading.read("join.yaml", (DATA / "join-v1beta3.yaml").read_bytes())
    assert outcome.configuration == JoinConfiguration(
        Discovery(BootstrapToken(TOKEN, "control.example:6443", (HASH,)), None, TOKEN),
        NodeRegistration(
            "win-worker-1",
            "npipe:////./pipe/containerd-containerd",
            None,
            (
                Argument("cloud-provider", "external"),
                Argument("v", "2"),
                Argument("windows-priorityclass", "ABOVE_NORMAL_PRIORITY_CLASS"),
            ),
        ),
        "/etc/kubernetes/pki/ca.crt",
        Timeouts(discovery=450.0),
    )
    assert [str(entry) for entry in outcome.report.entries] == [
        'warning: join.yaml line 3, column 7 at $.kind: a document of the kind "ClusterConfiguration" '
        '("kubeadm.k8s.io/v1beta3") has no part in a join',
        "warning: join.yaml line 6, column 13 at $.apiVersion: kubeadm.k8s.io/v1beta3 is an old version, "
        "which kubeadm will take for some releases more only",
    ]


def test_version_1beta4_with_all_that_a_worker_can_have() -> None:
    outcome = reading.read("join.yaml", (DATA / "join-v1beta4.yaml").read_bytes(), strictly=True)
    assert outcome.report.entries == ()
    assert outcome.configuration == JoinConfiguration(
        Discovery(None, "https://config.example/discovery.conf", "fedcba.fedcba9876543210"),
        NodeRegistration(
            "win2",
            r"\\.\pipe\cri-dockerd",
            (Taint("dedicated", "build", "NoExecute"), Taint("spot", "", "PreferNoSchedule")),
            (Argument("node-labels", "pool=blue"), Argument("v", "4"), Argument("node-labels", "zone=1")),
            ("Hostname", "Swap"),
            "Never",
        ),
        r"C:\pki\cluster.crt",
        Timeouts(90.0, 90.0, 7200.0, 60.0),
        r"C:\patches",
        ("preflight",),
        dry_run=True,
    )


def test_what_is_not_said_is_as_kubeadm_has_it() -> None:
    assert taken(HEAD + DISCOVERY) == JoinConfiguration(
        Discovery(BootstrapToken(TOKEN, "10.0.0.1:6443", (HASH,)), None, TOKEN),
        NodeRegistration("", "", None, (), (), "IfNotPresent"),
        "C:/etc/kubernetes/pki/ca.crt",
        Timeouts(240.0, 60.0, 300.0, 300.0),
    )


def test_no_secret_is_shown() -> None:
    text = DISCOVERY + "  tlsBootstrapToken: zyxwvu.0123456789abcdef\n"
    text += "nodeRegistration: {kubeletExtraArgs: [{name: manifest-url-header, value: 'X:hush'}]}\n"
    shown = repr(taken(HEAD + text))
    assert "0123456789abcdef," not in shown.replace(HASH, "")
    assert all(secret not in shown for secret in ("abcdef.", "zyxwvu", "hush"))
    bad = DISCOVERY.replace(TOKEN, "secret.words")
    assert all("secret.words" not in str(entry) for entry in read(HEAD + bad).report.entries)


@pytest.mark.parametrize(
    ("text", "taints"),
    [
        ("  name: a\n", None),
        ("  taints: null\n", None),
        ("  taints: []\n", ()),
        ("  taints: [null]\n", (Taint("", "", ""),)),
        ("  taints: [{key: a, effect: NoSchedule}]\n", (Taint("a", "", "NoSchedule"),)),
    ],
)
def test_no_taints_and_nothing_about_taints_are_two_things(text: str, taints: object) -> None:
    assert registration(text).taints == taints


@pytest.mark.parametrize(
    ("taint", "text"),
    [
        (Taint("os", "windows", "NoSchedule"), "os=windows:NoSchedule"),
        (Taint("os", "", "NoSchedule"), "os:NoSchedule"),
        (Taint("os", "windows"), "os=windows:"),
        (Taint("os"), "os"),
    ],
)
def test_a_taint_as_the_kubelet_takes_it(taint: Taint, text: str) -> None:
    assert str(taint) == text


@pytest.mark.parametrize(
    ("given", "name"),
    [("WIN-1", "win-1"), ("' Win-1\t'", "win-1"), ("a.B.c", "a.b.c"), ("'1'", "1"), ("''", "")],
)
def test_a_name_is_in_lower_case(given: str, name: str) -> None:
    assert registration(f"  name: {given}\n").name == name


CASES: dict[str, tuple[str | bytes, str]] = {
    "no text": (b"\xff", "join.yaml: it is not UTF-8: byte 1 is wrong; save it as UTF-8"),
    "UTF-16, as PowerShell writes it": ("a: b".encode("utf-16"), "join.yaml: it is UTF-16; save it as UTF-8"),
    "cut short": (
        "a: [",
        "join.yaml line 2, column 1: it is not YAML: a value is missing before this, or the closing bracket",
    ),
    "an open bracket": (
        "a: [b",
        "join.yaml line 2, column 1: it is not YAML: a comma is missing before this, or the closing "
        "bracket ]",
    ),
    "an open brace": (
        "a: {b: c",
        "join.yaml line 2, column 1: it is not YAML: a comma is missing before this, or the closing brace }",
    ),
    "an open quote": (
        'a: "b',
        "join.yaml line 2, column 1: it is not YAML: a text in quotes is not closed, or has a backslash that "
        "means nothing: in double quotes it is written twice",
    ),
    "a tab": ("a:\n\tb: c\n", "join.yaml line 2, column 1: it is not YAML: a tab indents it; use spaces"),
    "two colons": (
        "a: b: c\n",
        "join.yaml line 1, column 5: it is not YAML: a text with a colon in it needs quotes, or a line break "
        "is missing before this",
    ),
    "a line too far in": (
        "a: b\n  c: d\n",
        "join.yaml line 2, column 4: it is not YAML: it goes on with the text of a line above: indent it as "
        "that is, or end that with its colon",
    ),
    "a character that begins no text": (
        "a: @b\n",
        "join.yaml line 1, column 4: it is not YAML: a text that begins with this character needs quotes",
    ),
    "a block on its own line": (
        "a: |b\n",
        "join.yaml line 1, column 5: it is not YAML: behind | or > the line ends, and the text begins on the "
        "next one",
    ),
    "another indentation": (
        "a:\n  b: c\n d: e\n",
        "join.yaml line 3, column 2: it is not YAML: this line is indented otherwise than those of the "
        "mapping that it belongs to",
    ),
    "empty": ("", "join.yaml: there is no JoinConfiguration in it; it is empty"),
    "a comment before the first document": (
        f"# comment\n---\n{HEAD}{DISCOVERY}",
        "join.yaml line 1: a document with apiVersion and kind was expected",
    ),
    "a list": ("- a\n", "join.yaml line 1: a document with apiVersion and kind was expected"),
    "no kind": (
        "apiVersion: kubeadm.k8s.io/v1beta4\n",
        "join.yaml line 1: a document has to say its apiVersion (GROUP/VERSION) and its kind",
    ),
    "another kind": (
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n",
        'join.yaml: there is no JoinConfiguration in it, only "InitConfiguration"',
    ),
    "two of a kind": (
        f"{HEAD}{DISCOVERY}---\n{HEAD}{DISCOVERY}",
        "join.yaml line 9: there are two documents of the kind JoinConfiguration",
    ),
    "something behind a separator": (
        f"{HEAD}{DISCOVERY}--- a\n",
        "join.yaml line 8: behind --- only a comment can stand",
    ),
    "an old version": (
        (HEAD + DISCOVERY).replace("v1beta4", "v1beta2"),
        'join.yaml line 1, column 13 at $.apiVersion: "kubeadm.k8s.io/v1beta2" is too old; '
        "kubeadm.k8s.io/v1beta3 and kubeadm.k8s.io/v1beta4 are read, and `kubeadm config migrate` of a "
        "release "
        "that still knew it makes the one of the other",
    ),
    "a new version": (
        (HEAD + DISCOVERY).replace("v1beta4", "v1"),
        'join.yaml line 1, column 13 at $.apiVersion: "kubeadm.k8s.io/v1" is not known; '
        "kubeadm.k8s.io/v1beta3 and kubeadm.k8s.io/v1beta4 are read",
    ),
    "another API": (
        (HEAD + DISCOVERY).replace("kubeadm.k8s.io", "example.org"),
        'join.yaml line 1, column 13 at $.apiVersion: "example.org/v1beta4" has no JoinConfiguration; '
        "kubeadm.k8s.io/v1beta3 and kubeadm.k8s.io/v1beta4 are read",
    ),
    "the control plane": (
        f"{HEAD}{DISCOVERY}controlPlane: {{}}\n",
        "join.yaml line 8, column 15 at $.controlPlane: a Windows machine cannot be part of the control "
        "plane; run this join on a Linux machine, or leave controlPlane out to join as a worker",
    ),
    "a number for text": (
        f"{HEAD}{DISCOVERY}caCertPath: 5\n",
        "join.yaml line 8, column 13 at $.caCertPath: text was expected",
    ),
    "no list": (
        f"{HEAD}{DISCOVERY}skipPhases: preflight\n",
        "join.yaml line 8, column 13 at $.skipPhases: a list was expected",
    ),
    "no duration": (
        f"{HEAD}{DISCOVERY}timeouts: {{discovery: 5}}\n",
        "join.yaml line 8, column 23 at $.timeouts.discovery: a duration such as 5m0s was expected",
    ),
    "arguments as v1beta3 has them": (
        f"{HEAD}{DISCOVERY}nodeRegistration: {{kubeletExtraArgs: {{v: '2'}}}}\n",
        "join.yaml line 8, column 38 at $.nodeRegistration.kubeletExtraArgs: a list was expected",
    ),
    "an argument without a name": (
        f"{HEAD}{DISCOVERY}nodeRegistration: {{kubeletExtraArgs: [{{value: '2'}}]}}\n",
        "join.yaml line 8, column 39 at $.nodeRegistration.kubeletExtraArgs.0: an argument has to have "
        "a name",
    ),
    "a day that there is not": (
        f"{HEAD}{DISCOVERY}nodeRegistration: {{taints: [{{timeAdded: '2030-02-30T03:04:05Z'}}]}}\n",
        "join.yaml line 8, column 41 at $.nodeRegistration.taints.0.timeAdded: a time such as "
        "2030-01-02T03:04:05Z was expected",
    ),
    "no discovery": (
        HEAD,
        "join.yaml line 1, column 1 at $.discovery: bootstrapToken or file has to be there: nothing says how "
        "to find the cluster",
    ),
    "two ways to discover": (
        f"{HEAD}{DISCOVERY}  file: {{kubeConfigPath: 'C:\\a.conf'}}\n",
        "join.yaml line 4, column 3 at $.discovery: there are bootstrapToken and file; one of them has to go",
    ),
    "no endpoint": (
        (HEAD + DISCOVERY).replace("10.0.0.1:6443", "''"),
        "join.yaml line 6, column 24 at $.discovery.bootstrapToken.apiServerEndpoint: HOST:PORT of the "
        "cluster's API server was expected, such as 10.0.0.1:6443",
    ),
    "an endpoint without a port": (
        (HEAD + DISCOVERY).replace("10.0.0.1:6443", "10.0.0.1"),
        'join.yaml line 6, column 24 at $.discovery.bootstrapToken.apiServerEndpoint: "10.0.0.1" is no '
        "HOST:PORT, such as 10.0.0.1:6443",
    ),
    "a hash of another kind": (
        (HEAD + DISCOVERY).replace("sha256", "sha512"),
        "join.yaml line 7, column 20 at $.discovery.bootstrapToken.caCertHashes.0: it is no hash of a public "
        "key: sha256: and 64 hexadecimal digits were expected",
    ),
    "a URL that is not safe": (
        f"{HEAD}discovery: {{file: {{kubeConfigPath: 'http://config.example/a'}}}}\n",
        "join.yaml line 3, column 36 at $.discovery.file.kubeConfigPath: a URL has to begin with "
        "https://, not "
        '"http:"',
    ),
    "a policy that is none": (
        f"{HEAD}{DISCOVERY}nodeRegistration: {{imagePullPolicy: Sometimes}}\n",
        'join.yaml line 8, column 37 at $.nodeRegistration.imagePullPolicy: "Sometimes" is none of Always, '
        "IfNotPresent, Never",
    ),
    "a long name": (
        f"{HEAD}{DISCOVERY}nodeRegistration: {{name: {'a' * 64}}}\n",
        "join.yaml line 8, column 26 at $.nodeRegistration.name: it is longer than 63 characters: the "
        "kubelet "
        "labels its node with its name, and no label is longer",
    ),
    "a name of blanks": (
        f"{HEAD}{DISCOVERY}nodeRegistration: {{name: '  '}}\n",
        'join.yaml line 8, column 26 at $.nodeRegistration.name: "  " cannot be the name of a node: '
        "only a to "
        "z, digits, hyphens and dots, and each part of it begins and ends with a letter or digit",
    ),
    "a relative path": (
        f"{HEAD}{DISCOVERY}caCertPath: pki/ca.crt\n",
        'join.yaml line 8, column 13 at $.caCertPath: "pki/ca.crt" has to be an absolute path that ends '
        "in .crt",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_told_with_its_place(case: str) -> None:
    given, message = CASES[case]
    outcome = read(given)
    assert outcome.configuration is None
    assert f"error: {message}" in [str(entry) for entry in outcome.report.errors]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "nodeName: a\n",
            'line 8, column 11 at $.nodeName: kubeadm knows no field "nodeName" here; it is ignored',
        ),
        (
            "skipPhases: [a]\nskipPhases: [b]\n",
            "line 9, column 13 at $.skipPhases: this key is there twice; the last one counts",
        ),
        (
            "nodeRegistration: {Name: a}\n",
            'line 8, column 26 at $.nodeRegistration.Name: kubeadm knows no field "Name" here; it is ignored',
        ),
        (
            "timeouts: {etcdAPICall: 1s, x: 1}\n",
            'line 8, column 32 at $.timeouts.x: kubeadm knows no field "x" here; it is ignored',
        ),
    ],
)
def test_fields_that_nobody_knows_are_ignored_but_for_validation(more: str, message: str) -> None:
    outcome = read(HEAD + DISCOVERY + more)
    assert outcome.configuration is not None
    assert [str(entry) for entry in outcome.report.entries] == [f"warning: join.yaml {message}"]
    outcome = read(HEAD + DISCOVERY + more, strictly=True)
    assert outcome.configuration is None
    fault = message.removesuffix("; it is ignored")
    assert [str(entry) for entry in outcome.report.entries] == [f"error: join.yaml {fault}"]


def test_json_is_read_too() -> None:
    text = '{"apiVersion": "kubeadm.k8s.io/v1beta4",\n\t"kind": "JoinConfiguration", "discovery": {"file": '
    assert taken(text + '{"kubeConfigPath": "C:\\\\a"}}}').discovery.file == "C:\\a"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (r"C:\a\b.conf", r"C:\a\b.conf"),
        ("C:/a/b.conf", "C:/a/b.conf"),
        ("file:///C:/a%20b", "C:/a b"),
        ("file:///etc/a", "/etc/a"),
        ("https://config.example/a", "https://config.example/a"),
    ],
)
def test_where_the_discovery_file_is(given: str, path: str) -> None:
    assert taken(f"{HEAD}discovery: {{file: {{kubeConfigPath: '{given}'}}}}\n").discovery.file == path
