"""Answers as bytes on a connection: what a session reads them as, whatever pieces they come in."""

from __future__ import annotations

import io
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from agent.fetch import address, trust
from agent.fetch.connection import Server as Asked
from agent.fetch.connection import Waits
from agent.fetch.deadline import Deadline, SystemClock
from agent.fetch.failure import Failed
from agent.fetch.session import Session
from unit.fetch.authority import issue, serving
from unit.fetch.servers import Server, ok, tunnel_to

ROOT = issue("root-ca", authority=True)
LEAF = issue("server", ROOT, names=["127.0.0.1"])


def session_of(server: Server, *, keeps_open: bool = False, proxy: Server | None = None) -> Session:
    through = address.parse(proxy.url()) if proxy else None
    asked = Asked(address.parse(server.url()), through, lambda: [trust.only([ROOT.pem])], tuple)
    return Session(asked, keeps_open=keeps_open)


def asked(session: Session, method: str = "GET") -> bytes:
    answer = session.ask(method, "/", (), Waits(Deadline(SystemClock()), 20, 20))
    body = b"".join(answer.pieces())
    answer.close()
    return body


def lines(*text: str, body: bytes = b"") -> bytes:
    return "\r\n".join(text).encode("latin-1") + b"\r\n\r\n" + body


def in_pieces(data: bytes, size: int, *, ends: bool) -> Callable[[Server, socket.socket, str], None]:
    """Sends the data in pieces, and then ends the connection, or answers a second request over it."""

    def reply(_server: Server, connection: socket.socket, _head: str) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(data), size):
            connection.sendall(data[start : start + size])
        if not ends and connection.recv(1 << 16):
            connection.sendall(ok(b"over the same"))

    return reply


class Case(NamedTuple):
    name: str
    said: bytes
    body: bytes
    next: bytes = b"over the same"
    """What the next request gets: over the same connection, or over another."""
    ends: bool = False
    """The server ends the connection after it."""
    method: str = "GET"


CHUNKS = b"5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
HINTS = lines("HTTP/1.1 100 Go on") + lines("HTTP/1.1 103 Hints", "Link: x")
OTHER = b"over another"
WHOLE = [
    Case("length", lines("HTTP/1.1 200 OK", "Content-Length: 3", body=b"abc"), b"abc"),
    Case("terse", lines("HTTP/1.1 200", "content-length:3", body=b"abc"), b"abc"),
    Case("chunks", lines("HTTP/1.1 200 OK", "Transfer-Encoding: Chunked", body=CHUNKS), b"hello0123456789"),
    Case("it closes", lines("HTTP/1.1 200 OK", "Content-Length: 1", "Connection: a, Close", body=b"a"), b"a",
         OTHER),
    Case("old", lines("HTTP/1.0 200 OK", "Content-Length: 1", body=b"a"), b"a", OTHER),
    Case("old, kept", lines("HTTP/1.0 200 OK", "Content-Length: 1", "Connection: keep-alive", body=b"a"),
         b"a"),
    Case("until the end", lines("HTTP/1.1 200 OK", body=b"all"), b"all", OTHER, ends=True),
    Case("nothing", lines("HTTP/1.1 204 No"), b""),
    Case("not modified", lines("HTTP/1.1 304 Same", "Content-Length: 5"), b""),
    Case("hints", HINTS + lines("HTTP/1.1 200 OK", "Content-Length: 1", body=b"a"), b"a"),
    Case("HEAD", lines("HTTP/1.1 200 OK", "Content-Length: 5"), b"", method="HEAD"),
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.name)
def test_bodies(case: Case, size: int) -> None:
    first = in_pieces(case.said, size, ends=case.ends)
    with Server(first, ok(OTHER)) as server, session_of(server, keeps_open=True) as session:
        assert asked(session, case.method) == case.body
        assert asked(session) == case.next


@pytest.mark.parametrize("tunnelled", [False, True], ids=["direct", "in a tunnel"])
def test_what_follows_an_answer_is_not_the_next_requests(tunnelled: bool, tmp_path: Path) -> None:
    start = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX: "
    # As long as http.client reads at once: what follows stays in TLS's memory.
    whole = start + "x" * (io.DEFAULT_BUFFER_SIZE - len(start) - 5) + "\r\n\r\na"

    def forging(_server: Server, connection: socket.socket, _head: str) -> None:
        connection.sendall(whole.encode() + ok(b"forged"))
        connection.recv(1 << 16)

    context = serving(tmp_path, LEAF)
    with (
        Server(forging, ok(OTHER), context=context) as server,
        Server(tunnel_to(server.port)) as proxy,
        session_of(server, keeps_open=True, proxy=proxy if tunnelled else None) as session,
    ):
        assert asked(session) == b"a"
        assert asked(session) == OTHER


