"""Kubeconfigs: what is read, what is refused, and what is written as Kubernetes' own tools do."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.kube import kubeconfig
from agent.kube.access import Access
from agent.kube.failure import NotUsable
from agent.kube.kubeconfig import Cluster, User
from unit.kube.api_server import ROOT, TOKEN, kubeconfig_of

JOINS = Path(__file__).parents[2] / "data" / "kubeadm-join-v1.36"
FILES = {
    "ca.crt": ROOT.pem,
    r"C:\pki\client.pem": b"certificate and key",
    "token": b"secret-of-a-file\n",
}
CURRENT = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
CA = base64.b64encode(ROOT.pem).decode()


def from_files(path: str) -> bytes:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file")
    return FILES[path]


def no_files(path: str) -> bytes:
    raise AssertionError(path)


def document(user: dict[str, Any], cluster: dict[str, Any] | None = None) -> bytes:
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [
            {"name": "other", "cluster": {"server": "https://other"}},
            {"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}},
        ],
        "users": [{"name": "v", "user": {"token": "another"}}, {"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
    }
    return json.dumps(whole).encode()


def access(user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Access:
    return kubeconfig.read(document(user, cluster), "a.conf").access(from_files)


BASE = Access("https://10.0.0.1:6443", "a.conf")


@pytest.mark.parametrize(
    ("user", "cluster", "expected"),
    [
        pytest.param({"token": "t"}, {}, {"token": "t"}, id="token"),
        pytest.param({"token": "t", "tokenFile": "missing"}, {}, {"token": "t"}, id="token before its file"),
        pytest.param({"tokenFile": "token"}, {}, {"token": "secret-of-a-file"}, id="token in a file"),
        pytest.param({"username": "n", "password": "p"}, {}, {"user": "n", "password": "p"}, id="password"),
        pytest.param(
            {"client-certificate": r"C:\pki\client.pem", "client-key": r"C:\pki\client.pem"}, {},
            {"certificate": b"certificate and key", "key": b"certificate and key"},
            id="certificate in a file",
        ),
        pytest.param(
            {"client-certificate-data": "Yw==", "client-key-data": "a\n2\r\nU=", "client-key": "missing"}, {},
            {"certificate": b"c", "key": b"ke"}, id="certificate in line",
        ),
        pytest.param({}, {"certificate-authority-data": CA}, {"authorities": ROOT.pem}, id="CA in line"),
        pytest.param({}, {"certificate-authority": "ca.crt"}, {"authorities": ROOT.pem}, id="CA in a file"),
        pytest.param(
            {}, {"tls-server-name": "n", "insecure-skip-tls-verify": True, "proxy-url": "http://p:1"},
            {"server_name": "n", "insecure": True, "proxy": "http://p:1"}, id="how to get there",
        ),
        *(
            pytest.param({}, {"tls-server-name": name}, {"server_name": name}, id=name)
            for name in ("api.example", "api-int.example.", "10.0.0.1", "fd00::1", "_a.b")
        ),
        pytest.param({}, {"unheard-of": [1], "disable-compression": True}, {}, id="unknown settings"),
        pytest.param({"token": None}, {"certificate-authority": ""}, {}, id="nothing set"),
    ],
)  # fmt: skip
def test_what_is_read(user: dict[str, Any], cluster: dict[str, Any], expected: dict[str, Any]) -> None:
    assert access(user, cluster) == replace(BASE, **expected)


def test_yaml_as_cluster_info_has_it() -> None:
    found = kubeconfig.read(kubeconfig_of("https://a:1", ROOT).encode(), "cluster-info")
    assert found.cluster() == Cluster("https://a:1", ROOT.pem)
    assert found.user() == User()
    assert not found.user().has_credentials


@pytest.mark.parametrize(
    ("user", "has"),
    [
        ({"token": "t"}, True),
        ({"tokenFile": "t"}, True),
        ({"username": "n"}, False),
        ({"username": "n", "password": "p"}, True),
        ({"client-certificate": "c"}, False),
        ({"client-certificate": "c", "client-key-data": "Yw=="}, True),
        ({}, False),
    ],
)
def test_credentials(user: dict[str, Any], has: bool) -> None:
    assert kubeconfig.read(document(user), "a.conf").user().has_credentials is has


def inside(user: str = "{}", cluster: str = "{server: 'https://h'}", rest: str = "") -> str:
    return (
        f"clusters: [{{name: c, cluster: {cluster}}}]\nusers: [{{name: u, user: {user}}}]\n"
        f"contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n{rest}"
    )


REFUSED = [
    ("users: 1", "a.conf: users: a list was expected"),
    ("users: [1]", "a.conf: users[0]: a mapping was expected"),
    (
        "users: [{name: 1}]",
        "a.conf: users[0].name: text was expected; what looks like a number, yes or no needs quotes",
    ),
    ("users: [{name: a, user: []}]", "a.conf: users[0].user: a mapping was expected"),
    ("clusters: [{name: a}, {name: a}]", "a.conf: clusters[1].name: another one before it has the same name"),
    ("kind: ConfigMap", "a.conf line 1, column 7: kind: it has to be Config: a kubeconfig is expected"),
    ("apiVersion: v2", "a.conf: apiVersion: it has to be v1"),
    ("{", "a.conf line 1, column 2: it is not JSON: it ends too early; was it cut short?"),
    ("a: [", "a.conf line 2, column 1: it is not YAML"),
    ("- 1", "a.conf: a mapping of settings was expected"),
    (inside("{token: 123456.1234567890123456}"), "a.conf: users[0].user.token: text was expected; what"),
    (inside("{client-key-data: HIDDEN!}"), "a.conf: users[0].user.client-key-data: it is not base64"),
    (inside("{client-key-data: é}"), "a.conf: users[0].user.client-key-data: it is not base64"),
    (inside(cluster="{insecure-skip-tls-verify: HIDDEN}"), "a.conf: clusters[0].cluster.insecure-skip-tls-"),
    (inside("{exec: {command: HIDDEN}}"), "a.conf: user.exec: programs that fetch credentials are not run"),
    (inside("{as: HIDDEN}"), "a.conf: user.as: nobody is impersonated; use a token or a client certificate"),
    (inside("{client-key: 'ca.crt'}"), "a.conf: user: a client certificate and its key go together"),
    (
        inside("{tokenFile: 'C:\\gone'}"),
        "a.conf: tokenFile names C:\\gone, which cannot be read: No such file",
    ),
    (inside(cluster="{server: 'http://h'}"), "a.conf: cluster.server: it is no https URL; nothing is sent"),
    (inside(cluster="{server: 'h:6443'}"), "a.conf: cluster.server: it is no https URL"),
    *(
        (
            inside(cluster=f"{{server: 'https://h', tls-server-name: {name}}}"),
            "a.conf: clusters[0].cluster.tls-server-name: a host name or an address was expected",
        )
        for name in (".x", "'%x'", "a..b", "ä.example", '"a\\0b"', "x" * 64)
    ),
    (inside(cluster="{}"), "a.conf: cluster.server: it is no https URL"),
    (inside(cluster="{server: 'https://h:x'}"), "a.conf: cluster.server: it is no http or https URL"),
    (
        inside(cluster="{server: 'https://h', proxy-url: 'socks5://HIDDEN'}"),
        "a.conf: cluster.proxy-url: it is no http or https URL",
    ),
    (
        inside(cluster="{server: 'https://h', certificate-authority-data: SElEREVO}"),
        "a.conf: cluster.certificate-authority: it is no certificate in PEM form",
    ),
    ("clusters: []", "a.conf: current-context: there is no context of that name"),
    (
        "contexts: [{name: x, context: {cluster: HIDDEN}}]\ncurrent-context: x",
        "a.conf: context.cluster: there is no cluster of that name",
    ),
]


_SPOT = re.compile(r" line \d+, column \d+")


@pytest.mark.parametrize(("text", "says"), REFUSED, ids=[says[8:50] for _, says in REFUSED])
def test_what_is_refused(text: str, says: str) -> None:
    with pytest.raises(NotUsable) as caught:
        kubeconfig.read(text.encode(), "a.conf").access(from_files)
    told = str(caught.value)
    assert (told if " line " in says else _SPOT.sub("", told)).startswith(says)
    assert "HIDDEN" not in told
    assert "\n" not in told


def test_what_nobody_uses_is_not_judged() -> None:
    text = inside("{token: t}", rest="x: 1").replace("users: [", "users: [{name: v, user: {exec: {a: 1}}}, ")
    assert kubeconfig.read(text.encode(), "a.conf").access(no_files).token == "t"  # noqa: S105


# What kubeadm and the kubelet write


@pytest.mark.parametrize(
    ("name", "cluster", "user"),
    [
        ("usual", Cluster("https://10.77.0.1:6443", ROOT.pem), User(TOKEN)),
        (
            "joined",
            Cluster("https://10.77.0.1:6443", ROOT.pem),
            User(certificate_path=CURRENT, key_path=CURRENT),
        ),
    ],
)
def test_what_others_write(name: str, cluster: Cluster, user: User) -> None:
    (path,) = (JOINS / name / "etc" / "kubernetes").glob("*.conf")
    text = path.read_text().replace("@TOKEN@", TOKEN).replace("@CA_DATA@", CA)
    found = kubeconfig.read(text.encode(), "a.conf")
    assert (found.cluster(), found.user()) == (cluster, user)


def test_a_token_of_ones_own() -> None:
    made = kubeconfig.with_token(Cluster("https://h", ROOT.pem), TOKEN)
    assert made.cluster() == Cluster("https://h", ROOT.pem)
    assert made.user() == User(TOKEN)
    assert made.user_settings() == {"token": TOKEN}


def test_a_users_settings_are_those_of_the_document() -> None:
    user = {
        "client-certificate-data": "Yw==", "client-key-data": "AP8=", "client-certificate": "c",
        "client-key": "k", "token": "t", "tokenFile": "f", "username": "me", "password": "p",
    }  # fmt: skip
    assert kubeconfig.read(document({**user, "x": 1}), "a.conf").user_settings() == user


def test_no_secret_in_a_repr() -> None:
    user = {"token": "HIDDEN", "password": "HIDDEN", "username": "n", "client-key-data": "SElEREVO"}
    found = kubeconfig.read(document(user, {"proxy-url": "http://u:HIDDEN@p"}), "a.conf")
    assert "HIDDEN" not in repr(found)
