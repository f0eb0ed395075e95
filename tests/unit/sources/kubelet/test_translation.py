from __future__ import annotations

import json

import pytest

from agent.sources.kubelet.decisions import About, Outcome, notes_of
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.kubelet.translation import WindowsKubelet, on_windows
from agent.sources.systemd.service import UnitFile, read_service

CONFIGURATION = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 1\n"
NODE = Node()


def made(
    body: str, carried: dict[str, bytes] | None = None, node: Node = NODE, minor: int = 36
) -> WindowsKubelet:
    """`carried` is by what follows /etc/."""
    files = {f"/etc/{name}": contents for name, contents in (carried or {}).items()}
    service, report = read_service(
        "kubelet.service", [UnitFile("kubelet.service", f"[Service]\n{body}".encode())], {}
    )
    assert not report.fatal
    return on_windows(service, files, node, Kubelet(minor))


def configuration(kubelet: WindowsKubelet) -> dict[str, object]:
    found: dict[str, object] = json.loads(kubelet.files["C:\\etc\\kubernetes\\kubelet.conf"])
    return found


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param("Type=simple", "no command that starts the kubelet", id="no-command"),
        pytest.param("ExecStart=kubelet\nExecStart=", "no command that starts the kubelet", id="emptied"),
        pytest.param("ExecStart=a\nExecStart=b", "line 3 at $.Service.ExecStart: a second command", id="two"),
        pytest.param("ExecStart=/bin/sh -c kubelet", 'runs "sh", which is no kubelet', id="shell"),
        pytest.param("ExecStart=kubelet stray", "no word outside its flags", id="word"),
        pytest.param("ExecStart=kubelet --max-pods=x", "a whole number was expected", id="value"),
        pytest.param(f"ExecStart=kubelet --vmodule={'x' * 33_000}", "longer than the 32000", id="long"),
    ],
)
def test_one_clear_line(body: str, fault: str) -> None:
    kubelet = made(body)
    assert kubelet.report.fatal
    (entry,) = kubelet.report.errors
    assert fault in str(entry)
    assert "kubelet.service" in str(entry)


def test_two_commands_of_a_oneshot_are_as_systemd_has_them() -> None:
    assert not made("Type=oneshot\nExecStart=kubelet\nExecStart=/bin/true").report.fatal


def test_a_broken_configuration_is_told_with_its_place() -> None:
    kubelet = made("ExecStart=kubelet --config=/etc/k", {"k": b"kind: KubeletConfiguration\nmaxPods: x\n"})
    assert [str(entry) for entry in kubelet.report.errors] == [
        "error: /etc/k at $.apiVersion: it is not given, and has to be kubelet.config.k8s.io/v1beta1",
        "error: /etc/k line 2, column 10 at $.maxPods: a whole number was expected",
    ]


def test_a_file_that_should_have_been_carried() -> None:
    kubelet = made("EnvironmentFile=/etc/mine\nExecStart=kubelet --node-labels=a=${MINE}")
    (entry,) = kubelet.report.entries
    assert str(entry) == (
        "warning: kubelet.service line 2 at $.Service.EnvironmentFile:"
        " the document carries no /etc/mine; what it sets has no value here"
    )


def test_a_file_that_linux_would_have_written_is_no_fault() -> None:
    body = "EnvironmentFile=/etc/os-release\nEnvironmentFile=/etc/node-sizing.env\nExecStart=kubelet"
    assert not made(body).report.entries


def test_variables_are_not_expanded_where_the_unit_says_so() -> None:
    kubelet = made("Environment=X=1\nExecStart=:kubelet --node-labels=a --max-pods=${X}")
    assert "a whole number was expected" in str(kubelet.report.errors[0])


@pytest.mark.parametrize(
    ("lines", "kept", "dropped"),
    [
        pytest.param(
            "HTTPS_PROXY=http://p NO_PROXY=.svc",
            {"HTTPS_PROXY": "http://p", "NO_PROXY": ".svc"},
            [],
            id="proxy",
        ),
        pytest.param("http_proxy=a HTTP_PROXY=b", {"HTTP_PROXY": "b"}, ["http_proxy"], id="case"),
        pytest.param("GODEBUG=a=1", {"GODEBUG": "a=1"}, [], id="go"),
        pytest.param(
            "PATH=/bin LD_PRELOAD=x KUBENSMNT=/run", {}, ["KUBENSMNT", "LD_PRELOAD", "PATH"], id="linux"
        ),
        pytest.param("LEVEL=2", {}, ["LEVEL"], id="of-the-command-line"),
        pytest.param(
            "ID=rhcos VERSION_ID=4 PRETTY_NAME=x", {}, ["ID", "PRETTY_NAME", "VERSION_ID"], id="system"
        ),
    ],
)
def test_environment(lines: str, kept: dict[str, str], dropped: list[str]) -> None:
    kubelet = made(f"Environment={lines}\nExecStart=kubelet --v=${{LEVEL}}")
    assert dict(kubelet.environment) == kept
    of_environment = [decision for decision in kubelet.decisions if decision.about is About.ENVIRONMENT]
    assert [decision.name for decision in of_environment if decision.outcome is Outcome.DROPPED] == dropped


