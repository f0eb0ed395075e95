"""Whatever strangers say, the answer is a value or Failed."""

from __future__ import annotations

import contextlib
import socket
from unittest import mock

from hypothesis import example, given
from hypothesis import strategies as st

from agent.fetch import address
from agent.fetch.address import Proxies
from agent.fetch.connection import Server, Waits
from agent.fetch.deadline import Deadline, SystemClock
from agent.fetch.dialer import Stream
from agent.fetch.failure import Failed
from agent.fetch.session import Answer, Session

_URLS = st.one_of(
    st.text(max_size=40),
    st.text("ab.:/@[]%?#1 \\-é\u2028", max_size=30).map("http://".__add__),
    st.text(max_size=30).map("https://".__add__),
)


def asked(there: address.Address, said: bytes) -> tuple[Answer, bytes]:
    """The answer of a server that says that much and no more, and what it was asked."""
    plain, its = socket.socketpair()
    with Stream(fileno=plain.detach()) as ours, its:
        its.sendall(said)
        its.shutdown(socket.SHUT_WR)
        with mock.patch("agent.fetch.connection.dial", lambda *_, **__: ours):
            waits = Waits(Deadline(SystemClock()), 5, 5)
            answer = Session(Server(there, None, tuple, tuple)).ask("GET", there.target, (), waits)
        body = b"".join(answer.pieces())
        head = its.recv(1 << 16)
    assert len(body) <= len(said)
    return answer, head


def _parsed(url: str) -> address.Address | None:
    try:
        return address.parse(url)
    except Failed:
        return None


@given(_URLS)
@example("http://a..b/")
@example("http://[v1.x]/")
@example("http://\ud800/")
@example("http://" + "a" * 70 + "/")
def test_urls(url: str) -> None:
    there = _parsed(url)
    if there is not None and not there.secure:
        with contextlib.suppress(Failed):
            _, head = asked(there, b"HTTP/1.1 204 No\r\n\r\n")
            line, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
            assert len(line.split(b" ")) == 3
            assert all(b": " in header for header in headers)


@given(_URLS)
def test_redirects(location: str) -> None:
    with contextlib.suppress(Failed):
        address.parse("https://api.example/a/b?c").joined(location)


@given(_URLS, st.lists(st.text(max_size=20), max_size=4), st.text(max_size=20))
def test_proxies(url: str, bypass: list[str], proxy: str) -> None:
    there = _parsed(url)
    if there is not None:
        with contextlib.suppress(Failed):
            Proxies(proxy, proxy, tuple(bypass)).proxy(there)


_HEADERS = st.sampled_from(
    [
        b"Content-Length: 5\r\n",
        b"Content-Length: -5\r\n",
        b"Content-Length: 9" + b"9" * 30 + b"\r\n",
        b"Content-Length: 9" + b"9" * 5000 + b"\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Retry-After: Thu, 99 Foo 9999 99:99:99 +9999\r\n",
        b"Retry-After: 99999999999999999999999999\r\n",
        b"ETag: \xff\r\n",
        b" folded\r\n",
        b"no colon\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ]
)
_CHUNKS = st.sampled_from(
    [b"5\r\nhello\r\n", b"0\r\n\r\n", b"-5\r\n", b"0x5\r\n", b"1_0\r\n", b"fff;a=b\r\n", b"\r\n"]
)
_LIKELY = st.builds(
    lambda headers, body: b"HTTP/1.1 200 OK\r\n" + b"".join(headers) + b"\r\n" + b"".join(body),
    st.lists(_HEADERS, max_size=4),
    st.lists(st.one_of(_CHUNKS, st.binary(max_size=20)), max_size=6),
)


@given(st.one_of(st.binary(max_size=200), _LIKELY, st.binary(max_size=100).map(b"HTTP/1.1 ".__add__)))
@example(b"HTTP/1.1 200 OK\r\nRetry-After: Mon, 01 Jan 0001 00:00:00 +2300\r\n\r\n")
def test_answers(data: bytes) -> None:
    try:
        answer, _ = asked(address.parse("http://there/"), data)
        assert 0 <= answer.wait(now=0) < 10**10
    except Failed as failed:
        assert str(failed).isprintable()
