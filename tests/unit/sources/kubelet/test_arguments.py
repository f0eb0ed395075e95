from __future__ import annotations

from dataclasses import replace

import pytest

from agent.sources.kubelet.arguments import Arguments, translate
from agent.sources.kubelet.decisions import Decision, Outcome
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.report import Origin
from agent.sources.systemd.environment import Word

ALWAYS = {
    "--config=C:\\etc\\kubernetes\\kubelet.conf",
    "--kubeconfig=C:\\var\\lib\\kubelet\\kubeconfig",
    "--cert-dir=C:\\var\\lib\\kubelet\\pki",
    "--windows-service",
    "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
    "--v=3",
    "--node-labels=node.openshift.io/os_id=Windows",
}
NODE = Node()


def made(
    *texts: str | Word, node: Node = NODE, minor: int = 36, sets_roles: bool = False, bootstrap: bool = False
) -> Arguments:
    words = [text if isinstance(text, Word) else Word(text) for text in texts]
    kubelet = Kubelet(minor, sets_roles)
    return translate(
        words,
        Origin("kubelet.service", ("Service", "ExecStart"), 7),
        node,
        kubelet,
        carries_bootstrap=bootstrap,
    )


def beyond_always(arguments: Arguments) -> list[str]:
    return [word for word in arguments.words if word not in ALWAYS]


def decisions(arguments: Arguments, name: str) -> list[Decision]:
    return [decision for decision in arguments.decisions if decision.name == name]


def test_what_every_windows_node_gets() -> None:
    arguments = made()
    assert set(arguments.words) == ALWAYS
    assert len(arguments.words) == len(ALWAYS)
    assert not arguments.report.entries


def test_the_bootstrap_kubeconfig_that_the_document_carries() -> None:
    assert beyond_always(made(bootstrap=True)) == ["--bootstrap-kubeconfig=C:\\etc\\kubernetes\\kubeconfig"]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        pytest.param(["--max-pods", "5"], ["--max-pods=5"], id="kept"),
        pytest.param(["--max_pods=5"], ["--max-pods=5"], id="underscore"),
        pytest.param(["--max-pods=5", "--max-pods=6"], ["--max-pods=6"], id="last-one-counts"),
        pytest.param(
            ["--tls-cipher-suites=A", "--tls-cipher-suites=B,C"],
            ["--tls-cipher-suites=A", "--tls-cipher-suites=B,C"],
            id="lists-add-up",
        ),
        pytest.param(["--enable-server"], ["--enable-server"], id="switch"),
        pytest.param(["--enable-server=false"], ["--enable-server=false"], id="switch-off"),
        pytest.param(["--root-dir=/var/lib/kubelet/"], ["--root-dir=C:\\var\\lib\\kubelet"], id="path"),
        pytest.param(["--root-dir=D:\\kubelet"], ["--root-dir=D:\\kubelet"], id="path-of-windows"),
        pytest.param(["--root-dir=data"], ["--root-dir=C:\\data"], id="relative-path"),
        pytest.param(["--cgroup-driver=systemd", "--housekeeping-interval=1m"], [], id="linux-only"),
        pytest.param(["--windows-service=false"], [], id="a-service-it-is"),
        pytest.param(["--log-file=/x", "--logtostderr=false"], [], id="log"),
        pytest.param(["--cloud-config=/etc/kubernetes/cloud.conf"], [], id="gone"),
        pytest.param(["--allow-privileged"], [], id="long-gone"),
        pytest.param(["--cloud-provider=external"], ["--cloud-provider=external"], id="cloud"),
        pytest.param(["--cloud-provider=azure"], ["--cloud-provider=external"], id="cloud-within-no-more"),
        pytest.param(["--cloud-provider="], [], id="no-cloud"),
        pytest.param(["--container-runtime=remote"], [], id="runtime"),
        pytest.param(["--node-ip=10.0.0.1"], ["--node-ip=10.0.0.1"], id="address"),
        pytest.param(["--node-ip=0.0.0.0"], [], id="no-address"),
        pytest.param(["--node-ip", "::"], [], id="no-address-of-ipv6"),
        pytest.param(["--hostname-override="], [], id="no-name"),
        pytest.param(["--hostname-override=a.b"], ["--hostname-override=a.b"], id="name"),
        pytest.param(
            ["--image-credential-provider-bin-dir=/x", "--image-credential-provider-config=/y"],
            [],
            id="no-credential-plug-ins",
        ),
        pytest.param(["--config-dir=/etc/x"], [], id="drop-ins"),
        pytest.param(
            ["--experimental-bootstrap-kubeconfig=/b"], ["--bootstrap-kubeconfig=C:\\b"], id="old-name"
        ),
        pytest.param(["--newest=1"], ["--newest=1"], id="unknown"),
        pytest.param(["--newest", "1"], ["--newest", "1"], id="unknown-in-two-words"),
    ],
)
def test_flags(texts: list[str], words: list[str]) -> None:
    arguments = made(*texts)
    assert beyond_always(arguments) == words
    assert not arguments.report.fatal


