"""The HTTP question that a program on this machine is asked, once for both hosts.

Its own few lines and not http.client: that one's limit is for each piece of the answer, so that a program
which sends a byte now and then would hold it up for ever, and it imports ssl, which keeps 8.5 MB of the
resident service.
"""

from __future__ import annotations

import errno
import re
import time
from typing import TYPE_CHECKING

from agent.amounts import in_seconds
from agent.host import winerror
from agent.host.errors import BadName, HostError, NoAnswer, TimedOut

if TYPE_CHECKING:
    import socket


_ADDRESS = "127.0.0.1"
_CODES = {
    errno.ECONNREFUSED: winerror.WSAECONNREFUSED,
    errno.ECONNRESET: winerror.WSAECONNRESET,
    errno.EPIPE: winerror.WSAECONNRESET,
}
_NO_ANSWER = {winerror.WSAECONNREFUSED, winerror.WSAECONNRESET, winerror.WSAECONNABORTED}

_PATH = re.compile(r"/[!-~]*")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r\n]")
_LONGEST_STATUS_LINE = 1024


class HttpLoopback:
    """Loopback of the port. Windows itself takes two seconds to say that nobody listens: it asks again."""

    def get(self, port: int, path: str, seconds: float) -> int:
        subject = f"http://{_ADDRESS}:{port}{path}"
        if not _PATH.fullmatch(path):
            raise BadName(
                "ask",
                subject,
                winerror.ERROR_BAD_PATHNAME,
                "give a path that begins with a slash and has no blanks",
            )
        try:
            return _status(subject, _answer(port, path, time.monotonic() + seconds))
        except TimeoutError as failure:
            advice = f"there was no answer within {in_seconds(seconds)}"
            raise TimedOut("ask", subject, winerror.WSAETIMEDOUT, advice) from failure
        except OSError as failure:
            code = getattr(failure, "winerror", None) or _CODES.get(
                failure.errno or 0, winerror.WSAENETUNREACH
            )
            raise (NoAnswer if code in _NO_ANSWER else HostError)("ask", subject, code) from failure


def _answer(port: int, path: str, deadline: float) -> bytes:
    """As much of it as has the status line."""
    import socket  # noqa: PLC0415 - socket, 0.8 MB of the resident service

    request = f"GET {path} HTTP/1.1\r\nHost: {_ADDRESS}:{port}\r\nConnection: close\r\n\r\n"
    with socket.socket() as connection:
        _limit(connection, deadline)
        connection.connect((_ADDRESS, port))
        connection.sendall(request.encode())
        answer = b""
        while b"\n" not in answer and len(answer) < _LONGEST_STATUS_LINE:
            _limit(connection, deadline)
            block = connection.recv(_LONGEST_STATUS_LINE)
            if not block:
                break
            answer += block
        return answer


def _limit(connection: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)


def _status(subject: str, answer: bytes) -> int:
    if found := _STATUS_LINE.match(answer):
        return int(found[1])
    code, advice = (
        (winerror.ERROR_INVALID_DATA, "what it says is not HTTP")
        if answer
        else (winerror.WSAECONNRESET, "it hung up")
    )
    raise NoAnswer("ask", subject, code, advice)
