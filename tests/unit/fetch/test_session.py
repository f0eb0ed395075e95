"""What a session takes from its surroundings, which is nothing, and that each wait of it ends."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import certifi
import pytest
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import HTTPConnectionPool

from agent.fetch import address, connection, dialer, trust
from agent.fetch.address import Proxies
from agent.fetch.connection import Server as Asked
from agent.fetch.connection import Waits
from agent.fetch.deadline import Deadline, SystemClock, TimeIsUp
from agent.fetch.dialer import Stream
from agent.fetch.failure import Failed
from agent.fetch.fetching import Fetcher, Limits, Request
from agent.fetch.session import Session
from unit.fetch.authority import issue, serving
from unit.fetch.bundled import BUNDLED, UNDER_BUNDLED, give_certifi
from unit.fetch.quick_clock import QuickClock
from unit.fetch.servers import Reply, Server, after, answer, ok, raw, silent, tunnel_to

IMPATIENT = Limits(patience=0)
ROOT = issue("root-ca", authority=True)
LEAF = issue("server", ROOT, names=["127.0.0.1", "node.example"])
NOT_TRUSTED = "which is not trusted here"


def fetched(url: str, limits: Limits = IMPATIENT, proxy: str = "", *authorities: bytes) -> bytes:
    request = Request(url, proxies=Proxies(proxy, proxy), authorities=authorities)
    return Fetcher(QuickClock()).body(request, limits)


class TestTrust:
    """What the API server's client trusts: tests/unit/kube/test_trust.py."""

    @pytest.fixture(autouse=True)
    def _bundle(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        give_certifi(tmp_path, monkeypatch)

    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[Server]:
        with Server(ok(b"secret"), context=serving(tmp_path, UNDER_BUNDLED, BUNDLED)) as server:
            yield server
            assert server.heads == []

    @pytest.mark.parametrize("named", [(), (ROOT.pem,)], ids=["public", "of a named authority"])
    def test_an_authority_of_certifis_alone_is_refused(
        self, server: Server, named: tuple[bytes, ...]
    ) -> None:
        with pytest.raises(Failed, match=NOT_TRUSTED):
            fetched(server.url(), IMPATIENT, "", *named)

    def test_also_where_one_authority_alone_is_trusted(self, server: Server) -> None:
        def trusted() -> list[ssl.SSLContext]:
            return [trust.only([ROOT.pem])]

        asked = Session(Asked(address.parse(server.url()), None, trusted, trusted), keeps_open=True)
        with pytest.raises(Failed, match=NOT_TRUSTED):
            asked.ask("GET", "/", (), Waits(Deadline(SystemClock()), 5, 5))

    @pytest.mark.parametrize("named", [(), (ROOT.pem,)], ids=["public", "of a named authority"])
    def test_also_through_a_tunnel(self, server: Server, named: tuple[bytes, ...]) -> None:
        with Server(tunnel_to(server.port)) as proxy, pytest.raises(Failed, match=NOT_TRUSTED):
            fetched("https://node.example/", IMPATIENT, proxy.url(), *named)

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_also_as_a_proxy(self, server: Server, scheme: str) -> None:
        with pytest.raises(Failed, match=NOT_TRUSTED):
            fetched(f"{scheme}://node.example/", IMPATIENT, server.url())

    def test_also_after_a_redirect(self, server: Server, tmp_path: Path) -> None:
        moved = answer("302 Found", b"", f"Location: {server.url()}")
        with Server(moved, context=serving(tmp_path, LEAF)) as first, pytest.raises(Failed) as caught:
            fetched(first.url(), IMPATIENT, "", ROOT.pem)
        assert str(caught.value).startswith(f"the certificate of {server.place} is signed by")

    def test_no_variable_names_an_authority(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        names = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]
        if sys.platform == "win32":  # elsewhere OpenSSL's list of the machine's is where this one says
            names.append("SSL_CERT_FILE")
        for name in names:
            monkeypatch.setenv(name, certifi.where())
        with pytest.raises(Failed, match=NOT_TRUSTED):
            fetched(server.url())

    def test_none_names_one_beside_the_only_one(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            monkeypatch.setenv(name, certifi.where())
        context = trust.only([ROOT.pem])
        asked = Session(Asked(address.parse(server.url()), None, lambda: [context], tuple))
        with pytest.raises(Failed, match=NOT_TRUSTED):
            asked.ask("GET", "/", (), Waits(Deadline(SystemClock()), 5, 5))

    @pytest.mark.skipif(sys.platform == "win32", reason="there the machine's authorities are in its stores")
    def test_the_machines_authorities_stay_trusted_beside_named_ones(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "root.pem").write_bytes(ROOT.pem)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "root.pem"))
        with Server(ok(b"yes"), context=serving(tmp_path, LEAF)) as server:
            assert fetched(server.url(), IMPATIENT, "", BUNDLED.pem) == b"yes"


