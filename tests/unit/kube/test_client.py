"""What is asked of an API server, over which connection, and what is made of its answers."""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from agent.fetch import address, connection, dialer
from agent.fetch.address import Address, Proxies
from agent.fetch.dialer import Stream
from agent.fetch.failure import Doubt
from agent.kube import failure
from agent.kube.access import Access
from agent.kube.client import Client, config_map, node
from agent.kube.transport import ConnectionPool, Limits
from unit.fetch.authority import Issued, issue, serving
from unit.fetch.quick_clock import QuickClock
from unit.fetch.servers import Server, closed_port, tunnel_to
from unit.kube.api_server import ROOT, TOKEN, Answer, ApiServer, cut_off, ok, silent, status

Fault = Answer | Callable[[BaseHTTPRequestHandler], None]

NODE = node("win1")
OTHER = issue("other", authority=True)
ONCE = Limits(patience=0, attempt=2, answer=0.5, change=0.5, silence=0.5)
BROKEN: dict[str, Any] = {"token": "a\r\nX: hidden"}
WITH_PASSWORD: dict[str, Any] = {"user": "u", "password": "p"}
PATIENT = Limits(patience=60, attempt=2, answer=0.5, change=0.5, silence=0.5)


def answer_late(handler: BaseHTTPRequestHandler, seconds: float) -> None:
    time.sleep(seconds)
    handler.send_response(200)
    handler.send_header("Content-Length", "2")
    handler.end_headers()
    handler.wfile.write(b"{}")


def access(of: ApiServer, **more: Any) -> Access:
    return replace(Access(of.url, "node.conf", ROOT.pem), **more)


def client(of: ApiServer, limits: Limits = PATIENT, **more: Any) -> Client:
    return Client(access(of, **more), limits=limits, clock=QuickClock())


def key_of(issued: Issued, password: bytes = b"") -> bytes:
    how = BestAvailableEncryption(password) if password else NoEncryption()
    return issued.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how)


# What is asked


def test_get_and_find(server: ApiServer) -> None:
    server.at(NODE, ok({"kind": "Node"}))
    with client(server, token=TOKEN) as asking:
        assert asking.get(NODE) == {"kind": "Node"}
        assert asking.find(NODE) == {"kind": "Node"}
        assert asking.find(node("win2")) is None
    asked = server.asked[0]
    assert (asked.method, asked.target) == ("GET", "/api/v1/nodes/win1")
    assert asked.headers["Authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["User-Agent"].startswith("wmcb/")
    assert asked.headers["Host"] == server.place


@pytest.mark.parametrize(
    ("said", "is_known"),
    [
        ("Thu, 19 Nov 2026 06:02:36 GMT", True),
        ("Sun, 06 Nov 1994 08:49:37 GMT", True),
        ("Thu, 31 Feb 2026 06:02:36 GMT", False),
        ("Thu, 19 Foo 2026 06:02:36 GMT", False),
        ("2026-11-19T06:02:36Z", False),
        ("", False),
    ],
)
def test_a_servers_clock_is_compared_with_ours(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch, said: str, is_known: bool
) -> None:
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda *_: said)
    server.at("/version", ok({}))
    clock = QuickClock()
    with Client(access(server), clock=clock) as client:
        client.get("/version")
    assert (client.ahead is not None) == is_known
    if client.ahead is not None:
        assert clock.time() - client.ahead == pytest.approx(parsedate_to_datetime(said).timestamp(), abs=1)


def test_a_list(server: ApiServer) -> None:
    server.at("/api/v1/nodes", ok({"metadata": {"resourceVersion": "7"}, "items": [{"a": 1}, 2]}))
    with client(server) as asking:
        found = asking.list("/api/v1/nodes", fields="metadata.name=win1")
    assert found.items == ({"a": 1},)
    assert found.version == "7"
    assert server.targets == ["GET /api/v1/nodes?fieldSelector=metadata.name%3Dwin1"]


