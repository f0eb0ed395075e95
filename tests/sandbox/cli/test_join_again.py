"""`wmcb join` on a machine that is a node: the same cluster, another, one that nobody can tell from it."""

from __future__ import annotations

from base64 import b64encode

import pytest

from sandbox.cli.given import Answer, Machine
from sandbox.cli.test_join import Cluster, cluster, join, windows
from sandbox.cli.test_upgrade import OWN, joined
from sandbox.cli.test_user_data import SENTINEL, carry_out, given, has
from unit.fetch.authority import issue
from unit.kube.api_server import ROOT, TOKEN, kubeconfig_of
from unit.kube.test_token_discovery import pinned

__all__ = ["cluster", "given", "joined", "windows"]

OTHER = issue("other", authority=True)


def by_file(machine: Machine, cluster: Cluster, authority: object) -> Answer:
    found = kubeconfig_of(cluster.server.url, authority)  # type: ignore[arg-type]
    data = found.partition("certificate-authority-data: ")[2].partition("\n")[0]
    config = OWN.format(server=cluster.server.url, authority=data, token=TOKEN)
    machine.put(r"C:\given\discovery.conf", config.encode())
    return machine.wmcb("join", "--discovery-file", r"C:\given\discovery.conf", "--kubelet-version", "1.36")


def test_the_same_by_its_hash(joined: Machine, cluster: Cluster) -> None:
    assert join(joined, cluster, "--node-name", "other").code == 0


def test_the_same_by_a_file(joined: Machine, cluster: Cluster) -> None:
    answer = by_file(joined, cluster, ROOT)
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("how", ["hash", "file"])
def test_another_one(joined: Machine, cluster: Cluster, how: str) -> None:
    asked = len(cluster.server.asked)
    answer = join(joined, cluster, pin=pinned(OTHER)) if how == "hash" else by_file(joined, cluster, OTHER)
    assert answer.code == 1
    assert "this machine is a node of another cluster" in answer.error_lines[-1]
    assert f"; {joined.called} reset takes it out of that first; " in answer.error_lines[-1]
    assert len(cluster.server.asked) == asked


AUTHORITIES = {
    "none that can be read": (
        b"x",
        r"wmcb: C:\etc\kubernetes\kubelet.conf: cluster.certificate-authority: the public key of a "
        "certificate there cannot be read, by which the cluster is known; ",
    ),
    "none": (b"", "wmcb: this machine is a node of another cluster, "),
}


@pytest.mark.parametrize("how", ["hash", "file"])
@pytest.mark.parametrize(("authority", "says"), AUTHORITIES.values(), ids=AUTHORITIES)
def test_the_authority_of_its_own_cluster(
    joined: Machine, cluster: Cluster, how: str, authority: bytes, says: str
) -> None:
    own = OWN.format(server=cluster.server.url, authority=b64encode(authority).decode(), token=TOKEN)
    joined.put(r"C:\etc\kubernetes\kubelet.conf", own.encode())
    answer = join(joined, cluster) if how == "hash" else by_file(joined, cluster, ROOT)
    assert answer.code == 1
    assert answer.error_lines[-1].startswith(says)


def test_one_that_nobody_can_tell_from_it(joined: Machine) -> None:
    unverified = ("--discovery-token-unsafe-skip-ca-verification", "--kubelet-version", "1.36")
    answer = joined.wmcb("join", "elsewhere.example:6443", "--token", TOKEN, *unverified)
    assert answer.code == 0, answer.err
    assert "whether elsewhere.example:6443 is the same cluster is not known" in answer.err


def test_a_file_without_an_authority_tells_no_cluster_from_it(joined: Machine, cluster: Cluster) -> None:
    own = OWN.format(server=cluster.server.url, authority="", token=TOKEN)
    config = own.replace(", certificate-authority-data: ", "")
    joined.put(r"C:\given\discovery.conf", config.encode())
    answer = joined.wmcb("join", "--discovery-file", r"C:\given\discovery.conf", "--kubelet-version", "1.36")
    assert answer.code == 0, answer.err
    assert "is the same cluster is not known" in answer.err


def test_what_user_data_made_stays(windows: Machine, cluster: Cluster, given: str) -> None:
    assert carry_out(windows, given).code == 0
    assert join(windows, cluster).code == 0
    assert has(windows, SENTINEL)
    assert windows.read(r"C:\opt\first.txt") == b"first"


@pytest.mark.parametrize("words", [(), ("plan",)], ids=["run", "plan"])
def test_an_ignition_on_a_machine_that_has_joined(joined: Machine, words: tuple[str, ...]) -> None:
    before = joined.picture()
    answer = joined.wmcb(*words, *joined.node)
    assert answer.code == 3
    assert "this machine has joined a cluster already (node other of the cluster at" in answer.error_lines[-1]
    assert joined.picture() == before


@pytest.mark.parametrize("by", ["options", "a document", "user data"])
def test_a_join_on_a_node_of_an_ignition(windows: Machine, cluster: Cluster, given: str, by: str) -> None:
    assert windows.wmcb(*windows.node).code == 0
    windows.put(r"C:\etc\kubernetes\kubelet.conf", b"kind: KubeletConfiguration\n")
    before, configuration = windows.picture(), windows.give("join.yaml", cluster.join_configuration())
    if by == "options":
        answer = join(windows, cluster)
    elif by == "a document":
        answer = windows.wmcb("--kubeadm-config", configuration, "--kubelet-version", "1.36")
    else:
        answer = carry_out(windows, given)
    assert answer.code == 3
    (line,) = answer.error_lines
    assert line.startswith("wmcb: this machine is a node of ")
    reset = f"run {windows.called} reset first, which takes it out of that"
    assert line.endswith(f"worker-3.4.ign, Ignition 3.4.0; {reset}")
    assert cluster.server.asked == []
    assert windows.picture() == before