@pytest.mark.parametrize(
    ("texts", "minor", "words"),
    [
        (["--cloud-config=/c"], 33, ["--cloud-config=C:\\c"]),
        (["--cloud-config=/c"], 34, []),
        (["--cloud-provider=aws"], 26, ["--cloud-provider=aws"]),
        (["--cloud-provider=aws"], 27, ["--cloud-provider=external"]),
        (["--container-runtime=remote"], 26, ["--container-runtime=remote"]),
        (["--container-runtime=docker"], 23, ["--container-runtime=remote"]),
        ([], 23, ["--container-runtime=remote"]),
        ([], 24, []),
        (["--container-log-max-files=3"], 99, ["--container-log-max-files=3"]),
        (["--log-json-split-stream"], 22, ["--container-runtime=remote"]),
    ],
)
def test_by_release(texts: list[str], minor: int, words: list[str]) -> None:
    assert beyond_always(made(*texts, minor=minor)) == words


def test_an_old_kubelet_knows_no_priority_class() -> None:
    assert not [word for word in made(minor=19).words if "priorityclass" in word]


def test_an_unknown_flag_is_a_warning() -> None:
    (entry,) = made("--newest=1").report.entries
    assert str(entry).startswith("warning: kubelet.service line 7 at $.Service.ExecStart: ")
    assert "--newest" in str(entry)


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        pytest.param(["--max-pods=many"], "a whole number was expected", id="number"),
        pytest.param(["--sync-frequency=5"], "a duration such as 10s was expected", id="duration"),
        pytest.param(["--enable-server=yes"], "true or false was expected", id="switch"),
        pytest.param(["--feature-gates=A"], "NAME=VALUE was expected", id="pairs"),
        pytest.param(["--register-with-taints=a"], "KEY=VALUE:EFFECT was expected", id="taint"),
        pytest.param(["--root-dir=/a/../b"], "leads back out", id="path"),
        pytest.param(["--kubeconfig=/etc/nul"], "device", id="path-of-a-device"),
        pytest.param(["--config=/a:b"], "contains ':'", id="configuration-path"),
        pytest.param(["--node-labels=a b=c"], "is no label", id="label"),
        pytest.param(["--node-labels=a=" + "x" * 64], "is no label", id="long-label"),
        pytest.param(["stray"], "no word outside", id="word"),
        pytest.param(["--max-pods"], "wants a value", id="no-value"),
        pytest.param(["--v=x"], "a whole number was expected", id="verbosity"),
    ],
)
def test_over_which_the_kubelet_would_not_start(texts: list[str], fault: str) -> None:
    (entry,) = made(*texts).report.errors
    assert str(entry).startswith("error: kubelet.service line 7 at $.Service.ExecStart: ")
    assert fault in str(entry)


