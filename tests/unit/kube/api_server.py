"""A server of Kubernetes' API on loopback, as good or bad as a test wants; it keeps connections open."""

from __future__ import annotations

import base64
import hmac
import json
import ssl
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from unit.fetch.authority import Issued, issue
from unit.fetch.servers import reset

CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - what a token looks like

ROOT = issue("kubernetes", authority=True)
"""The cluster's authority."""


@dataclass(frozen=True)
class Answer:
    """What is answered, and how badly: `cut` closes the connection after so many bytes of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    close: bool = False
    """The connection ends in good order, once it is answered, but nobody is told before."""


def ok(value: object, **headers: str) -> Answer:
    return Answer(200, json.dumps(value).encode(), headers)


def status(code: int, reason: str = "", message: str = "", **headers: str) -> Answer:
    body = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    return Answer(code, json.dumps(body).encode(), {name.replace("_", "-"): v for name, v in headers.items()})


@dataclass(frozen=True)
class Asked:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """The number of the connection that it came over."""
    client: str
    """Of the client's certificate, its common name."""


class ApiServer:
    """Each path gets the next of its answers, and the last of them for ever; all others are not found."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.context = context
        self.asked: list[Asked] = []
        self.over = threading.Event()
        self._answers: dict[str, deque[Answer | Callable[[BaseHTTPRequestHandler], None]]] = {}
        self._connections = 0
        self._server = _Server(("127.0.0.1", 0), _handling(self))
        self.port: int = self._server.server_address[1]
        self.place = f"127.0.0.1:{self.port}"
        self.url = f"https://{self.place}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def at(self, path: str, *answers: Answer | Callable[[BaseHTTPRequestHandler], None]) -> None:
        self._answers[path] = deque(answers)

    @property
    def targets(self) -> list[str]:
        return [f"{asked.method} {asked.target}" for asked in self.asked]

    def next_connection(self) -> int:
        self._connections += 1
        return self._connections

    def next_answer(self, path: str) -> Answer | Callable[[BaseHTTPRequestHandler], None]:
        answers = self._answers.get(path)
        if not answers:
            return status(404, "NotFound", f"there is nothing at {path}")
        return answers.popleft() if len(answers) > 1 else answers[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Nothing is said of clients that give up, or do not trust it: tests are about these."""


def _handling(server: ApiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else a body waits for the acknowledgement of its headers: 40 ms for each answer.
        disable_nagle_algorithm = True

        def setup(self) -> None:
            self.number = server.next_connection()
            self.request = server.context.wrap_socket(self.request, server_side=True)
            super().setup()

        def log_message(self, *_: object) -> None:
            """Nothing: what was asked is kept elsewhere."""

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length", "0"))
            asked = Asked(
                self.command,
                self.path,
                dict(self.headers.items()),
                self.rfile.read(size),
                self.number,
                _common_name(self.request),
            )
            server.asked.append(asked)
            answer = server.next_answer(self.path.partition("?")[0])
            if callable(answer):
                answer(self)
            else:
                self._give(answer)

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - http.server looks for these

        def _give(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body[: answer.cut])
            if answer.cut is not None or answer.close:
                self.close_connection = True

    return Handler


def _common_name(connection: ssl.SSLSocket) -> str:
    certificate: Any = connection.getpeercert() or {}
    return str(dict(part[0] for part in certificate.get("subject", ())).get("commonName", ""))


def silent(handler: BaseHTTPRequestHandler) -> None:
    """Takes the request and says nothing until the other side has had enough."""
    handler.connection.settimeout(20)
    handler.close_connection = True
    handler.connection.recv(1)


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    """Ends the connection as by a process that is killed."""
    handler.close_connection = True
    reset(None, handler.connection, "")  # type: ignore[arg-type] # which server it is makes no difference


def kubeconfig_of(server: str, *authorities: Issued) -> str:
    """As cluster-info has it."""
    data = base64.b64encode(b"".join(one.pem for one in authorities)).decode()
    return f"""\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {data}
    server: {server}
  name: ""
contexts: null
current-context: ""
kind: Config
users: null
"""


def signature(content: str, token: str = TOKEN) -> str:
    """As Kubernetes' controller signs cluster-info."""
    name, _, secret = token.partition(".")
    header = _unpadded(json.dumps({"alg": "HS256", "kid": name}).replace(" ", "").encode())
    signed = f"{header}.{_unpadded(content.encode())}"
    return f"{header}..{_unpadded(hmac.digest(secret.encode(), signed.encode(), 'sha256'))}"


def cluster_info(content: str, *tokens: str) -> Answer:
    signatures = {
        f"jws-kubeconfig-{token.partition('.')[0]}": signature(content, token) for token in tokens or (TOKEN,)
    }
    return ok({"kind": "ConfigMap", "data": {"kubeconfig": content, **signatures}})


def _unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
