"""Finding a cluster by a kubeconfig, from a file or an https URL."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.fetch import trust
from agent.kube import kubeconfig
from agent.kube.discovery import Discovery
from agent.kube.failure import Failed, NotTrusted, NotUsable, Refused, Unreachable
from agent.kube.kubeconfig import Cluster, User
from unit.fetch.authority import issue, serving
from unit.fetch.quick_clock import QuickClock
from unit.fetch.servers import closed_port
from unit.kube.api_server import CLUSTER_INFO, ROOT, TOKEN, Answer, ApiServer, kubeconfig_of, ok, status

OTHER = issue("other", authority=True)
FILES = {"ca.crt": ROOT.pem, "token": b"in-a-file\n"}
CA = f"certificate-authority-data: {base64.b64encode(ROOT.pem).decode()}"
NOBODY = "{}"


class Trial:
    def __init__(self, server: ApiServer, seconds: float = 60.0) -> None:
        self.server = server
        self.clock = QuickClock()
        self.notices: list[str] = []
        self.discovery = Discovery(seconds, notice=self.notices.append, clock=self.clock)

    def config(self, user: str = NOBODY, cluster: str = CA) -> kubeconfig.Kubeconfig:
        return kubeconfig.read(config_of(self.server.url, user, cluster), "discovery.conf")

    def found(self, user: str = NOBODY, cluster: str = CA, token: str = TOKEN) -> kubeconfig.Kubeconfig:
        return self.discovery.by_kubeconfig(self.config(user, cluster), FILES.__getitem__, token)


def config_of(server: str, user: str, cluster: str) -> bytes:
    return f"""
