"""An answer of HTTP/1, read as it comes.

http.client does the same, and brings the package email along: importing the two takes longer than looking up,
connecting to and asking a server near by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.fetch.wire import Wire

_STATUS = re.compile(rb"HTTP/1\.([0-9]+) +([1-9][0-9]{2})(?: .*)?", re.DOTALL)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_DIGITS = re.compile(r"[0-9]{1,18}")

_LONGEST_HEAD = 1 << 16
"""Bytes of a line, and of all headers together."""
_MOST_HEADERS = 100
_LARGE_PIECE = 1 << 18
"""Larger ones a heap does not keep: each would be asked of Windows anew."""
_PIECE = 1 << 16

_SWITCHING, _OK, _NO_CONTENT, _NOT_MODIFIED, _OTHERS = 101, 200, 204, 304, 300


class NotHttp(Exception):
    """What comes makes no sense."""


class CutShort(Exception):
    """It ends before it is whole."""


class NoAnswer(CutShort):
    """Not even a beginning came."""


class Response:
    def __init__(self, wire: Wire, method: str) -> None:
        """Waits until the headers are there. Raises NotHttp or CutShort, and what the wire raises."""
        self._wire = wire
        self._buffer = bytearray()
        self.status, modern = self._status_line()
        self._headers = self._read_headers()
        self._chunked = self.header("Transfer-Encoding").lower() == "chunked"
        self.length = self._told_length(method)
        """Bytes of the body; None where it is not told before."""
        self._left = self.length or 0
        """Of the body, or of the chunk."""
        self._first = True
        self._ended = self.length == 0
        tokens = {token.strip() for token in self.header("Connection").lower().split(",")}
        told = self._chunked or self.length is not None
        self._stays = told and "close" not in tokens and (modern or "keep-alive" in tokens)

    def header(self, name: str) -> str:
        """The first of that name, in whatever letters; empty where there is none."""
        return self._headers.get(name.lower(), "")

    @property
    def leaves_open(self) -> bool:
        """The wire is of further use: all of the body came, and nothing after it."""
        return self._stays and self._ended and not self._buffer

    def piece(self) -> bytes:
        """What there is of the body; nothing at its end. Raises as the beginning does."""
        if self._ended:
            return b""
        if self._chunked:
            return self._of_chunks()
        if self.length is None:
            data = self._some(_PIECE)
            self._ended = not data
            return data
        data = self._some(self._left)
        if not data:
            raise CutShort
        self._left -= len(data)
        self._ended = not self._left
        return data

    def _of_chunks(self) -> bytes:
        if not self._left:
            self._begin_chunk()
            if self._ended:
                return b""
        data = self._some(self._left)
        if not data:
            raise CutShort
        self._left -= len(data)
        return data

    def _begin_chunk(self) -> None:
        if not self._first and self._line():
            raise NotHttp("no end of line after a chunk")
        self._first = False
        found = _CHUNK.fullmatch(self._line())
        if not found:
            raise NotHttp("no size of a chunk")
        self._left = int(found[1], 16)
        if not self._left:
            self._read_headers()
            self._ended = True

    def _some(self, most: int) -> bytes:
        if not self._buffer and most > _LARGE_PIECE:
            return self._wire.receive(_LARGE_PIECE)  # what comes after the body is not among it
        if not self._buffer:
            self._fill()
        data = bytes(self._buffer[:most])
        del self._buffer[:most]
        return data

    def _fill(self) -> bool:
        data = self._wire.receive(_PIECE)
        self._buffer += data
        return bool(data)

    def _line(self) -> bytes:
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            if start > _LONGEST_HEAD:
                raise NotHttp("a line without end")
            if not self._fill():
                raise CutShort
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.removesuffix(b"\r")

    def _status_line(self) -> tuple[int, bool]:
        """The final status, and whether connections stay open unless it is said that they do not."""
        if not self._fill():
            raise NoAnswer
        while True:
            found = _STATUS.fullmatch(self._line())
            if not found:
                raise NotHttp("no line of status")
            status, modern = int(found[2]), found[1] != b"0"
            if status >= _OK or status == _SWITCHING:
                return status, modern
            self._read_headers()

    def _read_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        size = count = 0
        last = ""
        while line := self._line():
            size, count = size + len(line), count + 1
            if size > _LONGEST_HEAD or count > _MOST_HEADERS:
                raise NotHttp("headers without end")
            text = line.decode("latin-1")
            if text[0] in " \t" and last:
                headers[last] = f"{headers[last]} {text.strip()}"
                continue
            name, colon, value = text.partition(":")
            if not colon or not _NAME.fullmatch(name):
                raise NotHttp("no header")
            last = name.lower()
            headers.setdefault(last, value.strip())
        return headers

    def _told_length(self, method: str) -> int | None:
        without = method == "HEAD" or self.status in (_NO_CONTENT, _NOT_MODIFIED) or self.status < _OK
        if without or (method == "CONNECT" and self.status < _OTHERS):
            self._chunked = False
            return 0
        if self._chunked:
            return None
        told = self.header("Content-Length")
        if told and not _DIGITS.fullmatch(told):
            raise NotHttp("no length")
        return int(told) if told else None
