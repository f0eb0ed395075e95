"""Answers as bytes: what they are read as, whatever pieces they come in, and beside Python's own reader."""

from __future__ import annotations

import http.client
import io
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.fetch.response import CutShort, NoAnswer, NotHttp, Response

if TYPE_CHECKING:
    import socket


class Said:
    """A wire on which that much is said, in pieces of some size, and no more."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = data
        self._size = size

    def send(self, data: bytes) -> None: ...

    def receive(self, size: int) -> bytes:
        size = min(size, self._size)
        data, self._data = self._data[:size], self._data[size:]
        return data

    def abort(self) -> None: ...

    def close(self) -> None: ...


def read(data: bytes, size: int = 1000, method: str = "GET") -> tuple[Response, bytes]:
    response = Response(Said(data, size), method)
    body = b""
    while piece := response.piece():
        body += piece
    return response, body


def lines(*text: str, body: bytes = b"") -> bytes:
    return "\r\n".join(text).encode("latin-1") + b"\r\n\r\n" + body


CHUNKS = b"5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("data", "body", "open_after"),
    [
        pytest.param(lines("HTTP/1.1 200 OK", "Content-Length: 3", body=b"abc"), b"abc", True, id="length"),
        pytest.param(lines("HTTP/1.1 200", "content-length:3", body=b"abc"), b"abc", True, id="terse"),
        pytest.param(lines("HTTP/1.1 200 OK", "Transfer-Encoding: Chunked", body=CHUNKS),
                     b"hello0123456789", True, id="chunks"),
        pytest.param(lines("HTTP/1.1 200 OK", "Content-Length: 1", "Connection: a, Close", body=b"a"),
                     b"a", False, id="told to close"),
        pytest.param(lines("HTTP/1.0 200 OK", "Content-Length: 1", body=b"a"), b"a", False, id="old"),
        pytest.param(lines("HTTP/1.0 200 OK", "Content-Length: 1", "Connection: keep-alive", body=b"a"),
                     b"a", True, id="old, kept"),
        pytest.param(lines("HTTP/1.1 200 OK", body=b"all"), b"all", False, id="until the end"),
        pytest.param(lines("HTTP/1.1 204 No"), b"", True, id="nothing"),
        pytest.param(lines("HTTP/1.1 304 Same", "Content-Length: 5"), b"", True, id="not modified"),
        pytest.param(lines("HTTP/1.1 100 Go on") + lines("HTTP/1.1 103 Hints", "Link: x")
                     + lines("HTTP/1.1 200 OK", "Content-Length: 1", body=b"a"), b"a", True, id="others"),
    ],
)  # fmt: skip
def test_bodies(data: bytes, body: bytes, open_after: bool, size: int) -> None:
    response, found = read(data, size)
    assert found == body
    assert response.leaves_open is open_after


@pytest.mark.parametrize("method", ["HEAD", "CONNECT"])
def test_answers_without_a_body(method: str) -> None:
    response, body = read(lines("HTTP/1.1 200 OK", "Content-Length: 5"), method=method)
    assert body == b""
    assert response.leaves_open


def test_what_comes_after_an_answer_makes_the_wire_useless() -> None:
    """It would be taken for the answer to the next request."""
    response, body = read(lines("HTTP/1.1 200 OK", "Content-Length: 1", body=b"ab"))
    assert body == b"a"
    assert not response.leaves_open


def test_headers() -> None:
    response, _ = read(
        lines("HTTP/1.1 200 OK", "A: one", "a: two", "B:  x \t", "C: y", " z", "D:", "E: \xe9")
    )
    found = [response.header(name) for name in ("a", "B", "c", "D", "e", "f")]
    assert found == ["one", "x", "y z", "", "\xe9", ""]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", NoAnswer),
        (b"HTTP/1.1 200 OK\r\n", CutShort),
        (b"HTTP/1.1 200 OK", CutShort),
        (b"HTTP/2 200\r\n\r\n", NotHttp),
        (b"ICY 200 OK\r\n\r\n", NotHttp),
        (b"HTTP/1.1 20 OK\r\n\r\n", NotHttp),
        (b"HTTP/1.1 099 OK\r\n\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\nName : x\r\n\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 101 + b"\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, NotHttp),
        (b"x" * 70_000, NotHttp),
        (lines("HTTP/1.1 200 OK", "Content-Length: +3", body=b"abc"), NotHttp),
        (lines("HTTP/1.1 200 OK", "Content-Length: 4", body=b"abc"), CutShort),
        (lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"3\r\nabc\r\n"), CutShort),
        (lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"9\r\nabc"), CutShort),
        (lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"0\r\n"), CutShort),
        (lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"-1\r\nabc"), NotHttp),
        (lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"1\r\nabc\r\n"), NotHttp),
        (lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"\r\n"), NotHttp),
    ],
)
def test_what_is_no_answer(data: bytes, fault: type[Exception]) -> None:
    with pytest.raises(fault) as caught:
        read(data)
    assert caught.type is fault


PARTS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 404 No\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 204 No\r\n",
        b"Content-Length: 3\r\n",
        b"Content-Length: 9\r\n",
        b"Content-Length: +3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Connection: keep-alive\r\n",
        b"X: y\r\n",
        b"X : y\r\n",
        b" folded\r\n",
        b"\r\n",
        b"\n",
        b"3\r\nabc\r\n",
        b"1;x\r\na\r\n",
        b"7\r\nabc",
        b"+1\r\n",
        b"0x1\r\n",
        b"0\r\n\r\n",
        b"abc",
        b"\0",
    ]
)


def by_python(data: bytes) -> bytes | None:
    """The body, or None where Python's own reader takes it for none, or for one that is cut short."""
    response = http.client.HTTPResponse(cast("socket.socket", _Connection(data)), method="GET")
    try:
        response.begin()
        body = response.read()
        return None if response.length else body
    except (http.client.HTTPException, ValueError):
        return None
    finally:
        response.close()


class _Connection:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


@given(st.lists(PARTS | st.binary(max_size=3), max_size=12).map(b"".join), st.integers(1, 9))
def test_no_body_is_another_than_to_python(data: bytes, size: int) -> None:
    try:
        _, body = read(data, size)
    except (NotHttp, CutShort):
        return
    expected = by_python(data)
    assert expected is None or body == expected