def test_a_list_of_all_comes_page_by_page_and_of_each_what_counts(server: ApiServer) -> None:
    pages: list[tuple[dict[str, str], list[Any]]] = [
        ({"resourceVersion": "7", "continue": "a+b"}, [{"a": 1, "b": 2}, {"a": 3}]),
        ({"resourceVersion": "7", "continue": ""}, [{"a": 4, "c": 5}]),
    ]
    server.at("/api/v1/nodes", *[ok({"metadata": metadata, "items": items}) for metadata, items in pages])
    with client(server) as asking:
        found = asking.list("/api/v1/nodes", keep=lambda thing: {"a": thing["a"]})
    assert (found.items, found.version) == (({"a": 1}, {"a": 3}, {"a": 4}), "7")
    assert server.targets == [
        "GET /api/v1/nodes?limit=100",
        "GET /api/v1/nodes?limit=100&continue=a%2Bb",
    ]


def test_a_patch(server: ApiServer) -> None:
    server.at(NODE, ok({"kind": "Node"}))
    with client(server) as asking:
        asking.patch(NODE, {"metadata": {"annotations": {"a": "ü"}}})
    (asked,) = server.asked
    assert (asked.method, asked.headers["Content-Type"]) == ("PATCH", "application/merge-patch+json")
    assert json.loads(asked.body) == {"metadata": {"annotations": {"a": "ü"}}}


def test_a_creation(server: ApiServer) -> None:
    server.at("/api/v1/nodes", replace(ok({"kind": "Node"}), status=201))
    with client(server) as asking:
        assert asking.create("/api/v1/nodes", {"kind": "Node"}) == {"kind": "Node"}
    assert (server.asked[0].method, server.asked[0].body) == ("POST", b'{"kind":"Node"}')


def test_a_name_stays_in_its_place(server: ApiServer) -> None:
    with client(server) as asking:
        assert asking.find(config_map("kube-system", "a b?c#d\r\nX: y/é")) is None
    (asked,) = server.asked
    assert asked.target == "/api/v1/namespaces/kube-system/configmaps/a%20b%3Fc%23d%0D%0AX%3A%20y/%C3%A9"
    assert "X" not in asked.headers


def test_an_address_with_a_path(server: ApiServer) -> None:
    server.at("/clusters/c1" + NODE, ok({"kind": "Node"}))
    with client(server, server=f"{server.url}/clusters/c1/") as asking:
        asking.get(NODE)


# Over which connection


def test_a_connection_is_kept(server: ApiServer) -> None:
    server.at(NODE, ok({"a": 1}), status(404), ok({"a": 2}))
    with client(server) as asking:
        asking.get(NODE)
        assert asking.find(NODE) is None
        asking.patch(NODE, {})
    assert [asked.connection for asked in server.asked] == [1, 1, 1]


@pytest.mark.parametrize(
    ("other", "connections"),
    [
        pytest.param({"token": "another"}, [1, 1, 1], id="who asks is told in the request"),
        pytest.param({"insecure": True}, [1, 2, 1], id="who is trusted"),
        pytest.param({"authorities": ROOT.pem + OTHER.pem}, [1, 2, 1], id="whose word is taken"),
    ],
)
def test_clients_of_one_server_may_share(
    server: ApiServer, other: dict[str, Any], connections: list[int]
) -> None:
    server.at(NODE, ok({}), ok({}), ok({}))
    with closing(ConnectionPool()) as shared:
        for more in ({"token": "one"}, other, {"token": "one"}):
            with Client(access(server, **more), clock=QuickClock(), pool=shared) as asking:
                asking.get(NODE)
    assert [asked.connection for asked in server.asked] == connections
    assert [asked.headers.get("Authorization") for asked in server.asked][0::2] == ["Bearer one"] * 2


def test_clients_with_other_certificates_do_not_share(server: ApiServer) -> None:
    server.context.load_verify_locations(cadata=ROOT.pem.decode())
    server.context.verify_mode = ssl.CERT_OPTIONAL
    server.at(NODE, ok({}))
    with closing(ConnectionPool()) as shared:
        for own in (issue("one", ROOT), issue("two", ROOT)):
            with Client(
                access(server, certificate=own.pem, key=key_of(own)), clock=QuickClock(), pool=shared
            ) as asking:
                asking.get(NODE)
    assert [(asked.connection, asked.client) for asked in server.asked] == [(1, "one"), (2, "two")]


