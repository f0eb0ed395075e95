"""`wmcb upgrade` on a machine that is a folder: what it goes by, and whom it refuses."""

from __future__ import annotations

import re

import pytest

from agent.cli import main
from agent.sources.kubeadm.arguments_file import arguments_in
from sandbox.cli.given import Machine, program
from sandbox.cli.test_join import Cluster, cluster, join, windows
from unit.kube.api_server import ROOT as AUTHORITY
from unit.kube.api_server import TOKEN, kubeconfig_of

__all__ = ["cluster", "windows"]

KUBELET_CONF = r"C:\etc\kubernetes\kubelet.conf"
ARGUMENTS = r"C:\var\lib\kubelet\kubeadm-flags.env"

OWN = """\
apiVersion: v1
kind: Config
clusters:
- {{name: kubernetes, cluster: {{server: "{server}", certificate-authority-data: {authority}}}}}
users:
- {{name: node, user: {{token: {token}}}}}
contexts:
- {{name: own, context: {{cluster: kubernetes, user: node}}}}
current-context: own
"""


@pytest.fixture
def joined(windows: Machine, cluster: Cluster) -> Machine:
    """With what its kubelet would have written."""
    assert join(windows, cluster, "--node-name", "other").code == 0
    found = kubeconfig_of(cluster.server.url, AUTHORITY)
    authority = found.partition("certificate-authority-data: ")[2].partition("\n")[0]
    own = OWN.format(server=cluster.server.url, authority=authority, token=TOKEN)
    windows.put(KUBELET_CONF, own.encode())
    return windows


def upgrade(machine: Machine, *more: str) -> str:
    answer = machine.wmcb("upgrade", "--kubelet-version", "1.36", *more)
    assert answer.code == 0, answer.err
    return answer.out


def test_as_it_is_there_is_nothing_to_do(joined: Machine) -> None:
    upgrade(joined)  # the bootstrap credentials go
    assert upgrade(joined).startswith("nothing to do")


def test_another_kubelet(joined: Machine) -> None:
    upgrade(joined, "--kubelet", joined.give("new.exe", program(tail=b"2")))
    assert joined.read(r"C:\k\kubelet.exe") == program(tail=b"2")


def test_its_name_and_arguments_stay(joined: Machine) -> None:
    text = joined.read(ARGUMENTS).decode().replace('"\n', ' --v=7"\n')
    joined.put(ARGUMENTS, text.encode())
    upgrade(joined)
    found = arguments_in(ARGUMENTS, joined.read(ARGUMENTS))
    arguments = {each.name: each.value for each in found or ()}
    assert arguments["hostname-override"] == "other"
    assert arguments["v"] == "7"


def test_what_somebody_took_out_stays_out(joined: Machine) -> None:
    text = joined.read(ARGUMENTS).decode()
    (address,) = re.findall(r'--node-ip=[^\s"]+ ?', text)
    joined.put(ARGUMENTS, text.replace(address, "").encode())
    upgrade(joined)
    assert "--node-ip" not in joined.read(ARGUMENTS).decode()


@pytest.mark.parametrize(
    "contents",
    [
        'KUBELET_KUBEADM_ARGS="--v=2',
        'KUBELET_KUBEADM_ARGS="--v=2\nOTHER=\n',
        "KUBELET_KUBEADM_ARGS=--node-labels='a=b\n",
        'KUBELET_KUBEADM_ARGS="--v=2 --node-labels=\'a=b"\n',
        "OTHER='\nKUBELET_KUBEADM_ARGS=\n",
    ],
)
def test_a_quote_that_is_never_closed(joined: Machine, contents: str) -> None:
    joined.put(ARGUMENTS, contents.encode())
    answer = joined.wmcb("upgrade", "--kubelet-version", "1.36")
    assert answer.code == 1
    assert answer.error_lines[-1] == (
        f"wmcb: {ARGUMENTS}: a quote in it is never closed; close it: no kubelet starts with that"
    )
    assert joined.read(ARGUMENTS).decode() == contents


@pytest.mark.parametrize("end", ["", "\n", "\\\n", "\\"], ids=ascii)
def test_a_file_may_end_as_it_likes(joined: Machine, end: str) -> None:
    joined.put(ARGUMENTS, f"KUBELET_KUBEADM_ARGS=--hostname-override=other{end}".encode())
    upgrade(joined)


def test_the_clusters_configuration_is_taken_anew(joined: Machine, cluster: Cluster) -> None:
    cluster.configure("maxPods: 77")
    upgrade(joined)
    assert "maxPods: 77" in joined.read(r"C:\var\lib\kubelet\config.yaml").decode()


@pytest.mark.parametrize("words", [("upgrade",), ("upgrade", "--dry-run")], ids=" ".join)
def test_what_has_not_joined(machine: Machine, words: tuple[str, ...]) -> None:
    answer = machine.wmcb(*words)
    assert answer.code == 3
    assert answer.error_lines[-1].startswith("wmcb: this machine is no node that has joined a cluster")


NO_EFFECT = " has no effect here: it is not looked at"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--certificate-renewal=true",),
            [f"warning: --certificate-renewal{NO_EFFECT}"],
        ),
        (("--certificate-renewal=false", "--etcd-upgrade=false"), []),
        (("--etcd-upgrade",), [f"warning: --etcd-upgrade{NO_EFFECT}"]),
        (("--skip-phases", "preflight,addon/coredns"), []),
    ],
    ids=str,
)
def test_as_scripts_ask_kubeadm_for_it(joined: Machine, words: tuple[str, ...], told: list[str]) -> None:
    joined.output.readouterr()
    asked = [
        "upgrade",
        "node",
        *words,
        "--ignore-preflight-errors",
        "kubelet",
        "--sandbox",
        str(joined.place),
    ]
    assert main.run(asked, "kubeadm") == 0
    lines = joined.output.readouterr().err.splitlines()
    assert [line for line in lines if "no effect" in line] == [f"wmcb: {line}" for line in told]
