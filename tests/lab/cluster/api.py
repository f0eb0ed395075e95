"""The API as the lab itself uses it: JSON over connections that are kept open."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from pathlib import Path
from typing import Any

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class Refused(Exception):
    """The API server's answer was an error; `code` is what to decide by."""

    def __init__(self, method: str, path: str, code: int, body: str) -> None:
        super().__init__(f"{method} {path} was answered with {code}: {body[:500]}")
        self.code = code


class Api:
    """Requests with a client certificate. Each thread has a connection of its own."""

    def __init__(self, host: str, port: int, name: str, authority: Path, certificate: Path) -> None:
        self._address = (host, port)
        self._name = name
        self._without_certificate = ssl.create_default_context(cafile=str(authority))
        self._context = ssl.create_default_context(cafile=str(authority))
        self._context.load_cert_chain(certificate)
        self._local = threading.local()

    def trust(self, authority: Path) -> None:
        """This one as well, from the next connection on."""
        self._context.load_verify_locations(authority)

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def create(self, path: str, thing: dict[str, Any]) -> Any:
        return self.request("POST", path, thing)

    def replace(self, path: str, thing: dict[str, Any]) -> Any:
        return self.request("PUT", path, thing)

    def patch(self, path: str, change: dict[str, Any], kind: str = MERGE) -> Any:
        return self.request("PATCH", path, change, kind)

    def delete(self, path: str) -> Any:
        return self.request("DELETE", path)

    def items(self, path: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.get(path)["items"]
        return items

    def find(self, path: str) -> Any | None:
        """What is there, or None where nothing is."""
        try:
            return self.get(path)
        except Refused as refused:
            if refused.code == http.client.NOT_FOUND:
                return None
            raise

    def request(
        self, method: str, path: str, body: dict[str, Any] | None = None, kind: str = "application/json"
    ) -> Any:
        headers = {"Accept": "application/json", "User-Agent": "lab", "Content-Type": kind}
        code, answer = self._exchange(method, path, json.dumps(body) if body is not None else None, headers)
        if code >= http.client.BAD_REQUEST:
            raise Refused(method, path, code, answer)
        return json.loads(answer) if answer.startswith("{") else answer

    def pass_on(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, str, bytes]:
        """Somebody else's request, as whom its headers name: status, Content-Type and body of the answer."""
        connection = _Connection(self._address, self._name, self._without_certificate)
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        answered = response.status, response.headers.get_content_type(), response.read()
        connection.close()
        return answered

    def _exchange(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, str]:
        kept: http.client.HTTPSConnection | None = self._local.__dict__.pop("connection", None)
        if kept is not None:
            try:
                return self._ask(kept, method, path, body, headers)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLError):
                kept.close()  # it is from before the API server was restarted
        return self._ask(_Connection(self._address, self._name, self._context), method, path, body, headers)

    def _ask(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        body: str | None,
        headers: dict[str, str],
    ) -> tuple[int, str]:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = response.read().decode()
        self._local.connection = connection
        return response.status, answer


class _Connection(http.client.HTTPSConnection):
    """To one address, checked against the name of another: the server's certificate names what nodes connect
    to.
    """

    def __init__(self, address: tuple[str, int], name: str, context: ssl.SSLContext) -> None:
        super().__init__(*address, timeout=60, context=context)
        self._name = name
        self._tls = context

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._name)
