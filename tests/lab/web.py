"""What a node fetches things from: a web server with whatever answers a test wants, and a proxy.

Both keep what they were asked. They listen on the lab's own network, where `web.test` is a name for them.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from lab.namespace import ADDRESS, WEB_NAME

_BLOCK = 1024


@dataclass(frozen=True)
class Page:
    """What is answered at a path, and how badly.

    wait: seconds until anything is answered.
    pause: seconds after each kilobyte of the body.
    cut_after: the connection is closed after so many bytes of the body.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    pause: float = 0.0
    cut_after: int | None = None


@dataclass(frozen=True)
class Request:
    """Its headers are found in any letters."""

    method: str
    path: str
    headers: Message


class Web:
    """A web server. A path that is not among its pages is answered with 404."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        self.port = 0
        self.pages: dict[str, Page] = {}
        self.requests: list[Request] = []
        self.ending = threading.Event()

    def url(self, path: str, name: str = WEB_NAME) -> str:
        return f"{self.scheme}://{name}:{self.port}{path}"


@contextmanager
def serving(certificate_and_key: Path | None = None, port: int = 0) -> Iterator[Web]:
    """A web server, with TLS where there is a certificate; on a free port unless one is named."""
    web = Web("http" if certificate_and_key is None else "https")
    server = _Server((ADDRESS, port), _pages_of(web))
    web.port = server.server_address[1]
    if certificate_and_key is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate_and_key)
        # The thread that answers shakes hands: the one that accepts must not wait for a client.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with _started(server):
        yield web
        web.ending.set()


class Answer(NamedTuple):
    status: int
    kind: str
    """Its Content-Type."""
    body: bytes


@contextmanager
def answering(certificate_and_key: Path, answer: Callable[[Request, bytes], Answer]) -> Iterator[Web]:
    """A server with TLS that has every request, with its body, answered by a function."""
    web = Web("https")
    server = _Server((ADDRESS, 0), _answers_of(web, answer))
    web.port = server.server_address[1]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_and_key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with _started(server):
        yield web


class Proxy:
    """An HTTP proxy. To it every name leads to the lab, also one that nobody else knows."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}"


@contextmanager
def proxying() -> Iterator[Proxy]:
    proxy = Proxy()
    server = _Server((ADDRESS, 0), _relaying(proxy))
    proxy.port = server.server_address[1]
    with _started(server):
        yield proxy


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # With five places, as it is usual, a sixth that asks at the same time is heard a second later.
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Nothing is said of clients that give up, or do not trust it: tests are about these."""


@contextmanager
def _started(server: _Server) -> Iterator[None]:
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing: what was asked is kept elsewhere."""

    def asked(self) -> Request:
        return Request(self.command, self.path, self.headers)


def _pages_of(web: Web) -> type[_Handler]:
    class Pages(_Handler):
        def do_GET(self) -> None:
            web.requests.append(self.asked())
            page = web.pages.get(self.path, Page(b"there is no such page", status=404))
            web.ending.wait(page.wait)
            self.send_response(page.status)
            for name, value in {"Content-Length": str(len(page.body)), **page.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self._send(page)

        do_POST = do_PUT = do_GET  # noqa: N815 - http.server looks for these

        def _send(self, page: Page) -> None:
            body = page.body[: page.cut_after]
            block = _BLOCK if page.pause else max(len(body), 1)
            for start in range(0, len(body), block):
                self.wfile.write(body[start : start + block])
                web.ending.wait(page.pause)
            if page.cut_after is not None:
                self.close_connection = True

    return Pages


def _answers_of(web: Web, answer: Callable[[Request, bytes], Answer]) -> type[_Handler]:
    class Answers(_Handler):
        def do_GET(self) -> None:
            asked = self.asked()
            web.requests.append(asked)
            given = answer(asked, self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.send_response(given.status)
            self.send_header("Content-Type", given.kind)
            self.send_header("Content-Length", str(len(given.body)))
            self.end_headers()
            self.wfile.write(given.body)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - http.server looks for these

    return Answers


def _relaying(proxy: Proxy) -> type[_Handler]:
    class Relay(_Handler):
        def do_GET(self) -> None:
            proxy.requests.append(self.asked())
            target = urllib.parse.urlsplit(self.path)
            connection = HTTPConnection(ADDRESS, target.port or 80, timeout=60)
            path = f"{target.path}?{target.query}" if target.query else target.path
            connection.request(self.command, path, headers=dict(self.headers.items()))
            response = connection.getresponse()
            self.send_response_only(response.status)
            for name, value in response.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(response.read())
            connection.close()

        def do_CONNECT(self) -> None:
            proxy.requests.append(self.asked())
            port = int(self.path.rpartition(":")[2])
            self.close_connection = True
            with socket.create_connection((ADDRESS, port), timeout=60) as other:
                self.send_response_only(200)
                self.end_headers()
                _pass_on(self.connection, other)

    return Relay


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """What either end sends, until one has nothing more to say."""
    with selectors.DefaultSelector() as ready, suppress(OSError):
        ready.register(one, selectors.EVENT_READ, other)
        ready.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in ready.select():
                source, target = key.fileobj, key.data
                assert isinstance(source, socket.socket)
                some = source.recv(65536)
                if not some:
                    return
                target.sendall(some)
