"""The head of an answer, read more strictly than http.client reads it.

http.client ends the headers where the connection ends, and at the first line that is no header. The length of
the body can be among those that it so loses.
"""

import re
from http.client import HTTPException, HTTPResponse, IncompleteRead
from io import BufferedReader
from typing import Any, cast

_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\0]*\r?\n?")
_CONTINUED = (b" ", b"\t")
_BLANK = (b"\r\n", b"\n")
_EARLY_HINTS, _FINAL = 102, 200
"""http.client itself skips 100; 101 is final."""


class StrictResponse(HTTPResponse):
    """An answer whose head is whole and well-formed: `begin` raises IncompleteRead where it is cut off."""

    def begin(self) -> None:
        file = self.fp
        head = self.fp = cast("BufferedReader", _HeadReader(file))
        try:
            super().begin()
            while _EARLY_HINTS <= self.status < _FINAL:
                self.headers = self.msg = cast("Any", None)  # else `begin` sees its work as done
                super().begin()
        finally:
            if self.fp is head:  # http.client drops it where the status line is malformed
                self.fp = file
        if not all(length.isascii() and length.isdigit() for length in self._values("Content-Length")):
            raise HTTPException("malformed Content-Length")
        if not self.chunked and self._values("Transfer-Encoding"):
            raise HTTPException("unsupported transfer encoding")

    def _values(self, name: str) -> list[str]:
        values = (value.strip() for value in self.headers.get_all(name, ()))
        return [value for value in values if value]


class _HeadReader:
    """Hands lines to http.client, and refuses those that it would misread."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._previous = b""

    def readline(self, limit: int) -> bytes:
        line, previous = self._file.readline(limit), self._previous
        if not line.endswith(b"\n") and len(line) < limit and (line or previous):
            raise IncompleteRead(line)
        self._previous = line
        if previous in (b"", *_BLANK) or line in _BLANK:
            return line  # a status line, or the end of the headers
        continues = line.startswith(_CONTINUED) and not previous.startswith(b"HTTP/")
        if not continues and not _HEADER.fullmatch(line):
            raise HTTPException("malformed header")
        return line

    def close(self) -> None:
        self._file.close()
