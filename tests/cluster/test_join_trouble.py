"""`wmcb join` where the cluster, the token or the way between is not as it should be."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Unpack

import pytest

from cluster.test_join import Joiner, check_joined
from lab.cluster.audit import Request
from lab.cluster.cluster import Cluster
from lab.cluster.runtime import ContainerRuntime
from lab.node import Node
from lab.running import Circumstances, Result
from lab.waiting import until
from lab.web import proxying
from windows.exe import DOWNLOADED

FILE = r"C:\given\join.yaml"
# Of a token that is not known it is asked again, as it may just have been made.
JOIN = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
timeouts: {{discovery: 2s}}
discovery:
  bootstrapToken: {{token: {token}, apiServerEndpoint: "{address}", {trust}}}
nodeRegistration: {{name: {name}, criSocket: "{runtime}"}}
"""


@pytest.fixture
def joiner(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Joiner:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    return made


def configure(
    joiner: Joiner, token: str | None = None, trust: str | None = None, name: str | None = None
) -> None:
    file = joiner.machine.path(FILE)
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        JOIN.format(
            token=token or joiner.cluster.fresh_bootstrap_token(),
            address=joiner.cluster.address,
            trust=trust or f'caCertHashes: ["{joiner.cluster.ca_hash}"]',
            name=name or joiner.name,
            runtime=joiner.runtime.endpoint,
        )
    )


def join(joiner: Joiner, **circumstances: Unpack[Circumstances]) -> Result:
    words = ("join", "--config", FILE, "--runtime-service", "none")
    return joiner.machine.run(DOWNLOADED, *words, **circumstances)


def refused(joiner: Joiner, **circumstances: Unpack[Circumstances]) -> str:
    """What it says. All of the machine is as it was, and no Node has come of it."""
    before, node = joiner.machine.snapshot(), joiner.cluster.node(joiner.name)
    done = join(joiner, **circumstances)
    assert (done.code, done.out) == (1, "")
    assert before.changes_until(joiner.machine.snapshot()) == []
    assert joiner.machine.service("kubelet") is None
    assert (joiner.cluster.node(joiner.name) is None) == (node is None)
    return done.err


# What was given


def test_another_authority_was_pinned(joiner: Joiner) -> None:
    configure(joiner, trust=f'caCertHashes: ["sha256:{"0" * 64}"]')
    told = refused(joiner)
    assert f"has another certificate authority than was given: {joiner.cluster.ca_hash};" in told


@pytest.mark.parametrize("expired", [False, True], ids=["never was", "expired"])
def test_a_token_that_nobody_knows(joiner: Joiner, expired: bool) -> None:
    token = joiner.cluster.fresh_bootstrap_token(expired=True) if expired else "abcdef.0123456789abcdef"
    configure(joiner, token)
    told = refused(joiner)
    name, _, secret = token.partition(".")
    assert f"does not know the token {name}: it has expired, or was made a moment ago" in told
    assert secret not in told


def test_a_node_of_that_name_is_ready(joiner: Joiner) -> None:
    """Somebody else's: a second kubelet of that name would take its place."""
    (name,) = joiner.cluster.make_nodes(1).names
    configure(joiner, name=name)
    assert f"a Node {name} is in the cluster already, and is Ready" in refused(joiner)


# Somebody in between

TRUSTING = "unsafeSkipCAVerification: true"
OTHER_KEY = "trusts one of that name, with another key: another machine may be answering at that address"
NO_SECRET = "does not know the secret of the token"  # noqa: S105


@pytest.mark.parametrize(
    ("lying", "trust", "told"),
    [
        pytest.param(False, None, OTHER_KEY, id="passing on"),
        pytest.param(False, TRUSTING, OTHER_KEY, id="passing on, unpinned"),
        pytest.param(True, None, NO_SECRET, id="lying"),
        pytest.param(True, TRUSTING, NO_SECRET, id="lying, unpinned"),
    ],
)
def test_another_authority_answers_at_the_address(
    joiner: Joiner, lying: bool, trust: str | None, told: str
) -> None:
    configure(joiner, trust=trust)
    with joiner.cluster.impostor(lying=lying) as impostor:
        assert told in refused(joiner)
    # No more than anybody may ask: above all not with the token.
    assert [request.path.rpartition("/")[2] for request in impostor.requests] == ["cluster-info"]
    assert all("Authorization" not in request.headers for request in impostor.requests)


def test_a_clock_and_a_certificate_that_do_not_go_together(joiner: Joiner) -> None:
    """To the machine it is the same whether its clock is late or the certificate is old."""
    configure(joiner)
    with joiner.cluster.expired_serving_certificate():
        told = refused(joiner)
    assert re.search(r"expired at .* UTC; this machine's clock says .* UTC", told), told


# The way to the API server


def test_slow_answers_are_waited_for(joiner: Joiner) -> None:
    configure(joiner)
    with joiner.cluster.proxy.slow(0.3):
        done = join(joiner)
    assert done.code == 0, done.err
    check_joined(joiner)


def test_through_a_proxy(joiner: Joiner) -> None:
    configure(joiner)
    with proxying() as proxy:
        done = join(joiner, environment={"HTTPS_PROXY": proxy.url})
    assert done.code == 0, done.err
    assert {(asked.method, asked.path) for asked in proxy.requests} == {("CONNECT", joiner.cluster.address)}
    check_joined(joiner)


UNREACHABLE: dict[str, tuple[Callable[[Cluster], AbstractContextManager[None]], dict[str, str], str]] = {
    "it refuses": (
        lambda cluster: cluster.proxy.refusing(),
        {},
        "refuses the connection: nothing listens there",
    ),
    "it is silent": (lambda cluster: cluster.proxy.cut_off(), {}, "did not finish within"),
    "a proxy that is not there": (lambda _: nullcontext(), {"HTTPS_PROXY": "http://10.77.0.1:9"}, "proxy"),
}


@pytest.mark.parametrize(("way", "environment", "told"), UNREACHABLE.values(), ids=UNREACHABLE)
def test_an_api_server_that_cannot_be_reached(
    joiner: Joiner,
    way: Callable[[Cluster], AbstractContextManager[None]],
    environment: dict[str, str],
    told: str,
) -> None:
    configure(joiner)
    with way(joiner.cluster):
        assert told in refused(joiner, environment=environment)


# The API server goes away in the middle


def _asked(of: Callable[[Request], bool]) -> Callable[[Cluster], bool]:
    return lambda cluster: any(of(request) for request in cluster.requests())


MOMENTS = {
    "at discovery": _asked(lambda r: r.program == "wmcb" and r.name == "cluster-info"),
    "with the configuration half read": _asked(lambda r: r.program == "wmcb" and r.name == "kubelet-config"),
    "when the kubelet asks for its certificate": _asked(
        lambda r: r.program == "kubelet.exe" and r.resource == "certificatesigningrequests"
    ),
    "when the Node comes up": _asked(
        lambda r: r.program == "kubelet.exe" and r.resource == "nodes" and r.verb == "create"
    ),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_the_api_server_is_restarted(joiner: Joiner, moment: Callable[[Cluster], bool]) -> None:
    cluster = joiner.cluster
    words = joiner.by_options()
    with cluster.restarting_once(lambda: moment(cluster)):
        done = joiner.wmcb(*words)
        until(lambda: moment(cluster), "that moment came")
    assert done.code == 0, done.err
    check_joined(joiner)
    assert joiner.wmcb(*words).out.startswith("nothing to do")
