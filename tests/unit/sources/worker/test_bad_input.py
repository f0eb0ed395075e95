"""What is wrong with an Ignition is told in one clear line: the document, the place in it, the reason."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.sources import ignition, worker
from agent.sources.ignition import FetchFailed
from agent.sources.kubelet.node import Kubelet, Node
from agent.spec import Inline

UNIT = "[Service]\nExecStart=/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig\n"
_KUBECONFIG = {"path": "/etc/kubernetes/kubeconfig", "contents": {"source": "data:,users:%20%5B%5D"}}
_KUBELET_UNIT = {"name": "kubelet.service", "enabled": True, "contents": UNIT + "[Install]\n"}


def _document(
    *files: dict[str, Any], units: list[dict[str, Any]] | None = None, version: str = "3.2.0", **more: Any
) -> dict[str, Any]:
    return {
        "ignition": {"version": version, **more},
        "storage": {"files": [_KUBECONFIG, *files]},
        "systemd": {"units": [_KUBELET_UNIT] if units is None else units},
    }


def _file(path: str, source: str = "data:,x", **contents: Any) -> dict[str, Any]:
    return {"path": path, "contents": {"source": source, **contents}}


def _bomb() -> str:
    return "data:;base64," + base64.b64encode(gzip.compress(bytes(3_000_000))).decode()


def _fetch(request: ignition.Request) -> Iterator[bytes]:
    if "wrong-authority" in request.url:
        raise FetchFailed("its certificate is signed by an authority that this machine does not trust")
    if "nobody" in request.url:
        raise FetchFailed("nobody answers at 192.0.2.1 port 22623")
    yield b"as it is"


def _compiled(
    document: Any, placement: worker.Placement | None = None, limits: ignition.Limits | None = None
) -> worker.Compiled:
    raw = document if isinstance(document, bytes) else json.dumps(document, indent=1).encode()
    outcome = ignition.load("worker.ign", raw, _fetch, limits)
    placement = placement or worker.Placement(Inline(b"MZ"))
    return worker.compiled(outcome, Node(), Kubelet(), placement, _fetch)


_MERGE = {"merge": [{"source": "https://nobody/config/worker"}]}
_DEEP = "/etc/kubernetes" + "/a" * 80
_WRONG_HASH = {"hash": "sha256-" + "0" * 64}
_RIGHT_HASH = {"hash": "sha256-" + hashlib.sha256(b"as it is").hexdigest()}

CASES: dict[str, tuple[Any, str]] = {
    "not JSON": (b"kubelet: yes", "worker.ign line 1, column 1: it is not JSON: a value is expected here"),
    "empty": (b"", "worker.ign: it is empty"),
    "nested too deeply": (b"[" * 100_000, "worker.ign: lists and objects are nested too deeply"),
    "no version": ({"ignition": {}}, "worker.ign line 2, column 14 at $.ignition: ignition.version must say"),
    "wrong version": (_document(version="3.7.0"), 'line 3, column 14 at $.ignition.version: version "3.7.0"'),
    "experimental version": (_document(version="3.6.0-experimental"), "$.ignition.version: "),
    "no kubelet.service": (
        _document(units=[]),
        "worker.ign at $.systemd.units: there is no kubelet.service in it; the Ignition configuration of a w",
    ),
    "masked kubelet.service": (
        _document(units=[{**_KUBELET_UNIT, "mask": True}]),
        "at $.systemd.units.0.mask: kubelet.service is masked",
    ),
    "kubelet.service without a command": (
        _document(units=[{**_KUBELET_UNIT, "contents": "[Service]\n[Install]\nWantedBy=a\n"}]),
        "kubelet.service at $.Service.ExecStart: there is no command that starts the kubelet",
    ),
    "another program in kubelet.service": (
        _document(units=[{**_KUBELET_UNIT, "contents": "[Service]\nExecStart=/bin/sh\n[Install]\n"}]),
        "kubelet.service line 2 at $.Service.ExecStart: ",
    ),
    "wrong hash": (
        _document(_file("/etc/kubernetes/a", verification=_WRONG_HASH)),
        "at $.storage.files.1.contents.source: its sha256 is 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4",
    ),
    "wrong hash of something fetched": (
        _document(_file("/etc/kubernetes/a", "https://somebody/a", verification=_WRONG_HASH)),
        "line 16, column 16 at $.storage.files.1.contents.source: its sha256 is ",
    ),
    "unreachable source": (
        _document(_file("/etc/kubernetes/a", "https://nobody/a")),
        "at $.storage.files.1.contents.source: it cannot be fetched: nobody answers at 192.0.2.1 port 22623",
    ),
    "unreachable server of the configuration": (
        _document(config=_MERGE),
        "at $.ignition.config.merge.0.source: it cannot be fetched: nobody answers at 192.0.2.1 port 22623",
    ),
    "wrong authority": (
        _document(_file("/etc/kubernetes/a", "https://wrong-authority/a")),
        "at $.storage.files.1.contents.source: it cannot be fetched: its certificate is signed by an author",
    ),
    "source by a protocol of others": (
        _document(_file("/etc/kubernetes/a", "s3://bucket/a")),
        "at $.storage.files.1.contents.source: s3 is not fetched by this program; use http or https",
    ),
    "data URL that is none": (
        _document(_file("/etc/kubernetes/a", "data:;base64,!")),
        "line 16, column 16 at $.storage.files.1.contents.source: it is a data URL that cannot be decoded: ",
    ),
    "gzip bomb": (
        _document(_file("/etc/kubernetes/a", _bomb(), compression="gzip")),
        "at $.storage.files.1.contents.source: it is larger than 2,000,000 bytes unpacked",
    ),
    "100,000 files": (
        _document(*({"path": f"/{number}"} for number in range(100_000))),
        "at $.storage.files: 100,001 of them; a node has no use for more than 10,000",
    ),
    "folders without end": (
        _document(_file(_DEEP)),
        "at $.storage.files.1.path: it lies deeper than 60 folders",
    ),
    "the same but for capitals": (
        _document(_file("/etc/kubernetes/CA.crt"), _file("/etc/kubernetes/ca.crt")),
        'line 20, column 13 at $.storage.files.2.path: Windows takes it for the same file as "/etc/kubernete',
    ),
    "the same as a generated one but for capitals": (
        _document(_file("/etc/kubernetes/Kubelet.conf")),
        r'$.storage.files.1.path: Windows takes it for the same file as "C:\etc\kubernetes\kubelet.conf"',
    ),
    "a file where a folder has to be": (
        _document(_file("/etc/kubernetes/PKI"), _file("/etc/kubernetes/pki/ca.crt")),
        "at $.storage.files.1.path: it would be a file where there has to be a folder",
    ),
    "a file where the kubelet's folder has to be": (
        _document(_file("/var/lib/kubelet")),
        "at $.storage.files.1.path: it would be a file where there has to be a folder",
    ),
    "dots": (
        _document(_file("/etc/kubernetes/../passwd")),
        "at $.storage.files.1.path: write the path",
    ),
    "drive letter": (
        _document(_file("/etc/kubernetes/c:/a")),
        '$.storage.files.1.path: "/etc/kubernetes/c:/a" cannot be a path on Windows: \'c:\' contains \':\'',
    ),
    "device": (
        _document(_file("/etc/kubernetes/COM1.conf")),
        "on Windows: 'COM1.conf' is the name of a device on Windows",
    ),
    "alternate data stream": (
        _document(_file("/etc/kubernetes/ca.crt:hidden")),
        "on Windows: 'ca.crt:hidden' contains ':', which no Windows name can",
    ),
    "dot at the end": (
        _document(_file("/etc/kubernetes/ca.crt.")),
        "on Windows: 'ca.crt.' ends with a blank or a dot, which Windows would drop",
    ),
    "blank at the end": (
        _document(_file("/etc/kubernetes/ca.crt ")),
        "on Windows: 'ca.crt ' ends with a blank or a dot, which Windows would drop",
    ),
    "short name": (
        _document(_file("/etc/kubernetes/KUBELE~1.CON")),
        "on Windows: 'KUBELE~1.CON' may be Windows' short name of another file",
    ),
    "a folder that Windows cannot have": (
        {**_document(), "storage": {"directories": [{"path": "/etc/kubernetes/nul"}]}},
        "at $.storage.directories.0.path: \"/etc/kubernetes/nul\" cannot be a path on Windows: 'nul' is",
    ),
    "the kubelet is told of a folder of Windows": (
        _document(units=[{**_KUBELET_UNIT, "contents": UNIT.strip() + " --cert-dir=/Windows\n[Install]\n"}]),
        'kubelet.service line 2 at $.Service.ExecStart: --cert-dir="/Windows": C:\\Windows is Windows\' own',
    ),
    "a configuration without end": (
        _document(_file("/etc/kubernetes/kubelet.conf", "data:," + "a" * 1_048_577)),
        "at $.storage.files.1.contents.source: it is larger than 1,048,576 bytes",
    ),
    "much to read in many files": (
        _document(
            *(_file(f"/etc/kubernetes/{number}", "data:," + "%0A" * 300_000) for number in range(5)),
            units=[{**_KUBELET_UNIT, "contents": UNIT + "EnvironmentFile=/etc/kubernetes/*\n[Install]\n"}],
        ),
        "at $.storage.files.4.contents.source: with it, what the kubelet is made from is larger than 1,048,",
    ),
    "a configuration that is none": (
        _document(_file("/etc/kubernetes/kubelet.conf", "data:,%5B%5D")),
        "/etc/kubernetes/kubelet.conf: a mapping of settings was expected",
    ),
    "a configuration with a wrong value": (
        _document(
            _file(
                "/etc/kubernetes/kubelet.conf",
                "data:,apiVersion:%20kubelet.config.k8s.io/v1beta1%0Akind:%20KubeletConfiguration%0AmaxPods:%20a",
            )
        ),
        "/etc/kubernetes/kubelet.conf line 3, column 10 at $.maxPods: a whole number was expected",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_clear_line(name: str) -> None:
    document, words = CASES[name]
    made = _compiled(document, limits=ignition.Limits(contents_size=2_000_000))
    assert made.specification is None
    (error,) = made.report.errors
    assert words in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 400


def test_the_same_document_without_a_fault() -> None:
    document = _document(_file("/etc/kubernetes/a", "https://somebody/a", verification=_RIGHT_HASH))
    assert _compiled(document).specification


@pytest.mark.parametrize(
    "path",
    ["/etc/x:y", "/opt/COM1", "/etc/Hosts.", "/usr/KUBELE~1.CON", "/Windows/x", "/etc/motd", "/etc/MOTD"],
)
def test_files_that_no_windows_node_needs_may_be_called_anything(path: str) -> None:
    made = _compiled(_document(_file("/etc/motd.d/a"), _file(path, "https://nobody/a")))
    assert made.specification
    assert f"file {path}" in [note.subject for note in made.specification.notes]


@pytest.mark.parametrize(
    ("directory", "words"),
    [
        ("C:\\", "it is a whole drive"),
        ("k", "it has to be a folder on a drive"),
        (r"\k", "it has to be a folder on a drive"),
        (r"\\server\share\k", "it has to be a folder on a drive"),
        (r"C:\Windows\System32", r"C:\\Windows is Windows' own"),
        (r"c:\program files", r"c:\\program files is Windows' own"),
        (r"C:\etc", "other folders of the node lie in it"),
        (r"C:\ETC\Kubernetes", "the kubelet's credentials lie in it"),
        (r"C:\var\log\kubelet", "the kubelet's log lies in it"),
        (r"C:\k\..\Windows", "'..' leads back out of its folder"),
        (r"C:\k\nul", "'nul' is the name of a device"),
        (r"C:\k.", "ends with a blank or a dot"),
    ],
)
def test_install_directories_that_are_none(directory: str, words: str) -> None:
    made = _compiled(_document(), worker.Placement(None, install_directory=PureWindowsPath(directory)))
    assert made.specification is None
    (error,) = made.report.errors
    assert str(error).startswith("error: the install directory: ")
    assert words.replace("\\\\", "\\") in str(error).replace("\\\\", "\\")


@pytest.mark.parametrize(
    "directory", [r"C:\k", r"D:\Programs", r"C:\Program Files\Kubernetes", r"C:\var\lib\k", r"D:\k\a b"]
)
def test_install_directories(directory: str) -> None:
    path = PureWindowsPath(directory)
    made = _compiled(_document(), worker.Placement(None, install_directory=path))
    assert made.specification
    assert [want.key.name for want in made.specification.wants if want.key.name.endswith("kubelet.exe")] == [
        str(path / "kubelet.exe")
    ]