def test_a_kept_connection_that_is_cut_off_is_made_again_without_a_pause(server: ApiServer) -> None:
    server.at(NODE, ok({}), cut_off, ok({"kind": "Node"}))
    clock = QuickClock()
    with Client(access(server), limits=PATIENT, clock=clock) as asking:
        asking.get(NODE)
        assert asking.get(NODE) == {"kind": "Node"}
    assert [asked.connection for asked in server.asked] == [1, 1, 2]
    assert clock.slept == []


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        pytest.param(silent, "no answer from", id="no answer in time"),
        pytest.param(
            Answer(body=b'{"kind":"Node"}', cut=5), "breaks off in the middle of TLS", id="cut short"
        ),
    ],
)
def test_no_other_failure_of_a_kept_connection_is_made_again_at_once(
    server: ApiServer, fault: Fault, says: str
) -> None:
    server.at(NODE, ok({}), fault, ok({}))
    with Client(access(server), limits=ONCE, clock=QuickClock()) as asking:
        asking.get(NODE)
        with pytest.raises(failure.Unreachable, match=says):
            asking.get(NODE)
    assert [asked.connection for asked in server.asked] == [1, 1]


def test_one_address_in_two_networks_is_two_servers(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.at(NODE, ok({}))
    dial, dialled = dialer.dial, list[str]()

    def at_the_server(there: Address, *given: Any, **named: Any) -> Stream:
        dialled.append(there.host)
        return dial(address.parse(server.url), *given, **named)

    monkeypatch.setattr(connection, "dial", at_the_server)
    with closing(ConnectionPool()) as shared:
        for zone in ("one", "two", "one"):
            there = f"https://[fe80::1%25{zone}]:6443"
            asked = access(server, server=there, server_name="127.0.0.1")
            with Client(asked, clock=QuickClock(), pool=shared) as asking:
                asking.get(NODE)
    assert dialled == ["fe80::1%one", "fe80::1%two"]
    assert [asked.connection for asked in server.asked] == [1, 2, 1]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(replace(ok({}), headers={"Connection": "close"}), id="announced"),
        pytest.param(replace(ok({}), close=True), id="not announced"),
    ],
)
def test_a_connection_that_was_closed_meanwhile(server: ApiServer, first: Answer) -> None:
    server.at(NODE, first, ok({"kind": "Node"}))
    clock = QuickClock()
    with Client(access(server), clock=clock) as asking:
        asking.get(NODE)
        assert asking.get(NODE) == {"kind": "Node"}
    assert [asked.connection for asked in server.asked] == [1, 2]
    assert clock.slept == []


def test_a_creation_never_goes_over_a_connection_that_may_be_dead(server: ApiServer) -> None:
    server.at(NODE, ok({}))
    server.at("/api/v1/nodes", ok({}))
    with client(server) as asking:
        asking.get(NODE)
        asking.create("/api/v1/nodes", {})
    assert [asked.connection for asked in server.asked] == [1, 2]


def test_many_threads_share_a_client(server: ApiServer) -> None:
    server.at(NODE, ok({"kind": "Node"}))
    with client(server) as asking, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(asking.get, [NODE] * 80))
    assert found == [{"kind": "Node"}] * 80
    assert len({asked.connection for asked in server.asked}) <= 8