def test_a_server_at_its_proxys_address_is_not_trusted_as_the_proxy_is(tmp_path: Path) -> None:
    other = issue("other-ca", authority=True)
    its = serving(tmp_path, issue("server", other, names=["127.0.0.1"]))
    with Server(ok(b"secret"), context=its) as server, Server(tunnel_to(server.port), context=its) as proxy:
        there, through = address.parse(proxy.url()), address.parse(proxy.url())
        asked = Session(
            Asked(there, through, lambda: [trust.only([ROOT.pem])], lambda: [trust.only([other.pem])])
        )
        with pytest.raises(Failed, match=NOT_TRUSTED):
            asked.ask("GET", "/", (), Waits(Deadline(SystemClock()), 5, 5))
    assert server.heads == []


class TestSurroundings:
    def test_a_netrc_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in (".netrc", "_netrc"):
            (tmp_path / name).write_text("machine 127.0.0.1 login user password word\n")
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        with Server(ok()) as server:
            fetched(server.url())
        assert server.header("Authorization") is None

    def test_no_proxy_of_the_environment_is_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with Server(ok(b"near")) as near, Server(ok(b"from afar")) as proxy:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url())
            assert fetched(near.url()) == b"near"
        assert near.heads[0].startswith("GET / ")
        assert proxy.heads == []

    def test_no_cookie_is_kept(self) -> None:
        with Server(ok(b"", "Set-Cookie: a=b; Path=/")) as server:
            asked = Session(Asked(address.parse(server.url()), None, tuple, tuple), keeps_open=True)
            for _ in range(2):
                asked.ask("GET", "/", (), Waits(Deadline(SystemClock()), 20, 20)).close()
        assert len(server.heads) == 2
        assert server.header("Cookie") is None

    def test_the_body_of_a_redirect_is_not_waited_for(self) -> None:
        endless = raw("HTTP/1.1 302 Found", "Location: /b", "Content-Length: 1000000000", body=b"x")
        ended: list[str] = []

        def moved(_: Server, connection: socket.socket, _head: str) -> None:
            connection.sendall(endless)
            ended.append("by the client" if _ends(connection) else "by the server")

        with Server(moved, ok(b"there")) as server:
            assert fetched(server.url()) == b"there"
        assert ended == ["by the client"]


@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "forwarded by a proxy"])
@pytest.mark.parametrize(
    "target",
    [
        "/a/../b",
        "/a/./b//c",
        "//c/d",
        "/%7eu/%2e%2e/x?y=%7e%2f",
        "/a?b?c=[|]&d='\"",
        "/%zz",
        "/?sig=a%2bb%3d",
    ],
)
def test_the_request_line_has_the_target_unchanged(target: str, proxied: bool) -> None:
    with Server(ok()) as server:
        url = f"http://node.example{target}" if proxied else server.url(target)
        fetched(url, IMPATIENT, server.url() if proxied else "")
    assert server.heads[0].split("\r\n")[0] == f"GET {url if proxied else target} HTTP/1.1"


def drops(start: bytes) -> Callable[[Server, socket.socket, str], None]:
    """Says that much, and then a byte now and then for ever."""

    def reply(server: Server, connection: socket.socket, _: str) -> None:
        connection.sendall(start)
        while not server.over.wait(0.01):
            connection.sendall(b"x")

    return reply


def _ends(connection: socket.socket) -> bool:
    """Return whether the other side ends the connection before the server loses its patience."""
    with suppress(ConnectionError):
        try:
            return connection.recv(1) == b""
        except TimeoutError:
            return False
    return True