def test_no_address_is_left_out_with_a_warning() -> None:
    arguments = made("--node-ip=10.0.0.1,nonsense")
    assert "--node-ip=10.0.0.1" in arguments.words
    assert '"nonsense" is no address' in str(arguments.report.warnings[0])


FOUND = Node(found_addresses=("192.0.2.7", "2001:db8::7"))


@pytest.mark.parametrize(
    ("texts", "node", "address"),
    [
        pytest.param([], FOUND, "192.0.2.7", id="added"),
        pytest.param(["--node-ip=0.0.0.0"], FOUND, "192.0.2.7", id="any"),
        pytest.param(["--node-ip=::"], FOUND, "2001:db8::7", id="any-of-ipv6"),
        pytest.param(["--node-ip=10.0.0.1"], FOUND, "10.0.0.1", id="the-document-s-own"),
        pytest.param(
            ["--node-ip=10.0.0.1"],
            replace(FOUND, addresses=("10.0.0.2", "2001:db8::2")),
            "10.0.0.2,2001:db8::2",
            id="asked-for",
        ),
    ],
)
def test_node_ip(texts: list[str], node: Node, address: str) -> None:
    assert beyond_always(made(*texts, node=node)) == [f"--node-ip={address}"]


def test_what_is_asked_for_wins() -> None:
    node = Node(name="n", provider_id="p", verbosity="9")
    words = made("--hostname-override=x", "--provider-id=y", "--v=1", node=node).words
    assert {"--hostname-override=n", "--provider-id=p", "--v=9"} <= set(words)


def test_what_is_asked_for_is_added() -> None:
    words = made(node=Node(name="n", provider_id="p", verbosity="9")).words
    assert {"--hostname-override=n", "--provider-id=p", "--v=9"} <= set(words)


@pytest.mark.parametrize(
    ("text", "unanswered", "name", "reason"),
    [
        ("--provider-id=", "KUBELET_PROVIDERID", "--provider-id", "kubelet-providerid.service sets it"),
        ("--hostname-override=", "KUBELET_NODE_NAME", "--hostname-override", "nodename.service sets it"),
        ("--provider-id=alicloud://", "KUBELET_NODE_NAME", "--provider-id", "nodename.service sets it"),
        ("--max-pods=", "MAX", "--max-pods", "MAX has no value"),
        ("--v=", "KUBELET_LOG_LEVEL", "--v", "20-logging.conf sets it"),
        ("--system-reserved=cpu=,memory=", "SYSTEM_RESERVED_CPU", "--system-reserved", "node-size.service"),
        ("--root-dir=/x/", "%m", "--root-dir", "%m has no value"),
    ],
)
def test_a_flag_whose_value_nobody_knows_is_dropped(
    text: str, unanswered: str, name: str, reason: str
) -> None:
    arguments = made(Word(text, (unanswered,)))
    dropped = decisions(arguments, name)[0]
    assert dropped.outcome is Outcome.DROPPED
    assert reason in dropped.reason
    assert beyond_always(arguments) == []
    assert not arguments.report.entries


def test_of_a_list_only_what_has_no_value_is_dropped() -> None:
    word = Word("--system-reserved=cpu=1,memory=", ("SYSTEM_RESERVED_MEMORY",))
    assert made(word).configure == {"systemReserved": {"cpu": "1"}}


ROLE = "node-role.kubernetes.io/worker"


@pytest.mark.parametrize(
    ("texts", "sets_roles", "labels"),
    [
        ([f"--node-labels={ROLE},a=b"], False, "a=b,node.openshift.io/os_id=Windows"),
        ([f"--node-labels={ROLE},a=b"], True, f"{ROLE},a=b,node.openshift.io/os_id=Windows"),
        (["--node-labels=a=b", "--node-labels=c,a=d"], False, "a=d,c,node.openshift.io/os_id=Windows"),
        (["--node-labels=kubernetes.io/mine=1"], True, "node.openshift.io/os_id=Windows"),
        (
            ["--node-labels=node.kubernetes.io/x=1,topology.kubernetes.io/zone=z"],
            False,
            "node.kubernetes.io/x=1,topology.kubernetes.io/zone=z,node.openshift.io/os_id=Windows",
        ),
        (["--node-labels=node.openshift.io/os_id=rhcos"], False, "node.openshift.io/os_id=Windows"),
        (["--node-labels="], False, "node.openshift.io/os_id=Windows"),
        (["--node-labels=a=,,b"], False, "a,b,node.openshift.io/os_id=Windows"),
    ],
)
def test_node_labels(texts: list[str], sets_roles: bool, labels: str) -> None:
    words = made(*texts, sets_roles=sets_roles).words
    assert [word for word in words if word.startswith("--node-labels")] == [f"--node-labels={labels}"]


