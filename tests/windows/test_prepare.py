"""`wmcb prepare` on a bare Windows machine: a kubelet from a mirror over TLS, containerd by a document."""

from __future__ import annotations

import hashlib
import re
import tomllib
from typing import TYPE_CHECKING

from lab import repository
from lab.firewall import Firewall
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.web import Page
from windows.exe import DOWNLOADED, INSTALLED, download
from windows.test_fetching import WINDOWS_TRUST

if TYPE_CHECKING:
    from lab.certificates import Authority
    from lab.node import Node
    from lab.web import Web

KUBELET = r"C:\k\kubelet.exe"
RUNTIME = r"C:\Program Files\containerd\containerd.exe"
CONFIGURATION = r"C:\Program Files\containerd\config.toml"
DOCUMENT = r"C:\given\node.yaml"
GIVEN = r"C:\given\kubelet.exe"
PUBLISHED = "/mirror/v1.36.3/bin/windows/amd64/kubelet.exe"
TEXT = rf"""apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
containerdConfiguration:
  version: 2
  cniPrograms: C:\opt\cni\bin
  withoutSystemdCgroup: true
services:
- name: containerd
  program: {RUNTIME}
  arguments: [--windows-service]
  reads: [{{containerdConfiguration: '{CONFIGURATION}'}}]
"""
BEFORE = (repository.ROOT / "tests" / "data" / "containerd" / "config-2.toml").read_bytes()
CRI = "io.containerd.grpc.v1.cri"
PATH = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
_OF_OTHERS = "|".join(
    [
        r"C:\\(given|standins|users)\\",
        r"C:\\Program Files\\containerd\\config\.toml: file, mode",  # its values are the same
        r"HKEY_USERS\\",
        r"HKEY_LOCAL_MACHINE\\Hardware\\",
        r"HKEY_LOCAL_MACHINE\\Software\\.*SystemCertificates",  # Wine makes a store for whoever looks
        r"HKEY_LOCAL_MACHINE\\System\\[^\\]+\\(Control\\Video|Hardware Profiles)",
        r"HKEY_LOCAL_MACHINE\\System\\[^\\]+\\Services\\SharedAccess",  # the firewall's stand-in
    ]
)
"""What the stand-ins, and Wine at the first program that needs them, have made meanwhile."""


def bare(node: Node, authority: Authority) -> None:
    """With what it is given to be prepared with."""
    download(node)
    StandinKubelet(node, GIVEN, version="1.36.3")
    StandinKubelet(node, RUNTIME, address="127.0.0.1:10999", starts=r"C:\given\containerd.txt")
    node.path(CONFIGURATION).write_bytes(BEFORE)
    node.path(DOCUMENT).write_text(TEXT)
    node.copy_in(authority.certificate, r"C:\given\authority.crt")
    assert node.python("-c", WINDOWS_TRUST, r"C:\given\authority.crt").code == 0


def publish(node: Node, web: Web) -> None:
    content = node.path(GIVEN).read_bytes()
    web.pages[PUBLISHED] = Page(content)
    web.pages[f"{PUBLISHED}.sha256"] = Page(hashlib.sha256(content).hexdigest().encode())


def test_a_bare_machine_is_prepared_once_and_a_reset_leaves_what_it_says(
    node: Node, secure_web: Web, web_authority: Authority
) -> None:
    """One test for all, since each node costs seconds."""
    bare(node, web_authority)
    publish(node, secure_web)
    firewall = Firewall(node)
    before, path_before = node.snapshot(), _path(node)
    words = ("prepare", "--kubernetes-version", "v1.36.3", "--node-config", DOCUMENT)
    mirror = ("--mirror", f"https://dl.k8s.io/={secure_web.url('/mirror/')}")

    planned = node.run(DOWNLOADED, *words, *mirror, "--dry-run")
    assert planned.code == 0, planned.err
    assert "+ create    artifact kubelet.exe" in planned.out
    assert secure_web.requests == []

    result = node.run(DOWNLOADED, *words, *mirror)
    assert (result.code, result.out.splitlines()[0][:27]) == (0, "this machine is prepared: j"), result.err
    assert [request.path for request in secure_web.requests] == [f"{PUBLISHED}.sha256", PUBLISHED]
    assert node.path(KUBELET).read_bytes() == node.path(GIVEN).read_bytes()
    assert _path(node) == rf"{path_before};C:\k;C:\Program Files\wmcb"
    assert {"LPort=10250", "Protocol=6", "Action=Allow"} <= set(firewall.rules["wmcb kubelet"])
    service = node.service("containerd")
    assert service is not None
    assert service.state is State.RUNNING
    written = node.path(CONFIGURATION).read_text()
    assert tomllib.loads(written)["plugins"][CRI]["cni"]["bin_dir"] == r"C:\opt\cni\bin"
    assert "# mirrored by hand" in written
    assert "SystemdCgroup" not in written
    called = node.run(r"C:\Program Files\wmcb\kubeadm.exe", "version", "-o", "short")
    assert called.out == "v1.36.3\n", called.err

    again = node.run(INSTALLED, *words, *mirror)
    assert again.out.startswith("nothing to do"), again.err
    assert len(secure_web.requests) == 2
    assert node.run(INSTALLED, "status").code == 0

    left = node.run(DOWNLOADED, "reset")
    assert r"wmcb itself stays in C:\Program Files\wmcb: wmcb daemon uninstall removes it" in left.out, (
        left.err
    )
    assert node.run(DOWNLOADED, "daemon", "uninstall").code == 0
    assert tomllib.loads(node.path(CONFIGURATION).read_text()) == tomllib.loads(BEFORE.decode())
    assert firewall.rules == {}
    changes = before.changes_until(node.snapshot())
    assert [line for line in changes if not re.match(_OF_OTHERS, line)] == []


def _path(node: Node) -> str:
    key = node.registry(PATH)
    assert key is not None
    return str(key.data("Path"))