class Ended(NamedTuple):
    name: str
    reply: Reply
    fails: bool = True
    scheme: str = "https"
    authorities: tuple[bytes, ...] = (ROOT.pem,)
    limits: Limits = IMPATIENT
    proxied: bool = False


ENDED = [
    Ended("answered", ok(b"x"), fails=False),
    Ended("answered, without TLS", ok(b"x"), fails=False, scheme="http"),
    Ended("refused by this side", ok(), authorities=()),
    Ended("no answer in time", silent, limits=Limits(total=0.3)),
    Ended("a body cut off", raw("HTTP/1.1 200 OK", "Content-Length: 9", body=b"x"), scheme="http"),
    Ended("a head cut off", b"HTTP/1.1 200 OK\r\nX: ", scheme="http"),
    Ended("no http", b"hello\r\n\r\n"),
    Ended("an unfinished body that is too long", after(ok(b"xx")), limits=Limits(patience=0, size=1)),
    Ended("no tunnel", answer("403 No"), proxied=True, scheme="http"),
    Ended("a malformed answer to CONNECT", b"hello\r\n\r\n", proxied=True, scheme="http"),
    Ended("a cut answer to CONNECT", b"HTTP/1.1 200 OK\r\nX: ", proxied=True, scheme="http"),
]


@pytest.mark.parametrize("case", ENDED, ids=lambda case: case.name)
def test_a_request_closes_its_connections_itself(
    case: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the collector of garbage, and also while a fault is held with all its frames."""
    dial, made, held = dialer.dial, [], []
    get_pool = HTTPAdapter.get_connection_with_tls_context

    def dialled(*given: Any, **named: Any) -> Stream:
        made.append(dial(*given, **named))
        return made[-1]

    def pool(*given: Any, **named: Any) -> HTTPConnectionPool:
        held.append(get_pool(*given, **named))
        return held[-1]

    monkeypatch.setattr(connection, "dial", dialled)
    monkeypatch.setattr(HTTPAdapter, "get_connection_with_tls_context", pool)
    context = serving(tmp_path, LEAF) if case.scheme == "https" else None
    with Server(case.reply, context=context) as server:
        url, proxy = ("https://node.example/", server.url()) if case.proxied else (server.url(), "")
        with pytest.raises(Failed) if case.fails else nullcontext() as fault:
            fetched(url, case.limits, proxy, *case.authorities)
        assert held
        assert made
        assert [stream.fileno() for stream in made] == [-1] * len(made), fault


class Slow(NamedTuple):
    name: str
    reply: Reply
    scheme: str = "http"


OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
SLOW = [
    Slow("no answer", silent),
    Slow("headers in drops", drops(OK + b"X: ")),
    Slow("a body in drops", drops(OK + b"\r\n")),
    Slow("a body of known length in drops", drops(OK + b"Content-Length: 99999\r\n\r\n")),
    Slow("a chunk's length in drops", drops(OK + CHUNKED + b"1;")),
    Slow("trailers in drops", drops(OK + CHUNKED + b"0\r\n")),
    Slow("headers in drops by TLS", drops(OK + b"X: "), "https"),
    Slow("a body in drops by TLS", drops(OK + b"\r\n"), "https"),
]


@pytest.mark.parametrize("case", SLOW, ids=lambda case: case.name)
def test_a_slow_server_takes_no_more_than_the_total(case: Slow, tmp_path: Path) -> None:
    context = serving(tmp_path, LEAF) if case.scheme == "https" else None
    with Server(case.reply, context=context) as server, pytest.raises(Failed) as caught:
        fetched(server.url(), Limits(total=0.3), "", ROOT.pem)
    assert str(caught.value) == f"not all of the answer of {server.place} came within 0.3 seconds"


class TestHandshakes:
    """That never end. A record of TLS is announced, and none comes whole."""

    RECORD = b"\x16\x03\x03\x3f\xff"

    @pytest.fixture(params=["silent", "in drops"])
    def mute(self, request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
        """Host and port of a listener that says nothing, or not enough."""
        over, threads = threading.Event(), []
        listener = socket.create_server(("127.0.0.1", 0))

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                if request.param == "in drops" and connection.recv(1):
                    connection.sendall(self.RECORD)
                    while not over.wait(0.01):
                        connection.sendall(b"x")
                while connection.recv(1 << 16):
                    pass

        def accept() -> None:
            while True:
                connection, _ = listener.accept()
                if over.is_set():
                    connection.close()
                    return
                threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
                threads[-1].start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield listener.getsockname()
        over.set()
        socket.create_connection(listener.getsockname()).close()
        for thread in (accepting, *threads):
            thread.join(20)
        listener.close()

    def test_of_a_server(self, mute: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the machine judges, there is time for that."""
        monkeypatch.setattr(connection, "HANDSHAKE_SECONDS", 0.1)
        monkeypatch.setattr(connection, "JUDGEMENT_SECONDS", 0.1)
        place = f"127.0.0.1:{mute[1]}"
        with pytest.raises(Failed) as caught:
            fetched(f"https://{place}/")
        assert str(caught.value) == f"the TLS handshake with {place} did not finish within 0.2 seconds"

    def test_of_a_proxy(self, mute: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(connection, "HANDSHAKE_SECONDS", 0.1)
        monkeypatch.setattr(connection, "JUDGEMENT_SECONDS", 0.1)
        place = f"127.0.0.1:{mute[1]}"
        with pytest.raises(Failed) as caught:
            fetched("https://node.example/", IMPATIENT, f"https://{place}")
        assert (
            str(caught.value) == f"the TLS handshake with the proxy {place} did not finish within 0.2 seconds"
        )

    def test_of_a_server_behind_a_proxy(
        self, mute: tuple[str, int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(connection, "HANDSHAKE_SECONDS", 0.5)
        with (
            Server(tunnel_to(mute[1]), context=serving(tmp_path, LEAF)) as proxy,
            pytest.raises(Failed) as caught,
        ):
            fetched("https://node.example/", IMPATIENT, proxy.url(), ROOT.pem)
        assert (
            str(caught.value) == "the TLS handshake with node.example:443 did not finish within 0.5 seconds"
        )

    def test_by_the_total(self, mute: tuple[str, int]) -> None:
        place = f"127.0.0.1:{mute[1]}"
        with pytest.raises(Failed) as caught:
            fetched(f"https://{place}/", Limits(total=0.2))
        assert str(caught.value) == f"not all of the answer of {place} came within 0.2 seconds"


@pytest.mark.parametrize("reply", [silent, drops(b"HTTP/1.1 200 OK\r\nX: ")], ids=["silent", "in drops"])
def test_a_tunnel_that_is_never_there(reply: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "TUNNEL_SECONDS", 0.2)
    with Server(reply) as proxy, pytest.raises(Failed) as caught:
        fetched("https://node.example/", IMPATIENT, proxy.url())
    assert str(caught.value) == f"no answer from the proxy {proxy.place} within 0.2 seconds"


class TestConnections:
    def asked(self, server: Server) -> Session:
        return Session(Asked(address.parse(server.url()), None, tuple, tuple), keeps_open=True)

    def test_another_thread_ends_a_wait_at_once(self) -> None:
        start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
        deadline, first = Deadline(SystemClock()), threading.Event()
        ended: list[str] = []
        with Server(after(start)) as server, deadline.stoppable():
            answer = self.asked(server).ask("GET", "/", (), Waits(deadline, 20, 60))

            def read() -> None:
                try:
                    for _ in answer.pieces():
                        first.set()
                except TimeIsUp:
                    ended.append("stopped")

            reading = threading.Thread(target=read)
            reading.start()
            assert first.wait(20)
            deadline.stop()
            reading.join(10)  # less than the server waits
            assert ended == ["stopped"]
            answer.close()

    def test_one_is_used_again_and_its_deadline_is_the_second_requests(self) -> None:
        def twice(server: Server, connection: socket.socket, _: str) -> None:
            connection.sendall(ok(b"one"))
            connection.recv(1 << 16)
            silent(server, connection, "")

        with Server(twice) as server, self.asked(server) as kept:
            first = kept.ask("GET", "/", (), Waits(Deadline(SystemClock()), 20, 20))
            assert b"".join(first.pieces()) == b"one"
            first.close()
            deadline = Deadline(SystemClock())
            with (
                pytest.raises(Failed, match=r"^too slow within 0\.2 seconds$"),
                deadline.within(0.2, "too slow"),
            ):
                kept.ask("GET", "/", (), Waits(deadline, 20, 20))
            assert len(server.heads) == 1