def test_a_dropped_label_says_who_can_set_it() -> None:
    (decision,) = [
        decision
        for decision in decisions(made(f"--node-labels={ROLE}"), "--node-labels")
        if decision.outcome is Outcome.DROPPED
    ]
    assert f"kubectl label node NAME {ROLE}" in decision.reason


@pytest.mark.parametrize(
    ("texts", "fields"),
    [
        (["--cluster-dns=10.0.0.1,10.0.0.2"], {"clusterDNS": ["10.0.0.1", "10.0.0.2"]}),
        (["--cluster-dns=10.0.0.1", "--cluster-dns=10.0.0.2"], {"clusterDNS": ["10.0.0.1", "10.0.0.2"]}),
        (["--feature-gates=A=true", "--feature-gates=B=false"], {"featureGates": {"A": True, "B": False}}),
        (["--eviction-hard=memory.available<1Gi"], {"evictionHard": {"memory.available": "1Gi"}}),
        (["--system-reserved=cpu=1"], {"systemReserved": {"cpu": "1"}}),
        (["--cpu-manager-policy=static"], {"cpuManagerPolicy": "static"}),
        (
            ["--register-with-taints=a=b:NoSchedule"],
            {"registerWithTaints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        ),
    ],
)
def test_what_moves_into_the_configuration(texts: list[str], fields: dict[str, object]) -> None:
    arguments = made(*texts)
    assert arguments.configure == fields
    assert beyond_always(arguments) == []


def test_credential_plug_ins_that_are_there() -> None:
    arguments = made(
        "--image-credential-provider-bin-dir=/usr/libexec/x",
        "--image-credential-provider-config=/etc/kubernetes/c.yaml",
        node=Node(credential_providers="C:\\k"),
    )
    assert beyond_always(arguments) == [
        "--image-credential-provider-bin-dir=C:\\k",
        "--image-credential-provider-config=C:\\etc\\kubernetes\\c.yaml",
    ]
    assert arguments.credential_configuration == "/etc/kubernetes/c.yaml"


def test_where_the_configuration_is() -> None:
    arguments = made("--config=/etc/k.conf", "--config-dir=/etc/k.d/")
    assert arguments.configuration == "/etc/k.conf"
    assert arguments.drop_ins == "/etc/k.d"
    assert arguments.words[0] == "--config=C:\\etc\\k.conf"


@pytest.mark.parametrize("second", ["/etc/nul", "/Windows/k.conf", ""])
def test_a_second_configuration_that_is_none_is_not_where_it_is(second: str) -> None:
    assert made("--config=/etc/k.conf", f"--config={second}").configuration == "/etc/k.conf"


def test_what_is_secret_is_marked() -> None:
    for text in (
        "--manifest-url-header=Authorization:x",
        "--storage-driver-password=x",
        "--a-KEY=x",
        "--key=x",
        "--SecretOf=x",
        "--registry-creds=x",
    ):
        name = text.partition("=")[0]
        assert all(decision.secret for decision in decisions(made(text), name))


@pytest.mark.parametrize("name", ["--key-file", "--keyring-dir", "--max-tokens", "--secret-name"])
def test_what_an_unknown_flag_says_of_a_secret_is_none(name: str) -> None:
    assert not any(decision.secret for decision in decisions(made(f"{name}=x"), name))
