"""The commands of README and docs that need Windows, run by the built exe as the pages have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from documentation import blocks, on_windows
from documentation.blocks import Command, Place
from lab.standin_kubelet import StandinKubelet
from windows.exe import SHIPPED
from windows.test_bootstrap import DATA, RUNTIME

if TYPE_CHECKING:
    from lab.node import Node

PAGES = ("README.md", "docs/guides/openshift.md")

NO_PIPE = "--ignore-preflight-errors containerd-pipe"
"""The stand-in for containerd serves none."""
IN_THE_LAB = {
    "wmcb.exe --ignition": f"wmcb.exe {NO_PIPE} --ignition",
    "wmcb.exe preflight": f"wmcb.exe preflight {NO_PIPE}",
    "wmcb.exe initialize-kubelet": f"wmcb.exe initialize-kubelet {NO_PIPE}",
}


def test_no_page_is_left_out() -> None:
    has_any = [page for page in blocks.pages() if _commands(page)]
    assert has_any == list(PAGES)


def _commands(page: str) -> list[Command]:
    steps = blocks.steps(blocks.of_page(page), Place.WINDOWS)
    return [each for each in steps if isinstance(each, Command)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_is_printed(node: Node, page: str) -> None:
    give_what_readers_have(node)
    on_windows.check(page, Place.WINDOWS, node, IN_THE_LAB)


def give_what_readers_have(node: Node) -> None:
    """The exe, the worker's Ignition, a kubelet.exe, and containerd as a service."""
    node.copy_in(SHIPPED, r"C:\wmcb.exe")
    node.copy_in(DATA / "worker-3.4.ign", r"C:\worker.ign")
    StandinKubelet(node, r"C:\downloads\kubelet.exe", version="1.31.0", starts=r"C:\starts.txt")
    StandinKubelet(node, RUNTIME, address="127.0.0.1:10999", starts=r"C:\containerd.txt")
    node.create_service("containerd", f'"{RUNTIME}" --windows-service', automatic=True)
