"""`wmcb join` where the cluster, the token or the way between is not as it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cluster.test_join import Joiner, check_joined
from lab.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.cluster.audit import Request
    from lab.cluster.cluster import Cluster
    from lab.cluster.runtime import ContainerRuntime
    from lab.node import Node
    from lab.running import Result

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


def join(joiner: Joiner, token: str | None = None, trust: str | None = None) -> Result:
    file = joiner.machine.path(FILE)
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        JOIN.format(
            token=token or joiner.cluster.fresh_bootstrap_token(),
            address=joiner.cluster.address,
            trust=trust or f'caCertHashes: ["{joiner.cluster.ca_hash}"]',
            name=joiner.name,
            runtime=joiner.runtime.endpoint,
        )
    )
    return joiner.wmcb("join", "--config", FILE, "--runtime-service", "none")


def check_clean(joiner: Joiner, refused: Result) -> None:
    assert (refused.code, refused.out) == (1, "")
    assert joiner.machine.service("kubelet") is None
    assert not joiner.has(r"C:\etc")
    assert not joiner.has(r"C:\ProgramData\wmcb\node.json")
    assert joiner.cluster.node(joiner.name) is None


# What was given


def test_another_authority_was_pinned(joiner: Joiner) -> None:
    refused = join(joiner, trust=f'caCertHashes: ["sha256:{"0" * 64}"]')
    check_clean(joiner, refused)
    assert f"has another certificate authority than was given: {joiner.cluster.ca_hash};" in refused.err


@pytest.mark.parametrize("expired", [False, True], ids=["never was", "expired"])
def test_a_token_that_nobody_knows(joiner: Joiner, expired: bool) -> None:
    token = joiner.cluster.fresh_bootstrap_token(expired=True) if expired else "abcdef.0123456789abcdef"
    refused = join(joiner, token)
    check_clean(joiner, refused)
    name, _, secret = token.partition(".")
    assert f"does not know the token {name}: it has expired, or was made a moment ago" in refused.err
    assert secret not in refused.err


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
    with joiner.cluster.impostor(lying=lying) as impostor:
        refused = join(joiner, trust=trust)
    check_clean(joiner, refused)
    assert told in refused.err
    # No more than anybody may ask: above all not with the token.
    assert [request.path.rpartition("/")[2] for request in impostor.requests] == ["cluster-info"]
    assert all("Authorization" not in request.headers for request in impostor.requests)


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
