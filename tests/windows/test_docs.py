"""The commands of README and docs that need Windows, run by the built exe as the pages have them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.release import RELEASE
from documentation import blocks, on_windows
from documentation.blocks import Place
from lab.node import Node
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from windows.exe import SHIPPED
from windows.test_bootstrap import DATA, FORMER, RUNTIME
from windows.test_installer import fit_for_installers, made

NO_PIPE = "--ignore-preflight-errors containerd-pipe"
"""The stand-in for containerd serves none."""
KUBELET_KEY = r"HKLM\System\CurrentControlSet\Services\kubelet"
IN_THE_LAB = {
    "wmcb.exe --ignition": f"wmcb.exe {NO_PIPE} --ignition",
    "wmcb.exe plan": f"wmcb.exe plan {NO_PIPE}",
    "wmcb.exe preflight": f"wmcb.exe preflight {NO_PIPE}",
    "wmcb.exe initialize-kubelet": f"wmcb.exe initialize-kubelet {NO_PIPE}",
}


def bare(node: Node) -> None:
    """With the exe, the worker's Ignition, a kubelet.exe, and containerd as a service."""
    node.copy_in(SHIPPED, r"C:\wmcb.exe")
    node.copy_in(DATA / "worker-3.4.ign", r"C:\worker.ign")
    StandinKubelet(node, r"C:\downloads\kubelet.exe", version="1.31.0", starts=r"C:\starts.txt")
    StandinKubelet(node, RUNTIME, address="127.0.0.1:10999", starts=r"C:\containerd.txt")
    node.create_service("containerd", f'"{RUNTIME}" --windows-service', automatic=True)


def with_nssm(node: Node) -> None:
    """And a kubelet that NSSM runs, as PrepareNode.ps1 leaves it."""
    bare(node)
    former = FORMER["by NSSM"]
    StandinKubelet(node, former.program, version="1.30.0", starts=r"C:\old.txt")
    node.create_service("kubelet", former.line, automatic=True)
    for below, name, kind, data in former.values:
        key = rf"{KUBELET_KEY}\{below}".rstrip("\\")
        assert node.run("reg.exe", "add", key, "/v", name, "/t", kind, "/d", data, "/f").code == 0
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)


def with_installer(node: Node) -> None:
    """With the MSI of this build."""
    fit_for_installers(node)
    with tempfile.TemporaryDirectory() as folder:
        msi = made(Path(folder), RELEASE)
        node.copy_in(msi, rf"C:\{msi.name}")


PAGES = {
    "README.md": bare,
    "docs/guides/openshift.md": bare,
    "docs/migration.md": with_nssm,
    "packaging/release/README.md": with_installer,
}
"""Of each that has commands for Windows, the machine that its reader has."""


def test_no_page_is_left_out() -> None:
    assert blocks.pages_for(Place.WINDOWS) == list(PAGES)


@pytest.mark.parametrize(("page", "has"), PAGES.items(), ids=PAGES)
def test_a_page_shows_what_is_printed(node: Node, page: str, has: Callable[[Node], None]) -> None:
    has(node)
    on_windows.check(page, Place.WINDOWS, node, IN_THE_LAB)
