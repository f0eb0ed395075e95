"""The one place that makes HTTP sessions: `requests`, less what it would take from its surroundings.

A session has one server. Neither certifi's bundle nor a variable of the environment, a .netrc or a cookie has
a part in it, and it follows no redirect. What is added: each phase of a request has a limit of its own and
says what it waited for, a deadline around them ends whatever waits (`dialer.py`), and what fails is explained
by type and code.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.response import HTTPResponse as RawResponse

from agent.fetch.address import Headers, basic
from agent.fetch.connection import Connection, Server, Waits, current_target, current_waits
from agent.fetch.failure import Failed, broken
from agent.fetch.tls_failure import of_session

_PIECE = 1 << 18
"""Larger ones a heap does not keep: each would be asked of Windows again."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAKS = re.compile(r"[\r\n\0]")


class Session(requests.Session):
    """Requests to one server."""

    def __init__(self, server: Server, *, keeps_open: bool = False) -> None:
        """With `keeps_open` connections stay for further requests, until `close`."""
        super().__init__()
        self._server = server
        self._keeps_open = keeps_open
        self.trust_env = False
        self.headers.clear()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        if server.proxy:
            self.proxies = {server.address.scheme: f"{server.proxy.scheme}://{server.proxy.place}"}
        self.adapters.clear()
        self.mount(f"{server.address.scheme}://", _Adapter(server))

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Follow none, and read none's body, which may have no end: who asks decides (`fetching.py`)."""

    def ask(self, method: str, target: str, headers: Headers, waits: Waits, body: bytes = b"") -> Answer:
        """Send a request, and return its answer as soon as the headers are there. Raises Failed, TimeIsUp."""
        token, target_token = current_waits.set(waits), current_target.set(self._request_target(target))
        try:
            request = self._prepared(method, target, headers, body)
            response = self.send(request, stream=True, allow_redirects=False)
        except BaseException as fault:
            self._end()
            if isinstance(fault, requests.exceptions.InvalidURL):
                raise Failed("it is no http or https URL") from None
            if isinstance(fault, requests.ConnectionError):  # by `close` from another thread
                raise Failed(
                    f"the connection to {self._server.address.place} is closed", transient=True
                ) from None
            raise
        finally:
            current_waits.reset(token)
            current_target.reset(target_token)
        return Answer(response, self._server.address.place, waits, self._end)

    def _end(self) -> None:
        if not self._keeps_open:
            self.close()

    def _request_target(self, target: str) -> str:
        """Return it as the request line has it: a proxy that forwards is given the whole URL."""
        there = self._server.address
        forwarded = self._server.proxy and not there.secure
        return f"{there.scheme}://{there.named}{target}" if forwarded else target

    def _prepared(self, method: str, target: str, headers: Headers, body: bytes) -> requests.PreparedRequest:
        for name, value in headers:
            # requests lets blanks and zero bytes pass.
            if not _TOKEN.fullmatch(name) or _BREAKS.search(value):
                raise Failed("one of the headers to send has a name or a value that no header can have")
        there = self._server.address
        encoded = {name: value.strip().encode("utf-8", "surrogateescape") for name, value in headers}
        url = f"{there.scheme}://{there.named}{target}"
        return self.prepare_request(requests.Request(method, url, encoded, data=body))


class Answer:
    """The answer to a request, whose body is read as it comes."""

    def __init__(
        self, response: requests.Response, place: str, waits: Waits, on_close: Callable[[], None]
    ) -> None:
        self._response = response
        self._raw: RawResponse = response.raw
        self._place = place
        self._waits = waits
        self._on_close = on_close
        self.status = response.status_code
        self.size = self._raw.length_remaining
        """Of the body; None where the server does not say."""

    def header(self, name: str) -> str:
        """Return a header, in whatever letters its name is written; empty where there is none."""
        return self._response.headers.get(name, "").strip()

    def wait(self, now: float) -> float:
        """Return the seconds that the server asks to be left alone for. `now` counts from 1970."""
        text = self.header("Retry-After").strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        moment = _moment(text)
        return 0.0 if moment is None else max(0.0, moment - now)

    def moment(self) -> float | None:
        """Return what time the server has, in seconds since 1970; None where it does not say so."""
        return _moment(self.header("Date"))

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes. Raises Failed or TimeIsUp."""
        received = 0
        while piece := self._piece(received):
            received += len(piece)
            yield piece

    def close(self) -> None:
        self._response.close()
        self._on_close()

    def _piece(self, received: int) -> bytes:
        failing = f"{self._place} sends nothing more after {received:,} bytes"
        with self._waits.deadline.within(self._waits.silence, failing):
            try:
                return self._raw.read1(_PIECE, decode_content=False)
            except HTTPError as fault:
                raise self._explained(fault.__cause__, received) from None

    def _explained(self, fault: BaseException | None, received: int) -> Failed:
        if isinstance(fault, ssl.SSLError):
            return of_session(fault, self._place)
        if isinstance(fault, OSError):
            return broken(self._place, "by the other side", fault)
        whole = f" of {received + self._raw.length_remaining:,}" if self._raw.length_remaining else ""
        return Failed(f"{self._place} breaks off after {received:,}{whole} bytes", transient=True)


class _Adapter(HTTPAdapter):
    """Gives requests our connections to one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._pool: HTTPConnectionPool | None = None
        super().__init__()

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Load nothing: requests would have the connection trust certifi's bundle."""

    def get_connection_with_tls_context(self, *given: Any, **named: Any) -> HTTPConnectionPool:
        pool = super().get_connection_with_tls_context(*given, **named)
        pool.ConnectionCls = partial(Connection, self._server)  # type: ignore[assignment]
        self._pool = pool
        return pool

    def close(self) -> None:
        """Close the idle connections, which requests and urllib3 leave to the collector of garbage."""
        super().close()
        if self._pool:
            self._pool.close()

    def proxy_headers(self, _proxy: str) -> dict[str, str]:
        return dict(basic("Proxy-Authorization", self._server.proxy))


def _moment(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
