"""Small servers on loopback that do what a test tells them, one answer after the other."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

Reply = bytes | Callable[["Server", socket.socket, str], None]

PATIENCE = 20.0


def ok(body: bytes = b"", *headers: str) -> bytes:
    return answer("200 OK", body, *headers)


def answer(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def raw(*lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def silent(server: Server, _connection: socket.socket, _head: str) -> None:
    """Takes the request and says nothing until the test is over."""
    server.over.wait(PATIENCE)


def after(start: bytes) -> Callable[[Server, socket.socket, str], None]:
    """Says that much, and then nothing more."""

    def reply(server: Server, connection: socket.socket, head: str) -> None:
        connection.sendall(start)
        silent(server, connection, head)

    return reply


def reset(_server: Server, connection: socket.socket, _head: str) -> None:
    """Cut off, as by a firewall or a process that is killed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _linger_not_at_all())
    connection.close()


def _linger_not_at_all() -> bytes:
    return struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


def tunnel_to(port: int) -> Callable[[Server, socket.socket, str], None]:
    """A proxy's part in CONNECT, whatever host it was asked for."""

    def reply(_server: Server, connection: socket.socket, _head: str) -> None:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as onward:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(onward, connection), daemon=True)
            back.start()
            _copy(connection, onward)
            with contextlib.suppress(OSError):
                onward.shutdown(socket.SHUT_RDWR)
            back.join(PATIENCE)

    return reply


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other direction has ended it


class Server:
    """Gives each connection the next reply of its script, and the last of them to all that follow."""

    def __init__(self, *script: Reply, context: ssl.SSLContext | None = None, greeting: bytes = b"") -> None:
        self._script = list(script)
        self._context = context
        self._greeting = greeting
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]
        self.place = f"127.0.0.1:{self.port}"
        self.heads: list[str] = []
        self.over = threading.Event()

    def __enter__(self) -> Self:
        self._threads.append(threading.Thread(target=self._accept, daemon=True))
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        # Closing a listener does not wake whoever waits for it on every system; a visitor does.
        socket.create_connection(("127.0.0.1", self.port), PATIENCE).close()
        for thread in self._threads:
            thread.join(PATIENCE)
        self._listener.close()

    def say_first(self, reply: Reply) -> None:
        self._script.insert(0, reply)

    def url(self, path: str = "/", scheme: str = "") -> str:
        return f"{scheme or ('https' if self._context else 'http')}://{self.place}{path}"

    def header(self, name: str, request: int = -1) -> str | None:
        for line in self.heads[request].split("\r\n")[1:]:
            found, _, value = line.partition(": ")
            if found.lower() == name.lower():
                return value
        return None

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self.over.is_set():
                connection.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        try:
            connection.sendall(self._greeting)
            if self._context:
                connection = self._secured(self._context, connection)
            head = _head(connection)
            if head:
                self.heads.append(head)
                self._reply(connection, head)
        except OSError:
            pass  # the client went away, or does not trust this server
        finally:
            connection.close()

    def _secured(self, context: ssl.SSLContext, connection: socket.socket) -> ssl.SSLSocket:
        secured = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        try:
            secured.do_handshake()
        except ssl.SSLError:
            # Closed with something unread, the connection is reset, and why is lost on the way.
            with socket.socket(fileno=secured.detach()) as plain:
                plain.settimeout(PATIENCE)
                plain.shutdown(socket.SHUT_WR)
                while plain.recv(1 << 16):
                    pass
            raise
        return secured

    def _reply(self, connection: socket.socket, head: str) -> None:
        reply = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if callable(reply):
            reply(self, connection, head)
            return
        connection.sendall(reply)
        if isinstance(connection, ssl.SSLSocket):
            connection.unwrap().close()


def _head(connection: socket.socket) -> str:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 << 16)
        if not more:
            return ""
        data += more
    return data.decode("latin-1").removesuffix("\r\n\r\n")


def closed_port() -> int:
    """One that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
