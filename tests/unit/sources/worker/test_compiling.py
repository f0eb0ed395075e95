"""What of a document becomes what, one thing at a time; whole documents are in the worked examples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PureWindowsPath
from typing import Any
from urllib.parse import quote

import pytest

from agent.sources import ignition, worker
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.worker.needed import ROWS
from agent.spec import (
    Directory,
    Effect,
    EnvironmentVariable,
    File,
    Inline,
    Key,
    Note,
    Protection,
    Service,
    Specification,
)

PLACEMENT = worker.Placement(Inline(b"MZ"))
_KUBECONFIG = "/etc/kubernetes/kubeconfig"


def _specification(
    files: dict[str, Any] | None = None,
    *,
    configuration: dict[str, Any] | None = None,
    flags: str = "",
    unit: str = "",
    storage: dict[str, Any] | None = None,
    placement: worker.Placement = PLACEMENT,
    fetch: ignition.Fetch | None = None,
) -> Specification:
    """`files` by path: text, or the whole entry of the Ignition."""
    carried = {_KUBECONFIG: "users: []", **(files or {})}
    if configuration is not None:
        kind = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
        carried["/etc/kubernetes/kubelet.conf"] = json.dumps({**kind, **configuration})
    entries = [
        {
            "path": path,
            **(said if isinstance(said, dict) else {"contents": {"source": f"data:,{quote(said)}"}}),
        }
        for path, said in carried.items()
    ]
    contents = f"[Service]\nExecStart=/usr/bin/kubelet {flags}\n{unit}"
    document = {
        "ignition": {"version": "3.4.0"},
        "storage": {"files": entries, **(storage or {})},
        "systemd": {"units": [{"name": "kubelet.service", "contents": contents}]},
    }
    outcome = ignition.load("worker.ign", json.dumps(document).encode())
    made = worker.compiled(outcome, Node(), Kubelet(), placement, fetch)
    assert made.specification, [str(entry) for entry in made.report.entries]
    return made.specification


def _files(specification: Specification) -> dict[str, File]:
    return {str(want.path): want for want in specification.wants if isinstance(want, File)}


def _directories(specification: Specification) -> dict[str, Directory]:
    return {str(want.path): want for want in specification.wants if isinstance(want, Directory)}


def _service(specification: Specification) -> Service:
    (found,) = (want for want in specification.wants if isinstance(want, Service))
    return found


def _note(specification: Specification, subject: str) -> Note:
    (found,) = (note for note in specification.notes if note.subject == subject)
    return found


def _text(want: File) -> str:
    assert want.content
    return b"".join(want.content.blocks()).decode()


# Files


@pytest.mark.parametrize(
    ("path", "flags"),
    [
        ("/etc/kubernetes/anything", ""),
        ("/var/lib/kubelet/config.json", ""),
        ("/opt/ca.crt", "--client-ca-file=/opt/ca.crt"),
        ("/etc/tls/key", "--tls-cert-file=/etc/tls/key --tls-private-key-file=/etc/tls/key"),
        ("/etc/pki/ca.crt", ""),
    ],
)
def test_what_the_kubelet_needs_is_written(path: str, flags: str) -> None:
    kubeconfig = json.dumps({"clusters": [{"cluster": {"certificate-authority": "/etc/pki/ca.crt"}}]})
    specification = _specification({path: "x", _KUBECONFIG: kubeconfig}, flags=flags)
    want = _files(specification)["C:" + path.replace("/", "\\")]
    assert want.protection is Protection.PRIVATE
    assert _text(want) == "x"
    assert (want.key in _service(specification).reads) == (path.startswith(("/opt", "/etc/tls", "/etc/pki")))


@pytest.mark.parametrize(
    ("path", "flags", "configuration", "reason"),
    [
        ("/etc/motd", "", {}, "nothing on a Windows node reads it"),
        ("/etc/kubernetes/manifests/dns.yaml", "", {}, "a pod for Linux"),
        ("/etc/kubernetes/pods/dns.yaml", "", {"staticPodPath": "/etc/kubernetes/pods"}, "a pod for Linux"),
        ("/etc/kubernetes/pods/a.yaml", "--pod-manifest-path=/etc/kubernetes/pods", {}, "a pod for Linux"),
        ("/var/lib/kubelet/flex/a", "--volume-plugin-dir=/var/lib/kubelet/flex/", {}, "a volume plug-in"),
        ("/etc/kubernetes/kubelet-env", "", {}, "what it says is in the kubelet's arguments"),
        ("/etc/kubernetesx/a", "", {}, "nothing on a Windows node reads it"),
    ],
)
def test_what_it_does_not_need_is_left_out(
    path: str, flags: str, configuration: dict[str, Any], reason: str
) -> None:
    unit = "EnvironmentFile=-/etc/kubernetes/kubelet-env\n"
    specification = _specification({path: "A=b"}, flags=flags, configuration=configuration, unit=unit)
    assert "C:" + path.replace("/", "\\") not in _files(specification)
    note = _note(specification, f"file {path}")
    assert note.effect is Effect.IGNORED
    assert note.reason.startswith(reason)


def test_every_row_says_why_and_can_be_reached() -> None:
    paths = [row.path for row in ROWS]
    assert len(set(paths)) == len(paths)
    for number, row in enumerate(ROWS):
        assert row.reason
        assert row.path.startswith("/")
        earlier = [other for other in paths[:number] if other.endswith("/") and row.path.startswith(other)]
        assert not earlier


def test_links_are_told_of() -> None:
    links = [{"path": path, "target": "/a"} for path in ("/etc/kubernetes/ca.crt", "/etc/localtime")]
    specification = _specification(storage={"links": links})
    needed, other = (_note(specification, f"link {link['path']}") for link in links)
    assert (needed.effect, other.effect) == (Effect.WARNING, Effect.IGNORED)
    assert needed.reason == "in the kubelet's own folder, but links are not made; carry the file itself"


def test_appended_parts() -> None:
    parts = [{"source": "data:,b"}, {"source": "data:;base64,Yw=="}]
    specification = _specification(
        {
            "/etc/kubernetes/abc": {"contents": {"source": "data:,a"}, "append": parts},
            "/etc/kubernetes/bc": {"append": parts},
            "/etc/kubernetes/nothing": {},
        }
    )
    files = _files(specification)
    assert [_text(files[rf"C:\etc\kubernetes\{name}"]) for name in ("abc", "bc", "nothing")] == [
        "abc",
        "bc",
        "",
    ]
    assert _note(specification, "file /etc/kubernetes/bc").effect is Effect.WARNING


def test_only_what_is_needed_is_fetched_and_only_once() -> None:
    asked: list[str] = []

    def fetch(request: ignition.Request) -> Iterator[bytes]:
        asked.append(request.url)
        assert dict(request.headers)["User-Agent"].startswith("Ignition/")
        yield from (b"[Service]\n", b"Environment=A=b\n")

    drop_in = "/etc/systemd/system/kubelet.service.d/10-a.conf"
    remote = {"contents": {"source": "https://h/a"}}
    other = {"contents": {"source": "https://h/other"}}
    specification = _specification(
        {drop_in: remote, "/etc/kubernetes/a": remote, "/etc/motd": other}, fetch=fetch
    )
    assert asked == ["https://h/a"]
    assert _service(specification).environment == {"A": "b"}
    assert _text(_files(specification)[r"C:\etc\kubernetes\a"]) == "[Service]\nEnvironment=A=b\n"


# Folders


@pytest.mark.parametrize(
    ("folder", "protection", "shared", "of_node"),
    [
        (r"C:\etc", Protection.PROGRAM, True, False),
        (r"C:\etc\kubernetes", Protection.PRIVATE, False, False),
        (r"C:\var\lib", Protection.PROGRAM, True, False),
        (r"C:\var\lib\kubelet", Protection.PRIVATE, False, True),
        (r"C:\var\lib\kubelet\pki", Protection.PRIVATE, False, True),
        (r"C:\var\log\kubelet", Protection.PRIVATE, False, True),
        (r"C:\opt\made\pods", Protection.PODS, False, True),
        (r"C:\opt\made", Protection.PRIVATE, False, False),
        (r"C:\opt\made\in\it", Protection.PRIVATE, False, False),
        (r"C:\opt", Protection.PROGRAM, True, False),
        (r"C:\usr\libexec", Protection.PROGRAM, True, False),
        (r"C:\usr\libexec\flex", Protection.PRIVATE, False, False),
        (r"C:\k", Protection.PROGRAM, False, False),
    ],
)
def test_folders(folder: str, protection: Protection, shared: bool, of_node: bool) -> None:
    flags = "--volume-plugin-dir=/usr/libexec/flex --root-dir=/opt/made --client-ca-file=/opt/made/in/it/ca"
    found = _directories(_specification({"/opt/made/in/it/ca": "x"}, flags=flags))[folder]
    assert (found.protection, found.shared) == (protection, shared)
    assert found.belongs_to_node == (of_node or folder == r"C:\opt\made")


@pytest.mark.parametrize("root", ["", "/opt/root", "/etc/kubernetes/of/kubelet"])
def test_what_pods_mount_is_for_containers_to_read(root: str) -> None:
    directories = _directories(_specification(flags=f"--root-dir={root}" if root else ""))
    folder = PureWindowsPath("C:" + (root or "/var/lib/kubelet"))
    pods = directories[str(folder / "pods")]
    assert (pods.protection, pods.shared, pods.belongs_to_node) == (Protection.PODS, False, True)
    assert {
        path: [str(PureWindowsPath(path, each)) for each in want.apart] for path, want in directories.items()
    } == {
        path: [str(pods.path)] * (want.protection is Protection.PRIVATE and want.path in pods.path.parents)
        for path, want in directories.items()
    }
    assert directories[str(folder)].apart == ("pods",)


@pytest.mark.parametrize("path", ["/etc", "/var", "/var/lib", "/var/log/", "/srv"])
def test_a_folder_of_everybody_never_becomes_the_nodes_own(path: str) -> None:
    directories = _directories(_specification(configuration={"staticPodPath": path}))
    for want in directories.values():
        if want.path == PureWindowsPath("C:" + path):
            assert want.shared
            assert want.protection is Protection.PROGRAM


def test_folders_of_the_document() -> None:
    storage = {"directories": [{"path": "/etc/kubernetes/mine"}, {"path": "/etc/other"}]}
    specification = _specification(storage=storage)
    assert r"C:\etc\kubernetes\mine" in _directories(specification)
    assert _note(specification, "folder /etc/other").effect is Effect.IGNORED


def test_every_file_and_folder_has_its_folder() -> None:
    specification = _specification({"/etc/kubernetes/a/b/c/d": "x"}, flags="--client-ca-file=/x/y/z")
    known = {want.key for want in specification.wants}
    for want in specification.wants:
        if isinstance(want, File | Directory) and len(want.path.parts) > 2:
            assert Key("directory", str(want.path.parent)) in known


# The service


def test_the_service() -> None:
    runner = worker.LogRunner("runner.exe", None, ("--to", "x y"))
    placement = worker.Placement(None, runner, PureWindowsPath(r"D:\a b"), runtime_service="")
    specification = _specification(placement=placement)
    service = _service(specification)
    assert str(service.program) == r"D:\a b\runner.exe"
    assert service.arguments[:4] == (
        "--to",
        "x y",
        r"D:\a b\kubelet.exe",
        r"--config=C:\etc\kubernetes\kubelet.conf",
    )
    assert "--windows-service" in service.arguments
    assert service.dependencies == ()
    assert service.log == worker.KUBELET_LOG
    assert [_files(specification)[rf"D:\a b\{name}.exe"].content for name in ("kubelet", "runner")] == [
        None,
        None,
    ]
    assert Key("file", r"D:\a b\kubelet.exe") in service.uses


def test_without_a_program_for_its_log() -> None:
    service = _service(_specification())
    assert (str(service.program), service.log) == (r"C:\k\kubelet.exe", None)
    assert service.arguments[0] == r"--config=C:\etc\kubernetes\kubelet.conf"
    assert service.dependencies == ("containerd",)


@pytest.mark.parametrize(
    ("configuration", "flags", "port"),
    [
        ({}, "", 10248),
        ({"healthzPort": 10300}, "", 10300),
        ({"healthzPort": 10300}, "--healthz-port=10400", 10400),
        ({"healthzPort": 0}, "", None),
        ({"healthzPort": 99_999}, "", None),
        ({"healthzPort": 10300}, "--healthz-port=0", None),
        ({"healthzBindAddress": "0.0.0.0"}, "", 10248),  # noqa: S104
        ({"healthzBindAddress": "192.0.2.1"}, "", None),
        ({"healthzBindAddress": "192.0.2.1"}, "--healthz-bind-address=127.0.0.1", 10248),
    ],
)
def test_where_it_says_that_it_is_well(configuration: dict[str, Any], flags: str, port: int | None) -> None:
    health = _service(_specification(configuration=configuration, flags=flags)).health
    assert (health.port if health else None) == port


@pytest.mark.parametrize(
    ("period", "seconds"),
    [(None, None), ("0s", None), ("30s", 30.0), ("1h2m3.5s", 3723.5), ("90000h", 86_400.0)],
)
def test_how_long_it_may_take_to_shut_down(period: str | None, seconds: float | None) -> None:
    configuration = {"shutdownGracePeriod": period} if period else {}
    assert _service(_specification(configuration=configuration)).preshutdown_seconds == seconds


def test_proxies_are_the_machines_too() -> None:
    unit = (
        "Environment=http_proxy=http://p:3128 HTTPS_PROXY=http://user:sesame@p:3128 NO_PROXY=.svc OTHER=x\n"
    )
    specification = _specification(unit=unit)
    assert set(_service(specification).environment) == {"HTTPS_PROXY", "NO_PROXY", "OTHER", "http_proxy"}
    machine = {want.name: want.value for want in specification.wants if isinstance(want, EnvironmentVariable)}
    assert machine == {"HTTP_PROXY": "http://p:3128", "NO_PROXY": ".svc"}
    note = _note(specification, "machine's environment HTTPS_PROXY")
    assert note.effect is Effect.WARNING
    assert "sesame" not in str(specification.notes)


def test_secrets_are_in_no_representation() -> None:
    specification = _specification(
        {"/etc/kubernetes/key": "top-secret"}, unit="Environment=HTTP_PROXY=http://u:top-secret@p\n"
    )
    assert "top-secret" not in repr(specification)
