"""kubeadm-flags.env as people edit it, and `wmcb upgrade` on that node."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.host.protection import PRIVATE_FILE
from sandbox.cli.given import Answer, Machine
from sandbox.cli.test_join import Cluster, cluster, join, text, windows
from unit.kube.api_server import ROOT, kubeconfig_of

__all__ = ["cluster", "windows"]

ARGUMENTS = r"C:\var\lib\kubelet\kubeadm-flags.env"
KUBELET_CONF = r"C:\etc\kubernetes\kubelet.conf"


@pytest.fixture
def node(windows: Machine, cluster: Cluster) -> Machine:
    """One that has joined by the name of foo, and whose kubelet was admitted."""
    assert join(windows, cluster, "--node-name", "foo").code == 0
    windows.put(KUBELET_CONF, kubeconfig_of(cluster.server.url, ROOT).encode())
    return windows


def upgraded(machine: Machine, arguments: bytes) -> Answer:
    machine.host.files.write(PureWindowsPath(ARGUMENTS), arguments, PRIVATE_FILE)
    return machine.wmcb("upgrade", "--kubelet-version", "1.36")


NAME = "--hostname-override=foo --node-ip=192.0.2.10"
EDITED = {
    "nothing": (f'KUBELET_KUBEADM_ARGS="{NAME}"\n', ""),
    "a byte order mark, as Windows writes UTF-8": (f'\ufeffKUBELET_KUBEADM_ARGS="{NAME}"\r\n', ""),
    "a value after its name": (
        f'KUBELET_KUBEADM_ARGS="{NAME} --node-labels a=b --v 5"',
        " --node-labels=a=b --v=5",
    ),
    "a switch": (
        f'KUBELET_KUBEADM_ARGS="{NAME} --rotate-server-certificates --v=5"',
        " --rotate-server-certificates=true --v=5",
    ),
    "what no kubelet is known to have": (
        f'KUBELET_KUBEADM_ARGS="{NAME} --new a --newer --newest"',
        " --new=a --newer=true --newest=true",
    ),
}


@pytest.mark.parametrize(("given", "more"), EDITED.values(), ids=EDITED)
def test_they_stay(node: Machine, given: str, more: str) -> None:
    answer = upgraded(node, given.encode())
    assert answer.code == 0, answer.err
    (words,) = text(node, ARGUMENTS).splitlines()
    kept = words.removeprefix('KUBELET_KUBEADM_ARGS="').removesuffix('"').split()
    assert sorted(kept) == sorted(f"{NAME}{more}".split())


LOST = {
    "nothing": b"",
    "another variable": b"KUBELET_EXTRA_ARGS=--v=5\n",
    "UTF-16, as PowerShell writes it": f'KUBELET_KUBEADM_ARGS="{NAME}"'.encode("utf-16"),
    "no UTF-8": b'KUBELET_KUBEADM_ARGS="--hostname-override=f\xfc"',
}


@pytest.mark.parametrize("given", LOST.values(), ids=LOST)
def test_without_them_it_is_not_made_another_node(node: Machine, given: bytes) -> None:
    answer = upgraded(node, given)
    assert answer.code == 1
    (line,) = answer.error_lines
    assert "kubeadm-flags.env does not say what this node's kubelet is started with" in line
    assert node.read(ARGUMENTS) == given