def test_headers() -> None:
    said = lines(
        "HTTP/1.1 200 OK", "A: one", "a: two", "B:  x \t", "C: y", " z", "D:", "E: \xe9", "Content-Length: 0"
    )
    with Server(said) as server:
        answer = session_of(server).ask("GET", "/", (), Waits(Deadline(SystemClock()), 20, 20))
        answer.close()
    found = [answer.header(name) for name in ("a", "B", "c", "D", "e", "f")]
    assert found == ["one, two", "x", "y z", "", "\xe9", ""]


NOT_HTTP = "what {place} answers is not http"
IN_HEAD = "{place} breaks off in the headers of its answer"
IN_BODY = "{place} breaks off after "
CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "{place} ends the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\n", IN_HEAD),
        (b"HTTP/1.1 200 OK", IN_HEAD),
        (b"HTTP/1.1 200 OK\r\nX: y", IN_HEAD),
        (b"HTTP/1.1 200 OK\r\nX: y\r\n", IN_HEAD),
        (b"HTTP/1.1 100 Go on\r\n\r\n", IN_HEAD),
        (HINTS, IN_HEAD),
        (b"HTTP/2 200\r\n\r\n", NOT_HTTP),
        (b"ICY 200 OK\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 20 OK\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 099 OK\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nno header\r\nContent-Length: 9\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nName : x\r\n\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nX: y\rContent-Length: 1\r\n\r\nab", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 101 + b"\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, NOT_HTTP),
        (b"x" * 70_000, NOT_HTTP),
        (lines("HTTP/1.1 200 OK", "Content-Length: +3", body=b"abc"), NOT_HTTP),
        (lines("HTTP/1.1 200 OK", "Content-Length: -1", body=b"abc"), NOT_HTTP),
        (lines("HTTP/1.1 200 OK", "Content-Length: 3", "Content-Length: 4", body=b"abc"), NOT_HTTP),
        (lines("HTTP/1.1 200 OK", "Content-Length: 4", body=b"abc"), IN_BODY),
        (lines("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked", body=CHUNKS), NOT_HTTP),
        (lines("HTTP/1.1 200 OK", "Transfer-Encoding: gzip", body=b"abc"), NOT_HTTP),
        (lines("HTTP/1.1 200 OK", CHUNKED, body=b"3\r\nabc\r\n"), IN_BODY),
        (lines("HTTP/1.1 200 OK", CHUNKED, body=b"9\r\nabc"), IN_BODY),
        (lines("HTTP/1.1 200 OK", CHUNKED, body=b"-1\r\nabc"), IN_BODY),
        (lines("HTTP/1.1 200 OK", CHUNKED, body=b"1\r\nabc\r\n"), IN_BODY),
        (lines("HTTP/1.1 200 OK", CHUNKED, body=b"\r\n"), IN_BODY),
    ],
    ids=lambda value: repr(value[:60]) if isinstance(value, bytes) else "",
)
def test_what_is_no_whole_answer(said: bytes, why: str, scheme: str, tmp_path: Path) -> None:
    context = serving(tmp_path, LEAF) if scheme == "https" else None
    with Server(said, context=context) as server, pytest.raises(Failed) as caught:
        asked(session_of(server))
    assert str(caught.value).startswith(why.format(place=server.place))
    assert caught.value.transient is (why != NOT_HTTP)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"HTTP/1.1 200 OK\r\n", IN_HEAD),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 101 + b"\r\n", NOT_HTTP),
        (b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", NOT_HTTP),
    ],
    ids=["cut off", "without end", "malformed"],
)
def test_what_is_no_answer_to_connect(said: bytes, why: str, tmp_path: Path) -> None:
    with (
        Server(ok(), context=serving(tmp_path, LEAF)) as server,
        Server(said) as proxy,
        pytest.raises(Failed) as caught,
    ):
        asked(session_of(server, proxy=proxy))
    assert str(caught.value) == why.format(place=f"the proxy {proxy.place}")
    assert server.heads == []
