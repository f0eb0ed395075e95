"""`wmcb join` by other means than a token and a hash: a token alone, a kubeconfig, one on a web server."""

from __future__ import annotations

import pytest

from cluster.test_join import Joiner, check_joined
from lab.certificates import Authority
from lab.cluster.cluster import CLUSTER_INFO, Cluster
from lab.cluster.runtime import ContainerRuntime
from lab.fixtures import secure_web, web_authority
from lab.node import Node
from lab.running import Result
from lab.web import Page, Web
from windows.test_fetching import trust

__all__ = ["secure_web", "web_authority"]

FILE = r"C:\given\discovery.conf"
PATH = "/discovery.conf"
HASH = "--discovery-token-ca-cert-hash"
UNCHECKED = "--discovery-token-unsafe-skip-ca-verification"


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Joiner:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    return made


@pytest.fixture
def kubeconfig(cluster: Cluster) -> str:
    """Of the cluster, with nobody's credentials."""
    told: str = cluster.api.get(CLUSTER_INFO)["data"]["kubeconfig"]
    assert "token" not in told
    return told


def join(joiner: Joiner, where: str) -> Result:
    token = joiner.cluster.fresh_bootstrap_token()
    words = ("join", "--discovery-file", where, "--tls-bootstrap-token", token)
    return joiner.wmcb(*words, "--cri-socket", joiner.runtime.endpoint, "--runtime-service", "none")


def test_a_token_alone(joiner: Joiner) -> None:
    words = [word for word in joiner.by_options() if word not in (HASH, joiner.cluster.ca_hash)]
    refused = joiner.wmcb(*words)
    assert (refused.code, refused.out) == (2, "")
    assert UNCHECKED in refused.err
    done = joiner.wmcb(*words, UNCHECKED)
    assert done.code == 0, done.err
    warned = "is not checked: whoever knows the token can pretend to be it; this one's hash is"
    assert f"{warned} {joiner.cluster.ca_hash}" in done.err
    check_joined(joiner)


def test_a_file(joiner: Joiner, kubeconfig: str) -> None:
    file = joiner.machine.path(FILE)
    file.parent.mkdir()
    file.write_text(kubeconfig)
    done = join(joiner, FILE)
    assert done.code == 0, done.err
    check_joined(joiner)


def test_a_web_server_that_windows_trusts(
    joiner: Joiner, kubeconfig: str, secure_web: Web, web_authority: Authority
) -> None:
    secure_web.pages[PATH] = Page(kubeconfig.encode())
    refused = join(joiner, secure_web.url(PATH))
    assert (refused.code, refused.out) == (1, "")
    assert "which is not trusted here" in refused.err
    assert secure_web.requests == []

    trust(joiner.machine, web_authority)
    done = join(joiner, secure_web.url(PATH))
    assert done.code == 0, done.err
    check_joined(joiner)
