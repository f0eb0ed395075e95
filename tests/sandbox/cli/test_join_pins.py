"""`wmcb join` where cluster-info names more authorities than the pinned one: which of them are trusted."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from sandbox.cli.given import Machine
from sandbox.cli.test_join import Cluster, join, text, windows
from unit.fetch.authority import Issued, issue, serving
from unit.kube.api_server import CLUSTER_INFO, ROOT, TOKEN, ApiServer, cluster_info, kubeconfig_of
from unit.kube.test_token_discovery import pinned

__all__ = ["windows"]

OTHER = issue("other", authority=True)
NAMESAKE = issue("kubernetes", authority=True)
"""As kubeadm calls the authority of every cluster."""
UNCHECKED = "--discovery-token-unsafe-skip-ca-verification"


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Its cluster-info, signed by the token, names the parameter's authority beside the genuine one."""
    other, signer = request.param
    with ApiServer(serving(tmp_path, issue("api", signer))) as started:
        made = Cluster(started)
        started.at(CLUSTER_INFO, cluster_info(kubeconfig_of(started.url, other, ROOT)))
        yield made


def trusted(machine: Machine) -> tuple[bytes, bytes]:
    """What ca.crt and the bootstrap kubeconfig hold."""
    config = yaml.safe_load(text(machine, r"C:\etc\kubernetes\bootstrap-kubelet.conf"))
    (one,) = config["clusters"]
    return (
        machine.read(r"C:\etc\kubernetes\pki\ca.crt"),
        base64.b64decode(one["cluster"]["certificate-authority-data"]),
    )


@pytest.mark.parametrize(
    ("cluster", "signer"),
    [((OTHER, OTHER), OTHER), ((NAMESAKE, NAMESAKE), NAMESAKE)],
    indirect=["cluster"],
    ids=["of another name", "of the same name"],
)
def test_a_server_of_an_unpinned_authority_is_refused(
    windows: Machine, cluster: Cluster, signer: Issued
) -> None:
    before = windows.picture()
    answer = join(windows, cluster)
    assert answer.code == 1
    name = signer.certificate.subject.rfc4514_string()
    assert f"an authority whose hash was not given: {name}, " in answer.error_lines[-1]
    assert pinned(signer) in answer.error_lines[-1]
    assert "give the hash of each" in answer.error_lines[-1]
    assert windows.picture() == before
    assert [asked.headers.get("Authorization") for asked in cluster.server.asked] == [None]


@pytest.mark.parametrize("cluster", [(OTHER, ROOT)], indirect=True, ids=["an authority too many"])
def test_what_the_node_trusts_is_pinned(windows: Machine, cluster: Cluster) -> None:
    answer = join(windows, cluster)
    assert answer.code == 0, answer.err
    assert trusted(windows) == (ROOT.pem, ROOT.pem)
    assert f"which are not trusted: CN=other,OU=test, {pinned(OTHER)}\n" in answer.err


@pytest.mark.parametrize("cluster", [(OTHER, OTHER)], indirect=True, ids=["a rotation"])
@pytest.mark.parametrize("how", ["options", "a document"])
def test_each_pinned_authority_is_trusted(windows: Machine, cluster: Cluster, how: str) -> None:
    if how == "options":
        answer = join(windows, cluster, "--discovery-token-ca-cert-hash", pinned(OTHER))
    else:
        hashes = f'"{pinned(OTHER)}", "{pinned(ROOT)}"'
        document = cluster.join_configuration().replace(f'"{pinned(ROOT)}"', hashes)
        file = windows.give("join.yaml", document)
        answer = windows.wmcb("join", "--config", file, "--kubelet-version", "1.36")
    assert answer.code == 0, answer.err
    assert trusted(windows) == (OTHER.pem + ROOT.pem,) * 2
    assert "not trusted" not in answer.err


@pytest.mark.parametrize("cluster", [(OTHER, OTHER)], indirect=True, ids=["no pin"])
def test_without_a_pin_all_of_cluster_info_is_trusted_and_said(windows: Machine, cluster: Cluster) -> None:
    words = (cluster.server.place, "--token", TOKEN, UNCHECKED, "--kubelet-version", "1.36")
    answer = windows.wmcb("join", *words)
    assert answer.code == 0, answer.err
    assert trusted(windows) == (OTHER.pem + ROOT.pem,) * 2
    assert f"this one's hash is {pinned(OTHER)}, {pinned(ROOT)}" in answer.err
