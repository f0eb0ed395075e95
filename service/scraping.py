"""Answers on a port of this machine's own: /metrics for Prometheus, /healthz for whoever asks if it works.

By one thread, one question after the other, and a few lines: Python's own server takes megabytes to load. Who
asks slowly holds up who asks next, and nobody else.
"""

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from service.signals import Signals

ADDRESS = "127.0.0.1"
_WAITING = 8
_LONGEST_WORK_SECONDS = 900.0
_LARGEST_HEAD = 8192
_SECONDS = 5.0
_PAUSE_SECONDS = 5.0
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
_REASONS |= {500: "Internal Server Error", 503: "Service Unavailable"}
_PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: str
    content_type: str = _PLAIN


def health(signals: Signals) -> Answer:
    """Whether the one that works does: it may take minutes to stop a service, and not for ever."""
    taken = signals.taken_at
    if taken is None or (busy := time.monotonic() - taken) < _LONGEST_WORK_SECONDS:
        return Answer(200, "ok\n")
    return Answer(503, f"busy with the same thing for {busy:.0f} seconds\n")


class Scraping:
    def __init__(
        self, port: int, answers: Mapping[str, Callable[[], Answer]], tell: Callable[[OSError], None]
    ) -> None:
        """By path. `tell` is told of what keeps it from answering, each time. Raises OSError for a port that
        somebody else has.
        """
        self._answers = answers
        self._tell = tell
        self._over = threading.Event()
        self._listening = _listening(port)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        number: int = self._listening.getsockname()[1]
        return number

    def close(self) -> None:
        self._over.set()
        # One that is only closed would be waited at further on.
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listening.accept()
            except ConnectionError:
                continue  # who asked has gone already
            except OSError as fault:
                if not self._over.is_set():
                    self._tell(fault)
                    self._over.wait(_PAUSE_SECONDS)  # no buffers, say, or no handles: there may be some again
                continue
            with suppress(OSError), connection:
                self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        answer = self._answer(_head(connection))
        body = answer.body.encode()
        head = (
            f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\nContent-Type: {answer.content_type}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        connection.settimeout(_SECONDS)
        connection.sendall(head.encode() + body)

    def _answer(self, head: bytes) -> Answer:
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return Answer(400, "this is no HTTP\n")
        if words[0] != "GET":
            return Answer(405, "only GET\n")
        found = self._answers.get(words[1].partition("?")[0])
        if found is None:
            return Answer(404, f"there are: {' '.join(self._answers)}\n")
        try:
            return found()
        except Exception as fault:  # noqa: BLE001 - whatever it is, others are to be answered
            return Answer(500, f"unexpected {type(fault).__name__} (please report it)\n")


def _listening(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        # Windows would let another program listen on it as well; elsewhere one that was just left is kept.
        if exclusive := getattr(socket, "SO_EXCLUSIVEADDRUSE", None):
            listening.setsockopt(socket.SOL_SOCKET, exclusive, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen(_WAITING)
    except OSError:
        listening.close()
        raise
    return listening


def _head(connection: socket.socket) -> bytes:
    """Of a request, or what there was of it in time."""
    end, head = time.monotonic() + _SECONDS, b""
    while b"\r\n\r\n" not in head and len(head) < _LARGEST_HEAD:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        piece = connection.recv(_LARGEST_HEAD)
        if not piece:
            break
        head += piece
    return head
