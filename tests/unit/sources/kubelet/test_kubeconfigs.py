from __future__ import annotations

import json

import pytest

from agent.sources.kubelet.documents import NotReadable
from agent.sources.kubelet.translation import kubeconfig_for_windows

_NAME = "/etc/kubernetes/kubeconfig"


def _kubeconfig(cluster: dict[str, object], user: dict[str, object]) -> bytes:
    value = {"clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}]}
    return json.dumps(value).encode()


def test_without_paths_it_stays_byte_for_byte() -> None:
    contents = b"clusters:\n- cluster: {server: 'https://a:6443'}   # as it was\nusers: []\n"
    assert kubeconfig_for_windows(_NAME, contents) == (contents, (), ())


@pytest.mark.parametrize(
    ("path", "linux", "windows"),
    [
        ("/etc/kubernetes/ca.crt", "/etc/kubernetes/ca.crt", r"C:\etc\kubernetes\ca.crt"),
        ("pki/ca.crt", "/etc/kubernetes/pki/ca.crt", r"C:\etc\kubernetes\pki\ca.crt"),
        (r"D:\ca.crt", r"D:\ca.crt", r"D:\ca.crt"),
    ],
)
def test_paths(path: str, linux: str, windows: str) -> None:
    made, references, entries = kubeconfig_for_windows(
        _NAME, _kubeconfig({"certificate-authority": path}, {})
    )
    assert json.loads(made)["clusters"][0]["cluster"] == {"certificate-authority": windows}
    assert [(found.linux, found.windows, found.by) for found in references] == [
        (linux, windows, "certificate-authority")
    ]
    assert not entries


def test_the_users_own_paths() -> None:
    user: dict[str, object] = {
        "client-certificate": "/var/lib/kubelet/pki/kubelet-client-current.pem",
        "client-key": "/var/lib/kubelet/pki/kubelet-client-current.pem",
        "tokenFile": "/run/token",
        "token": "/not/a/path",
    }
    made, references, _ = kubeconfig_for_windows(_NAME, _kubeconfig({}, user))
    assert json.loads(made)["users"][0]["user"] == {
        "client-certificate": r"C:\var\lib\kubelet\pki\kubelet-client-current.pem",
        "client-key": r"C:\var\lib\kubelet\pki\kubelet-client-current.pem",
        "tokenFile": r"C:\run\token",
        "token": "/not/a/path",
    }
    assert [found.by for found in references] == ["client-certificate", "client-key", "tokenFile"]


def test_a_path_that_windows_would_take_for_something_else() -> None:
    _, _, (entry,) = kubeconfig_for_windows(_NAME, _kubeconfig({"certificate-authority": "/etc/CON"}, {}))
    assert entry.path == "$.clusters.0.cluster.certificate-authority"
    assert "is the name of a device on Windows" in entry.message


def test_a_program_for_linux_is_warned_of() -> None:
    _, _, (entry,) = kubeconfig_for_windows(_NAME, _kubeconfig({}, {"exec": {"command": "/usr/bin/aws"}}))
    assert str(entry).startswith(f"warning: {_NAME} at $.users.0.user.exec.command: ")


@pytest.mark.parametrize("contents", [b"[]", b"\xff", b"a: [", b""])
def test_no_kubeconfig(contents: bytes) -> None:
    with pytest.raises(NotReadable):
        kubeconfig_for_windows(_NAME, contents)


@pytest.mark.parametrize(
    "contents", [b"clusters: 1", b"clusters: [1, {cluster: 2}]", b"users: {user: {exec: 1}}", b"a: b"]
)
def test_strange_shapes_are_left_to_the_kubelet(contents: bytes) -> None:
    assert kubeconfig_for_windows(_NAME, contents) == (contents, (), ())


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        pytest.param({"certificate-authority": "/HIDDEN/CON"}, {}, id="a-path"),
        pytest.param({"certificate-authority": "HIDDEN:"}, {}, id="a-name-in-a-path"),
        pytest.param({}, {"exec": {"command": "/usr/bin/HIDDEN"}}, id="a-command"),
    ],
)
def test_no_contents_are_told(cluster: dict[str, object], user: dict[str, object]) -> None:
    _, _, (entry,) = kubeconfig_for_windows(_NAME, _kubeconfig(cluster, user))
    assert "HIDDEN" not in str(entry)
