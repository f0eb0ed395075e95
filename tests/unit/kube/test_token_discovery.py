"""Finding a cluster by a token: what convinces, what is waited for, and what ends it at once."""

from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from agent.kube.discovery import Discovery
from agent.kube.failure import Failed, NotProven, NotSigned, NotTrusted, NotUsable, Refused, Unreachable
from unit.fetch.authority import Issued, issue, serving
from unit.fetch.quick_clock import QuickClock
from unit.fetch.servers import Server, closed_port, raw
from unit.kube.api_server import (
    CLUSTER_INFO,
    ROOT,
    TOKEN,
    Answer,
    ApiServer,
    cluster_info,
    kubeconfig_of,
    ok,
    signature,
    status,
)

OTHER = issue("other", authority=True)
NAMESAKE = issue("kubernetes", authority=True)
SERVER = "https://api.example:6443"
CONTENT = kubeconfig_of(SERVER, ROOT)
BOTH = kubeconfig_of(SERVER, OTHER, ROOT)


def pinned(issued: Issued) -> str:
    key = issued.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{sha256(key).hexdigest()}"


class Trial:
    """One discovery, with what it said and how long it waited."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.clock = QuickClock()
        self.notices: list[str] = []
        self.discovery = Discovery(seconds, notice=self.notices.append, clock=self.clock)


def test_a_cluster_is_found(server: ApiServer) -> None:
    server.at(CLUSTER_INFO, cluster_info(CONTENT))
    trial = Trial()
    cluster = trial.discovery.by_token(server.place, TOKEN, [pinned(OTHER), pinned(ROOT).upper()])
    assert cluster.server == SERVER
    assert cluster.authority == ROOT.pem
    assert trial.notices == []
    assert server.targets == [f"GET {CLUSTER_INFO}"] * 2
    assert all("Authorization" not in asked.headers for asked in server.asked)


def test_any_authority_will_do_if_it_is_said_so(server: ApiServer) -> None:
    server.at(CLUSTER_INFO, cluster_info(CONTENT))
    trial = Trial()
    cluster = trial.discovery.by_token(server.place, TOKEN, [], any_authority=True)
    assert cluster.authority == ROOT.pem
    assert len(server.asked) == 1
    (notice,) = trial.notices
    assert notice.startswith(
        f"warning: the certificate authority of the cluster at {server.place} is not checked"
    )
    assert pinned(ROOT) in notice


def test_an_authority_beside_the_given_one(server: ApiServer) -> None:
    server.at(CLUSTER_INFO, cluster_info(BOTH))
    trial = Trial()
    cluster = trial.discovery.by_token(server.place, TOKEN, [pinned(ROOT)])
    assert cluster.authority == ROOT.pem
    (notice,) = trial.notices
    assert notice.endswith(
        "names other authorities, whose hashes were not given, and which are not trusted: "
        f"CN=other,OU=test, {pinned(OTHER)}"
    )


def test_of_many_authorities_a_few_are_named(server: ApiServer) -> None:
    strangers = [issue(f"stranger-{number}", authority=True) for number in range(8)]
    server.at(CLUSTER_INFO, cluster_info(kubeconfig_of(SERVER, ROOT, *strangers)))
    trial = Trial()
    assert trial.discovery.by_token(server.place, TOKEN, [pinned(ROOT)]).authority == ROOT.pem
    (notice,) = trial.notices
    assert notice.count("CN=stranger-") == 5
    assert notice.endswith(" and 3 more")


def test_an_authority_that_is_not_pinned_vouches_for_nothing(tmp_path: Path) -> None:
    with ApiServer(serving(tmp_path, issue("api", OTHER))) as server:
        server.at(CLUSTER_INFO, cluster_info(BOTH))
        with pytest.raises(NotTrusted, match=f"hash was not given: CN=other,OU=test, {pinned(OTHER)}; "):
            Trial().discovery.by_token(server.place, TOKEN, [pinned(ROOT)])
        assert len(server.asked) == 1
        found = Trial().discovery.by_token(server.place, TOKEN, [pinned(ROOT), pinned(OTHER)])
    assert found.authority == OTHER.pem + ROOT.pem


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(ok({"data": {"kubeconfig": CONTENT}}), id="a token not signed with yet"),
        pytest.param(cluster_info(CONTENT, "fedcba.0123456789abcdef"), id="another token alone"),
        pytest.param(status(403, "Forbidden", "cannot get resource"), id="nobody may read it yet"),
        pytest.param(status(404, "NotFound"), id="not there yet"),
        pytest.param(status(401, "Unauthorized"), id="401"),
        pytest.param(status(503, "ServiceUnavailable"), id="503"),
        pytest.param(status(429, "TooManyRequests", Retry_After="3"), id="429"),
        pytest.param(Answer(body=b"<html>"), id="no object"),
        pytest.param(Answer(body=b'{"data":{}}', cut=3), id="cut off"),
    ],
)
def test_what_is_waited_for(server: ApiServer, before: Answer) -> None:
    server.at(CLUSTER_INFO, before, before, cluster_info(CONTENT))
    trial = Trial()
    trial.discovery.by_token(server.place, TOKEN, [pinned(ROOT)])
    assert len(trial.clock.slept) == 2
    (notice,) = trial.notices
    assert "asking again" in notice, "once, however often it comes"
    assert len(server.asked) == 4


FINAL = [
    pytest.param(
        cluster_info(CONTENT),
        [pinned(OTHER)],
        NotProven,
        f"has another certificate authority than was given: {pinned(ROOT)}",
        id="wrong hash",
    ),
    pytest.param(
        ok({"data": {"kubeconfig": CONTENT, "jws-kubeconfig-abcdef": signature(CONTENT, "abcdef.secret")}}),
        [pinned(ROOT)],
        NotProven,
        "does not know the secret of the token abcdef",
        id="wrong signature",
    ),
    pytest.param(
        ok({"data": {"kubeconfig": CONTENT + "#", "jws-kubeconfig-abcdef": signature(CONTENT)}}),
        [pinned(ROOT)],
        NotProven,
        "does not know the secret of the token abcdef",
        id="other contents",
    ),
    pytest.param(
        ok({"data": {"kubeconfig": "", "jws-kubeconfig-abcdef": signature("")}}),
        [pinned(ROOT)],
        NotProven,
        "cluster-info without a kubeconfig",
        id="no kubeconfig",
    ),
    pytest.param(
        cluster_info("no kubeconfig"), [pinned(ROOT)], NotUsable, "a mapping of settings", id="no YAML"
    ),
    pytest.param(
        cluster_info("clusters: []"), [pinned(ROOT)], NotUsable, "no context of that name", id="no cluster"
    ),
    pytest.param(
        cluster_info(f"clusters: [{{name: '', cluster: {{server: '{SERVER}'}}}}]"),
        [pinned(ROOT)],
        NotProven,
        "has no certificate authority",
        id="no authority",
    ),
    pytest.param(
        cluster_info(kubeconfig_of(SERVER).replace("data: ", f"data: {base64.b64encode(b'x').decode()}")),
        [pinned(ROOT)],
        NotProven,
        "is no certificate",
        id="no certificate",
    ),
]


@pytest.mark.parametrize(("told", "hashes", "kind", "says"), FINAL)
def test_what_is_final_at_once(
    server: ApiServer, told: Answer, hashes: list[str], kind: type[Failed], says: str
) -> None:
    server.at(CLUSTER_INFO, told)
    trial = Trial()
    with pytest.raises(kind, match=says) as caught:
        trial.discovery.by_token(server.place, TOKEN, hashes)
    assert trial.clock.slept == []
    assert len(server.asked) == 1
    assert "\n" not in str(caught.value)
    assert TOKEN.partition(".")[2] not in str(caught.value)


def test_another_answer_to_who_trusts(server: ApiServer) -> None:
    server.at(CLUSTER_INFO, cluster_info(CONTENT), cluster_info(kubeconfig_of("https://evil:6443", ROOT)))
    with pytest.raises(NotProven, match="something else"):
        Trial().discovery.by_token(server.place, TOKEN, [pinned(ROOT)])


@pytest.mark.parametrize(
    ("authority", "says"),
    [
        pytest.param(OTHER, "is signed by CN=other,OU=test; cluster-info trusts CN=kubernetes", id="other"),
        pytest.param(NAMESAKE, "cluster-info trusts one of that name, with another key", id="namesake"),
    ],
)
def test_a_man_in_the_middle(tmp_path: Path, authority: Issued, says: str) -> None:
    """Who passes on the true cluster-info, and wants to hear what is said after that."""
    with ApiServer(serving(tmp_path, issue("api", authority))) as middle:
        middle.at(CLUSTER_INFO, cluster_info(CONTENT))
        trial = Trial()
        with pytest.raises(NotTrusted, match=says):
            trial.discovery.by_token(middle.place, TOKEN, [pinned(ROOT)])
        assert len(middle.asked) == 1
        assert trial.clock.slept == []


def test_a_clock_that_is_off_may_be_put_right(tmp_path: Path) -> None:
    with ApiServer(serving(tmp_path, issue("api", ROOT, days=(3, 30)))) as server:
        server.at(CLUSTER_INFO, cluster_info(CONTENT))
        trial = Trial(10.0)
        with pytest.raises(NotTrusted, match=r"is not valid before .* UTC; this machine's clock says .* UTC"):
            trial.discovery.by_token(server.place, TOKEN, [pinned(ROOT)])
        assert len(trial.clock.slept) > 1


def test_a_token_that_never_comes(server: ApiServer) -> None:
    server.at(CLUSTER_INFO, ok({"data": {"kubeconfig": CONTENT}}))
    trial = Trial(30.0)
    with pytest.raises(NotSigned, match=r"kubeadm token create .*\(asked \d+ times in \d+ seconds\)$"):
        trial.discovery.by_token(server.place, TOKEN, [pinned(ROOT)])
    assert 15 <= sum(trial.clock.slept) <= 30


def test_nobody_answers() -> None:
    with pytest.raises(Unreachable, match="nothing listens there"):
        Trial(3.0).discovery.by_token(f"127.0.0.1:{closed_port()}", TOKEN, [pinned(ROOT)])


def test_a_port_that_does_not_speak_tls() -> None:
    with Server(raw("HTTP/1.1 400 Bad Request"), greeting=raw("HTTP/1.1 400 Bad Request")) as server:
        trial = Trial()
        with pytest.raises(Unreachable, match="does not speak TLS; is the port right"):
            trial.discovery.by_token(server.place, TOKEN, [pinned(ROOT)])
    assert trial.clock.slept == []


def test_a_refusal_that_stays(server: ApiServer) -> None:
    server.at(CLUSTER_INFO, status(403, "Forbidden", 'User "system:anonymous" cannot\nget it'))
    with pytest.raises(Refused, match=r"403 Forbidden.*cannot get it") as caught:
        Trial(3.0).discovery.by_token(server.place, TOKEN, [pinned(ROOT)])
    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("token", "hashes", "says"),
    [
        pytest.param("abcdef.0123", ["sha256:" + "0" * 64], "bootstrap token", id="token too short"),
        pytest.param("ABCDEF.0123456789abcdef", ["sha256:" + "0" * 64], "bootstrap token", id="capitals"),
        pytest.param(TOKEN + "\n", ["sha256:" + "0" * 64], "bootstrap token", id="token and more"),
        pytest.param(TOKEN, ["0" * 64], "64 hexadecimal digits", id="hash of no kind"),
        pytest.param(TOKEN, ["sha512:" + "0" * 64], "64 hexadecimal digits", id="hash of another kind"),
        pytest.param(TOKEN, ["sha256:" + "0" * 63], "64 hexadecimal digits", id="hash too short"),
        pytest.param(TOKEN, ["sha256:" + "x" * 64], "64 hexadecimal digits", id="no digits"),
        pytest.param(TOKEN, [], "does not show which cluster answers", id="no hash"),
    ],
)
def test_nothing_is_asked_with_what_cannot_be(
    server: ApiServer, token: str, hashes: list[str], says: str
) -> None:
    with pytest.raises(NotUsable, match=says) as caught:
        Trial().discovery.by_token(server.place, token, hashes)
    assert server.asked == []
    assert token not in str(caught.value)