def test_a_password_in_the_environment_is_shown_to_nobody() -> None:
    kubelet = made("Environment=HTTP_PROXY=http://u:p@h\nExecStart=kubelet")
    assert kubelet.environment == {"HTTP_PROXY": "http://u:p@h"}
    assert not [decision for decision in kubelet.decisions if "u:p" in decision.before + decision.after]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("ExecStart=kubelet --max-pods=${KEY}", id="in-a-value"),
        pytest.param("ExecStart=kubelet --max-pods ${KEY}", id="as-a-value"),
        pytest.param("ExecStart=kubelet --max-pods=$KEY", id="by-a-shell-s-way-to-write-it"),
        pytest.param("ExecStart=kubelet -v${KEY}", id="in-a-shorthand"),
        pytest.param("ExecStart=kubelet $KEY", id="as-a-word"),
        pytest.param("ExecStart=kubelet ---${KEY}", id="as-no-flag"),
        pytest.param("ExecStart=kubelet --node-ip=${KEY}", id="as-an-address"),
        pytest.param("ExecStart=kubelet --root-dir=/${KEY}:", id="as-a-name-in-a-path"),
        pytest.param("ExecStart=kubelet --node-labels=a:b=${KEY}", id="as-a-label"),
        pytest.param("ExecStart=kubelet --cluster-domain=x --cloud-config=${KEY}", id="of-a-dropped-flag"),
        pytest.param("ExecStart=kubelet --new-token=HIDDEN", id="of-an-unknown-flag"),
        pytest.param("ExecStart=kubelet --new-token HIDDEN", id="of-an-unknown-flag-in-two-words"),
        pytest.param("ExecStart=kubelet\nExecStartPre=/bin/curl -H Authorization:HIDDEN", id="of-a-command"),
    ],
)
def test_nothing_secret_is_told(body: str) -> None:
    kubelet = made(f"Environment=KEY=HIDDEN\n{body}")
    told = [
        *(str(entry) for entry in kubelet.report.entries),
        *(note.before + note.after + note.reason for note in notes_of(kubelet.decisions)),
        *(
            each.before + each.after
            for each in kubelet.decisions
            if each.outcome is Outcome.KEPT and not each.secret
        ),
    ]
    assert told
    assert not [line for line in told if "HIDDEN" in line]


SIZED = (
    "EnvironmentFile=/etc/node-sizing.env\n"
    "ExecStart=kubelet --system-reserved=cpu=${SYSTEM_RESERVED_CPU},memory=${SYSTEM_RESERVED_MEMORY}"
)


@pytest.mark.parametrize(
    ("sizing", "reserved"),
    [
        pytest.param(None, {"cpu": "500m", "memory": "2Gi"}, id="nothing-carried"),
        pytest.param(
            b"SYSTEM_RESERVED_CPU=1\nSYSTEM_RESERVED_MEMORY=4Gi", {"cpu": "1", "memory": "4Gi"}, id="carried"
        ),
        pytest.param(
            b"SYSTEM_RESERVED_CPU=\nSYSTEM_RESERVED_MEMORY=1Gi", {"cpu": "500m", "memory": "2Gi"}, id="little"
        ),
    ],
)
def test_what_linux_reserves_by_script(sizing: bytes | None, reserved: dict[str, str]) -> None:
    carried = {} if sizing is None else {"node-sizing-enabled.env": sizing}
    found = configuration(made(SIZED, carried))["systemReserved"]
    assert found == {**reserved, "ephemeral-storage": "1Gi"}


def test_the_script_s_drop_in_has_its_place_among_the_others() -> None:
    body = "ExecStart=kubelet --config=/etc/kubernetes/kubelet.conf --config-dir=/etc/k.d"
    patch = CONFIGURATION.decode().replace("maxPods: 1", "systemReserved: {memory: %s}")
    carried = {
        "node-sizing-enabled.env": b"SYSTEM_RESERVED_MEMORY=5Gi",
        "kubernetes/kubelet.conf": CONFIGURATION,
        "k.d/10.conf": (patch % "3Gi").encode(),
    }
    assert configuration(made(body, carried))["systemReserved"] == {
        "memory": "5Gi",
        "cpu": "500m",
        "ephemeral-storage": "1Gi",
    }
    carried["k.d/30.conf"] = (patch % "6Gi").encode()
    found = configuration(made(body, carried))["systemReserved"]
    assert isinstance(found, dict)
    assert found["memory"] == "6Gi"