# Who asks


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for what is there for a moment only."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_a_client_certificate(tmp_path: Path) -> None:
    context = serving(tmp_path, issue("api", ROOT))
    context.load_verify_locations(cadata=ROOT.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    own = issue("system:node:win1", ROOT, names=[])
    with ApiServer(context) as server:
        server.at(NODE, ok({}))
        with client(server, certificate=own.pem, key=key_of(own)) as asking:
            asking.get(NODE)
        assert server.asked[0].client == "system:node:win1"


def test_a_certificate_and_its_key_in_one_file(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    own = issue("system:node:win1", ROOT, names=[])
    both = own.pem + key_of(own)
    written: list[bytes] = []
    true = ssl.SSLContext.load_cert_chain

    def watched(context: ssl.SSLContext, pair: Path, **more: object) -> None:
        written.append(pair.read_bytes())
        true(context, pair, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    with client(server, certificate=both, key=both) as asking:
        assert asking.find(NODE) is None
    assert written == [both]


def test_a_key_is_written_where_nobody_else_can_read_it(
    monkeypatch: pytest.MonkeyPatch, server: ApiServer, temp: Path
) -> None:
    own = issue("system:node:win1", ROOT, names=[])
    seen: list[tuple[int, int]] = []
    made: list[int] = []
    true, mkdir = ssl.SSLContext.load_cert_chain, os.mkdir

    def watched(context: ssl.SSLContext, pair: Path, **more: object) -> None:
        seen.append((pair.parent.stat().st_mode & 0o777, pair.stat().st_mode & 0o777))
        true(context, pair, **more)  # type: ignore[arg-type]

    def making(path: str, mode: int = 0o777) -> None:
        made.append(mode)
        mkdir(path, mode)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    monkeypatch.setattr(os, "mkdir", making)
    with client(server, certificate=own.pem, key=key_of(own)) as asking:
        asking.find(NODE)
    # That mode is what Python makes a DACL of on Windows, where no other mode means anything.
    assert made == [0o700]
    assert sys.platform == "win32" or seen == [(0o700, 0o600)]
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize("times", [3, 1000])
def test_a_virus_scanner_that_holds_the_key_fails_no_request(
    monkeypatch: pytest.MonkeyPatch, server: ApiServer, temp: Path, times: int
) -> None:
    own = issue("system:node:win1", ROOT, names=[])
    unlink, held, slept = os.unlink, [PermissionError(13, "in use")] * times, list[float]()

    def held_for_a_while(path: Path, **more: Any) -> None:
        if held:
            raise held.pop()
        unlink(path, **more)

    monkeypatch.setattr(os, "unlink", held_for_a_while)
    monkeypatch.setattr("agent.kube.key_files.time.sleep", slept.append)
    server.at(NODE, ok({}))
    with client(server, certificate=own.pem, key=key_of(own)) as asking:
        asking.get(NODE)
    assert len(list(temp.iterdir())) == (1 if held else 0)
    assert 0 < sum(slept) < 2


def test_nothing_in_the_temporary_folder_is_removed_but_the_own_key(
    server: ApiServer, tmp_path: Path, temp: Path
) -> None:
    """Every user may make folders and links in C:\\Windows\\Temp, under any name."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "wmcb_key.pem").write_bytes(b"a key of another program")
    (temp / f"wmcb_key-{'0' * 16}").symlink_to(victim)
    left = temp / f"wmcb_key-{'1' * 16}"
    left.mkdir()
    (left / "wmcb_key.pem").symlink_to(victim / "wmcb_key.pem")
    for path in (victim, left):
        os.utime(path, (0, 0))
    before = sorted(tmp_path.rglob("*"))
    own = issue("system:node:win1", ROOT, names=[])
    with client(server, certificate=own.pem, key=key_of(own)) as asking:
        asking.find(NODE)
    assert sorted(tmp_path.rglob("*")) == before


def test_no_room_for_a_key(server: ApiServer, temp: Path) -> None:
    own = issue("system:node:win1", ROOT, names=[])
    temp.rmdir()
    # What follows is the system's own, in its language.
    says = r"node\.conf: its client certificate and key cannot be loaded: .*wmcb_key-[0-9a-f]{16}: \w"
    with (
        pytest.raises(failure.NotUsable, match=says),
        client(server, certificate=own.pem, key=key_of(own)) as asking,
    ):
        asking.get(NODE)


@pytest.mark.parametrize(
    ("certificate", "key"),
    [
        pytest.param(b"x", b"y", id="nothing"),
        pytest.param(issue("a").pem, key_of(issue("b")), id="another's key"),
        pytest.param(OTHER.pem, key_of(OTHER, b"password"), id="a key with a password"),
    ],
)
def test_no_pair(server: ApiServer, certificate: bytes, key: bytes) -> None:
    with (
        pytest.raises(failure.NotUsable, match=r"node\.conf: its client certificate and key are no pair"),
        client(server, certificate=certificate, key=key) as asking,
    ):
        asking.get(NODE)


def test_a_user_and_a_password(server: ApiServer) -> None:
    with client(server, **WITH_PASSWORD) as asking:
        asking.find(NODE)
    assert server.asked[0].headers["Authorization"] == "Basic dTpw"


def test_a_token_that_is_none(server: ApiServer) -> None:
    with pytest.raises(failure.NotUsable) as caught, client(server, **BROKEN) as asking:
        asking.get(NODE)
    assert "hidden" not in str(caught.value)
    assert server.asked == []


# Who answers


@pytest.mark.parametrize(
    ("shown", "doubt", "says"),
    [
        pytest.param(
            issue("api", OTHER), Doubt.AUTHORITY,
            "is signed by CN=other,OU=test; node.conf trusts CN=kubernetes,OU=test alone: another machine",
            id="another authority",
        ),
        pytest.param(
            issue("api", issue("kubernetes", authority=True)), Doubt.AUTHORITY,
            "is signed by CN=kubernetes,OU=test; node.conf trusts one of that name, with another key",
            id="a namesake",
        ),
        pytest.param(issue("api"), Doubt.AUTHORITY, "is signed by CN=api", id="itself"),
        pytest.param(
            issue("api", ROOT, names=["api.example"]), Doubt.NAME, "not for that name but for api.example",
            id="another name",
        ),
        pytest.param(
            issue("api", ROOT, days=(-3, -1)), Doubt.TIME, "this machine's clock says", id="expired"
        ),
        pytest.param(
            issue("api", ROOT, days=(1, 3)), Doubt.TIME, "this machine's clock says", id="not yet valid"
        ),
    ],
)  # fmt: skip
def test_who_is_not_trusted(tmp_path: Path, shown: Issued, doubt: Doubt, says: str) -> None:
    with ApiServer(serving(tmp_path, shown)) as server, client(server, token=TOKEN) as asking:
        with pytest.raises(failure.NotTrusted) as caught:
            asking.get(NODE)
        assert caught.value.doubt is doubt
        assert says in str(caught.value)
        assert server.asked == []


def test_another_name_that_the_certificate_is_for(tmp_path: Path) -> None:
    with ApiServer(serving(tmp_path, issue("api", ROOT, names=["api.example"]))) as server:
        server.at(NODE, ok({}))
        with client(server, server_name="api.example") as asking:
            asking.get(NODE)


def test_whoever_answers_is_believed(tmp_path: Path) -> None:
    with ApiServer(serving(tmp_path, issue("api", OTHER))) as server:
        server.at(NODE, ok({}))
        with client(server, insecure=True) as asking:
            asking.get(NODE)


def test_the_authorities_of_the_system_are_not_the_clusters(
    monkeypatch: pytest.MonkeyPatch, server: ApiServer
) -> None:
    monkeypatch.setattr("agent.fetch.trust.machine", lambda: pytest.fail("the system's were asked for"))
    with client(server) as asking:
        assert asking.find(NODE) is None


# Proxies


def test_through_a_proxy(server: ApiServer) -> None:
    server.at(NODE, ok({}))
    with Server(tunnel_to(server.port)) as proxy:
        asked = replace(access(server), server="https://api.example:6443", server_name="127.0.0.1")
        with Client(asked, proxies=Proxies(https=proxy.url())) as asking:
            asking.get(NODE)
            asking.get(NODE)
        assert [head.split("\r\n")[0] for head in proxy.heads] == ["CONNECT api.example:6443 HTTP/1.1"]
        assert server.asked[0].headers["Host"] == "api.example:6443"


def test_the_kubeconfigs_own_proxy_counts_before_all_others(server: ApiServer) -> None:
    server.at(NODE, ok({}))
    with Server(tunnel_to(server.port)) as proxy:
        others = Proxies(https=f"http://127.0.0.1:{closed_port()}", bypass=("*",))
        with Client(access(server, proxy=proxy.url()), proxies=others) as asking:
            asking.get(NODE)
        assert len(proxy.heads) == 1


def test_a_proxy_that_wants_credentials(server: ApiServer) -> None:
    with Server(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n") as proxy:
        with (
            pytest.raises(failure.Unreachable, match=r"the proxy .* wants credentials"),
            client(server, proxy=proxy.url()) as asking,
        ):
            asking.get(NODE)
        assert len(proxy.heads) == 1


# What is asked again


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(status(429, "TooManyRequests", Retry_After="1"), id="429"),
        pytest.param(status(500, "InternalError"), id="500"),
        pytest.param(status(503, "ServiceUnavailable", Retry_After="7"), id="503"),
        pytest.param(status(504, "Timeout"), id="504"),
        pytest.param(Answer(502, b"<html>bad gateway"), id="of a load balancer"),
        pytest.param(Answer(body=b'{"kind":"Node"}', cut=5), id="cut short"),
        pytest.param(cut_off, id="cut off"),
        pytest.param(silent, id="silent"),
    ],
)
@pytest.mark.parametrize("kept", [False, True], ids=["new connection", "kept connection"])
def test_what_passes(server: ApiServer, fault: Fault, kept: bool) -> None:
    server.at("/first", ok({}))
    server.at(NODE, fault, fault, ok({"kind": "Node"}))
    notices: list[str] = []
    with Client(access(server), limits=PATIENT, notice=notices.append, clock=QuickClock()) as asking:
        if kept:
            asking.get("/first")
        assert asking.get(NODE) == {"kind": "Node"}
    assert server.targets.count(f"GET {NODE}") == 3
    assert notices
    assert all("; asking again for " in notice for notice in notices)


def test_retry_after(server: ApiServer) -> None:
    server.at(NODE, status(429, Retry_After="7"), ok({}))
    clock = QuickClock()
    with Client(access(server), clock=clock) as asking:
        asking.get(NODE)
    assert clock.slept == [7.0]


def test_patience_ends(server: ApiServer) -> None:
    server.at(NODE, status(503, "ServiceUnavailable", "starting"))
    clock = QuickClock()
    says = r"503 Service Unavailable .*: starting \(asked \d+ times"
    with Client(access(server), clock=clock) as asking, pytest.raises(failure.Busy, match=says):
        asking.get(NODE)
    assert sum(clock.slept) <= 60


def test_a_longer_wait_than_there_is_patience(server: ApiServer) -> None:
    server.at(NODE, status(429, "TooManyRequests", "slow down", Retry_After="600"))
    says = "it asks to be left alone for 600 seconds"
    with client(server) as asking, pytest.raises(failure.Busy, match=says):
        asking.get(NODE)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("fault", "times"),
    [
        pytest.param(status(429, Retry_After="1"), 2, id="no room for it"),
        pytest.param(status(503, Retry_After="1"), 2, id="not ready"),
        pytest.param(status(503), 1, id="of a load balancer"),
        pytest.param(status(500), 1, id="an error within"),
        pytest.param(cut_off, 1, id="cut off"),
        pytest.param(silent, 1, id="silent"),
    ],
)
def test_a_creation_is_asked_again_only_where_it_cannot_be_done(
    server: ApiServer, fault: Fault, times: int
) -> None:
    server.at("/api/v1/nodes", fault, ok({}))
    with client(server) as asking:
        if times == 2:
            asking.create("/api/v1/nodes", {})
        else:
            with pytest.raises(failure.Failed):
                asking.create("/api/v1/nodes", {})
    assert len(server.asked) == times


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda asking: asking.patch(NODE, {}), id="PATCH"),
        pytest.param(lambda asking: asking.create(NODE, {}), id="POST"),
        pytest.param(lambda asking: asking.delete(NODE), id="DELETE"),
    ],
)
def test_a_change_is_waited_for_until_the_server_gives_up_its_webhooks(
    server: ApiServer, change: Callable[[Client], object]
) -> None:
    server.at(NODE, lambda handler: answer_late(handler, 0.8))
    with client(server, Limits(patience=0, attempt=0.6, answer=0.4, change=20)) as asking:
        change(asking)
        with pytest.raises(failure.Unreachable, match=r"no answer from .* within 0\.4 seconds"):
            asking.get(NODE)
    assert [asked.method for asked in server.asked if asked.method != "GET"] == [server.asked[0].method]
    # A webhook has 10 seconds where nothing is said, and 30 at most.
    assert Limits().change > 30


# What is refused


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", failure.Refused),
        (403, "Forbidden", failure.Forbidden),
        (404, "NotFound", failure.NotFound),
        (409, "AlreadyExists", failure.Conflict),
        (410, "Expired", failure.Gone),
        (422, "Invalid", failure.Invalid),
        (302, "", failure.Refused),
    ],
)
def test_refusals(server: ApiServer, code: int, reason: str, kind: type[failure.Refused]) -> None:
    server.at(NODE, status(code, reason, "no\x1b[2J, since\nit is " + "x" * 1000))
    with client(server) as asking, pytest.raises(kind) as caught:
        asking.get(NODE)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason) == (code, reason)
    text = str(caught.value)
    assert text.startswith(f"{server.place} answers {code} ")
    assert "GET /api/v1/nodes/win1: no?[2J, since it is xxx" in text
    assert text.isprintable()
    assert len(text) < 600
    assert len(server.asked) == 1


OLD = issue("system:node:win1", ROOT, names=[], days=(-9, -2))
YOUNG = issue("system:node:win1", ROOT, names=[], days=(2, 9))
CURRENT = issue("system:node:win1", ROOT, names=[])


@pytest.mark.parametrize(
    ("who", "says"),
    [
        pytest.param({"token": TOKEN}, "does not know the bootstrap token abcdef", id="bootstrap token"),
        pytest.param({"token": "eyJ.x.y"}, "the token of node.conf has expired", id="token"),
        pytest.param({"user": "u", "password": "hidden"}, "the user or the password", id="password"),
        pytest.param({}, "it wants credentials, and node.conf has none", id="nobody"),
        pytest.param(
            {"certificate": OLD.pem, "key": key_of(OLD)},
            f"expired at {OLD.certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; this machine's clock says",
            id="expired",
        ),
        pytest.param(
            {"certificate": YOUNG.pem, "key": key_of(YOUNG)},
            f"not valid before {YOUNG.certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC; this machine's",
            id="not yet valid",
        ),
        pytest.param(
            {"certificate": CURRENT.pem, "key": key_of(CURRENT)}, "not signed by the cluster's", id="stranger"
        ),
    ],
)
def test_who_is_not_known(server: ApiServer, who: dict[str, Any], says: str) -> None:
    server.at(NODE, status(401, "Unauthorized", "Unauthorized"))
    with (
        Client(access(server, **who), limits=PATIENT) as asking,
        pytest.raises(failure.Unauthorized) as caught,
    ):
        asking.get(NODE)
    text = str(caught.value)
    assert says in text
    assert "0123456789abcdef" not in text
    assert "hidden" not in text
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"<html>", b"[" * 100_000, b'{"a":' + b"9" * 9000 + b"}", b"\xff"]
)
def test_what_is_no_object(server: ApiServer, body: bytes) -> None:
    server.at(NODE, Answer(body=body))
    with client(server) as asking, pytest.raises(failure.Unreachable, match="is it an API server"):
        asking.get(NODE)


def test_an_answer_that_is_too_long(server: ApiServer) -> None:
    server.at(NODE, Answer(body=b"x" * 1001))
    says = "larger than 1,000 bytes"
    with client(server, replace(ONCE, size=1000)) as asking, pytest.raises(failure.Unreachable, match=says):
        asking.get(NODE)


def test_no_secret_in_a_repr() -> None:
    names = ("proxy", "token", "user", "password", "certificate", "key")
    hidden: dict[str, Any] = dict.fromkeys(names, "hidden")
    assert "hidden" not in repr(replace(Access("https://h"), **hidden))