clusters: [{{name: c, cluster: {{server: "{server}", {cluster}}}}}]
users: [{{name: u, user: {user}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
""".encode()


def info(server: str, *authority: str) -> Answer:
    content = kubeconfig_of(server, ROOT) if not authority else authority[0]
    return ok({"data": {"kubeconfig": content}})


@pytest.fixture
def trial(server: ApiServer) -> Trial:
    server.at(CLUSTER_INFO, info(server.url))
    return Trial(server)


def test_with_a_bootstrap_token(trial: Trial) -> None:
    found = trial.found()
    assert found == kubeconfig.with_token(Cluster(trial.server.url, ROOT.pem), TOKEN)
    assert trial.notices == []
    (asked,) = trial.server.asked
    assert "Authorization" not in asked.headers


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param("{token: t}", User("t"), id="token"),
        pytest.param("{tokenFile: token}", User("in-a-file"), id="token in a file"),
        pytest.param("{username: me, password: p}", User(name="me", password="p"), id="password"),  # noqa: S106
    ],
)
def test_with_credentials_of_its_own(trial: Trial, user: str, expected: User) -> None:
    found = trial.found(user, "certificate-authority: ca.crt", "")
    assert found.cluster() == Cluster(trial.server.url, ROOT.pem)
    assert found.user() == expected
    assert found.current == "x"
    assert trial.server.asked[0].headers["Authorization"]


def test_cluster_info_that_nobody_may_read(trial: Trial) -> None:
    trial.server.at(CLUSTER_INFO, status(403, "Forbidden"))
    assert trial.found().cluster().authority == ROOT.pem
    assert len(trial.server.asked) == len(trial.notices) == 1


@pytest.mark.parametrize("told", ["", "no: [", "a: 1"])
def test_cluster_info_that_says_nothing(trial: Trial, told: str) -> None:
    trial.server.at(CLUSTER_INFO, info("", told))
    assert trial.found().cluster().server == trial.server.url
    assert trial.notices == []


def test_another_address_in_cluster_info(trial: Trial) -> None:
    trial.server.at(CLUSTER_INFO, info("https://api.example:6443"))
    assert trial.found().cluster().server == trial.server.url
    (notice,) = trial.notices
    assert f"leads to {trial.server.url}, where cluster-info names https://api.example:6443" in notice


def test_an_authority_out_of_cluster_info(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.fetch.trust.machine", lambda: trust.only([ROOT.pem]))
    assert trial.found(cluster="").cluster().authority == ROOT.pem


def test_whoever_answers_is_believed(tmp_path: Path) -> None:
    with ApiServer(serving(tmp_path, issue("api", OTHER))) as server:
        server.at(CLUSTER_INFO, info(server.url))
        trial = Trial(server)
        cluster = trial.found(cluster="insecure-skip-tls-verify: true").cluster()
    assert cluster == Cluster(server.url, ROOT.pem, insecure=True)
    assert "insecure-skip-tls-verify" in trial.notices[0]


@pytest.mark.parametrize(
    "before", [status(404), status(401), status(503), Answer(body=b"x"), Answer(body=b"{}", cut=1)]
)
def test_what_is_waited_for(trial: Trial, before: Answer) -> None:
    trial.server.at(CLUSTER_INFO, before, before, info(trial.server.url))
    trial.found()
    (notice,) = trial.notices
    assert "asking again" in notice, "once, however often it comes"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(lambda text: text, "discovery.conf has no credentials to join with", id="nobody"),
        pytest.param(
            lambda text: text.replace("user: u}", "user: v}"), "context.user: there is no user", id="user"
        ),
        pytest.param(
            lambda text: text.replace("context: x", "context: z"), "current-context: there", id="context"
        ),
        pytest.param(
            lambda text: text.replace("user: {}", "user: {exec: {command: a}}"),
            "user.exec: programs that fetch credentials are not run",
            id="exec",
        ),
        pytest.param(
            lambda text: text.replace("user: {}", "user: {token: a, username: b}"),
            "both a token and",
            id="both",
        ),
    ],
)
def test_what_is_refused_before_anything_is_asked(
    trial: Trial, change: Callable[[str], str], says: str
) -> None:
    contents = change(config_of(trial.server.url, NOBODY, CA).decode()).encode()
    config = kubeconfig.read(contents, "discovery.conf")
    with pytest.raises(NotUsable, match=says):
        trial.discovery.by_kubeconfig(config, FILES.__getitem__)
    assert trial.server.asked == []


def test_no_authority_at_all(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.fetch.trust.machine", lambda: trust.only([ROOT.pem]))
    trial.server.at(CLUSTER_INFO, status(403))
    with pytest.raises(NotUsable, match=r"has no certificate authority .* has none either"):
        trial.found(cluster="")


def test_a_stranger(tmp_path: Path) -> None:
    with ApiServer(serving(tmp_path, issue("api", OTHER))) as server:
        trial = Trial(server)
        with pytest.raises(NotTrusted, match=r"CN=other,OU=test; discovery\.conf trusts CN=kubernetes"):
            trial.found("{token: t}", token="")
        assert server.asked == []
        assert trial.clock.slept == []


def test_a_refusal_that_stays(trial: Trial) -> None:
    trial.server.at(CLUSTER_INFO, status(401, "Unauthorized"))
    with pytest.raises(Refused, match="does not know the bootstrap token abcdef"):
        trial.found(f"{{token: {TOKEN}}}", token="")


# From a URL


@pytest.fixture
def system_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.fetch.trust.machine", lambda: trust.only([ROOT.pem]))


@pytest.mark.usefixtures("system_trusts")
def test_from_a_url(trial: Trial) -> None:
    config = config_of(trial.server.url, "{token: t}", CA)
    trial.server.at("/discovery.conf", Answer(body=config))
    found = trial.discovery.by_url(f"{trial.server.url}/discovery.conf?secret=1")
    assert found.user() == User("t")
    assert found.cluster().authority == ROOT.pem


@pytest.mark.usefixtures("system_trusts")
@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        pytest.param(status(404), Unreachable, "cannot be fetched: .* 404 Not Found", id="not there"),
        pytest.param(
            Answer(body=b"["), NotUsable, r"^the discovery kubeconfig from 127\.0\.0\.1:", id="none"
        ),
        pytest.param(
            Answer(body=config_of("https://h", "{tokenFile: C:/hidden}", CA)),
            NotUsable,
            "names a file, C:/hidden; all contents have to be in it",
            id="names a file",
        ),
    ],
)
def test_what_is_not_to_be_had_from_a_url(
    trial: Trial, answer: Answer, kind: type[Failed], says: str
) -> None:
    trial.server.at("/discovery.conf", answer)
    with pytest.raises(kind, match=says) as caught:
        trial.discovery.by_url(f"{trial.server.url}/discovery.conf?hidden=1")
    assert "hidden=1" not in str(caught.value)


def test_whom_the_system_does_not_trust(tmp_path: Path) -> None:
    with ApiServer(serving(tmp_path, issue("api", ROOT), ROOT)) as server:
        with pytest.raises(Unreachable, match="which is not trusted here"):
            Trial(server).discovery.by_url(f"{server.url}/discovery.conf")
        assert server.asked == []


def test_nobody_answers(trial: Trial) -> None:
    with pytest.raises(Unreachable, match="nothing listens there"):
        trial.discovery.by_url(f"https://127.0.0.1:{closed_port()}/x")