def test_drop_ins_folder_by_folder() -> None:
    body = "ExecStart=kubelet --config-dir=/etc/k.d"
    numbered = {
        name: CONFIGURATION.replace(b"1\n", f"{number}\n".encode())
        for number, name in enumerate(["k.d/a/z.conf", "k.d/b.conf", "k.d/c.txt", "k.e/d.conf"])
    }
    assert configuration(made(body, numbered))["maxPods"] == 1


PROVIDERS = b"""
apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- {name: ecr, matchImages: ["*.x"], defaultCacheDuration: 1h, apiVersion: v1}
- {name: acr.EXE}
"""
WITH_PROVIDERS = (
    "ExecStart=kubelet --image-credential-provider-bin-dir=/x --image-credential-provider-config=/etc/p"
)


def test_credential_providers_are_exe_files() -> None:
    kubelet = made(WITH_PROVIDERS, {"p": PROVIDERS}, Node(credential_providers="C:\\k"))
    written = json.loads(kubelet.files["C:\\etc\\p"])
    assert [provider["name"] for provider in written["providers"]] == ["ecr.exe", "acr.EXE"]
    assert written["kind"] == "CredentialProviderConfig"


@pytest.mark.parametrize(
    ("contents", "fault"),
    [
        (b"providers: 1", "error: /etc/p line 1, column 12 at $.providers: a list of mappings was expected"),
        (b"providers: [1]", "at $.providers.0: a mapping was expected"),
        (b"providers: [{name: 1}]", "at $.providers.0.name: text was expected"),
        (b"a: [", "it is not YAML"),
    ],
)
def test_broken_credential_providers(contents: bytes, fault: str) -> None:
    (entry,) = made(WITH_PROVIDERS, {"p": contents}, Node(credential_providers="C:\\k")).report.errors
    assert fault in str(entry)


def test_what_the_kubelet_needs_and_the_document_does_not_carry() -> None:
    kubelet = made("ExecStart=kubelet --bootstrap-kubeconfig=/etc/b --client-ca-file=/etc/ca", {"ca": b"x"})
    (entry,) = kubelet.report.entries
    assert '"/etc/b", which --bootstrap-kubeconfig names' in str(entry)
    assert "C:\\etc\\b has to be there already" in str(entry)


def test_other_commands_are_told_as_dropped() -> None:
    kubelet = made("ExecStartPre=-/bin/mkdir -p /x\nExecStart=kubelet\nExecStopPost=/bin/true")
    commands = [decision for decision in kubelet.decisions if decision.about is About.COMMAND]
    assert [(decision.name, decision.before) for decision in commands] == [
        ("ExecStartPre", "/bin/mkdir and 2 arguments"),
        ("ExecStopPost", "/bin/true"),
    ]


EXPLICIT = Node(found_addresses=("10.0.0.1", "fd00::1"))
ASKED = Node(addresses=("10.0.0.9",), found_addresses=("10.0.0.1",))


@pytest.mark.parametrize(
    ("variable", "node", "address"),
    [
        pytest.param("KUBELET_NODE_IP=10.0.0.5", EXPLICIT, "10.0.0.5", id="the-document-s-own"),
        pytest.param("KUBELET_NODE_IP=0.0.0.0", EXPLICIT, "10.0.0.1", id="any"),
        pytest.param("KUBELET_NODE_IP=::", EXPLICIT, "fd00::1", id="any-of-ipv6"),
        pytest.param("OTHER=1", EXPLICIT, "10.0.0.1", id="not-set"),
        pytest.param("KUBELET_NODE_IP=10.0.0.5", ASKED, "10.0.0.9", id="asked-for"),
    ],
)
def test_which_address_the_variable_stands_for(variable: str, node: Node, address: str) -> None:
    body = "EnvironmentFile=/etc/kubelet-env\nExecStart=kubelet --node-ip=${KUBELET_NODE_IP}"
    made_words = made(body, {"kubelet-env": variable.encode()}, node=node).arguments
    assert [word for word in made_words if word.startswith("--node-ip")] == [f"--node-ip={address}"]


def test_linux_writes_the_environment_and_windows_answers() -> None:
    body = (
        "Environment=KUBELET_NODE_IP=0.0.0.0\nEnvironmentFile=-/etc/os-release\n"
        "ExecStart=kubelet --node-ip=${KUBELET_NODE_IP} --hostname-override=${KUBELET_NODE_NAME}"
        " --provider-id=${KUBELET_PROVIDERID} --node-labels=os=${ID},v=${VERSION_ID}"
    )
    node = Node(name="n", provider_id="p", found_addresses=("10.0.0.1",), os_version="10.0")
    words = made(body, node=node).arguments
    expected = {
        "--node-ip=10.0.0.1",
        "--hostname-override=n",
        "--provider-id=p",
        "--node-labels=os=Windows,v=10.0,node.openshift.io/os_id=Windows",
    }
    assert expected <= set(words)
