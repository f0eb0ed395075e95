"""The one place that makes HTTP sessions: `requests`, less what it would take from its surroundings.

A session has one server. Neither certifi's bundle nor a variable of the environment, a .netrc or a cookie has
a part in it, and it follows no redirect. What is added: each phase of a request has a limit of its own and
says what it waited for, a deadline around them ends whatever waits (`dialer.py`), and what fails is explained
by type and code.
"""

from __future__ import annotations

import math
import re
import ssl
from base64 import b64encode
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, cast

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.util.ssltransport import SSLTransport

from agent.fetch import tls_failure, trust
from agent.fetch.deadline import TimeIsUp
from agent.fetch.dialer import Stream, dial
from agent.fetch.failure import Doubt, Failed, broken
from agent.fetch.response_head import StrictResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from requests import PreparedRequest
    from urllib3.connectionpool import HTTPConnectionPool
    from urllib3.response import HTTPResponse as RawResponse

    from agent.fetch.address import Address
    from agent.fetch.deadline import Deadline
    from agent.fetch.trust import Trust

    Way = Stream | SSLTransport
    """A connection, with or without TLS."""

Headers = tuple[tuple[str, str], ...]

CONNECT_SECONDS = 30.0
HANDSHAKE_SECONDS = 30.0
"""In which Windows may fetch authorities, when it judges."""
_SECOND_LOOK_SECONDS = 10.0
_TUNNEL_SECONDS = 30.0
"""The proxy has to connect as well."""
_SEND_SECONDS = 30.0
_PIECE = 1 << 18
"""Larger ones a heap does not keep: each would be asked of Windows again."""
_OK = 200
_PROXY_CREDENTIALS_WANTED = 407
_SERVER_ERRORS = 500
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAKS = re.compile(r"[\r\n\0]")


@dataclass(frozen=True, slots=True)
class Server:
    there: Address
    proxy: Address | None
    trust: Trust
    """Who may vouch for the server."""
    trust_in_proxy: Trust
    name: str = ""
    """That the server's certificate is to be for, where it is not the host's."""

    def called(self, hop: Address) -> str:
        return f"the proxy {hop.place}" if hop is self.proxy else hop.place

    def name_of(self, hop: Address) -> str:
        name = self.name if self.name and hop is self.there else hop.host
        # Neither a zone nor a name's last dot is ever in a certificate.
        return name.partition("%")[0].rstrip(".")


@dataclass(slots=True)
class Waits:
    """How long one request may wait, and how far it came."""

    deadline: Deadline
    """That ends all of it."""
    answer: float
    """Seconds from the request until the headers of its answer."""
    silence: float
    """Seconds without a byte, once the answer has begun."""
    connect: float = math.inf
    """Seconds for a new connection, with the limits of each phase within them."""
    reused: bool = False
    """It went over a connection that was open before, and may have been dead."""
    sent: bool = False
    """The server may have begun it."""


_waits: ContextVar[Waits] = ContextVar("waits")
"""Of the request that this thread makes: requests hands nothing of the kind down to a connection."""
_target: ContextVar[str] = ContextVar("target")
"""What that request asks for. requests and urllib3 rewrite it: a signature of it would no longer fit."""


class Session(requests.Session):
    def __init__(self, server: Server, *, keeps_open: bool = False) -> None:
        """With `keeps_open` connections stay for further requests, until `close`."""
        super().__init__()
        self._server = server
        self._keeps_open = keeps_open
        self.trust_env = False
        self.headers.clear()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        if server.proxy:
            self.proxies = {server.there.scheme: f"{server.proxy.scheme}://{server.proxy.place}"}
        self.adapters.clear()
        self.mount(f"{server.there.scheme}://", _Adapter(server))

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Follow none, and read none's body, which may have no end: who asks decides (`fetching.py`)."""

    def ask(self, method: str, target: str, headers: Headers, waits: Waits, body: bytes = b"") -> Answer:
        """Send a request, and return its answer as soon as the headers are there. Raises Failed, TimeIsUp."""
        token, target_token = _waits.set(waits), _target.set(self._request_target(target))
        try:
            request = self._prepared(method, target, headers, body)
            response = self.send(request, stream=True, allow_redirects=False)
        except BaseException as fault:
            self._end()
            if isinstance(fault, requests.exceptions.InvalidURL):
                raise Failed("it is no http or https URL") from None
            if isinstance(fault, requests.RequestException | HTTPError | UnicodeError):
                raise _no_http(self._server.there.place) from None
            raise
        finally:
            _waits.reset(token)
            _target.reset(target_token)
        return Answer(response, self._server.there.place, waits, self._end)

    def _end(self) -> None:
        if not self._keeps_open:
            self.close()

    def _request_target(self, target: str) -> str:
        """Return it as the request line has it: a proxy that forwards is given the whole URL."""
        there = self._server.there
        forwarded = self._server.proxy and not there.secure
        return f"{there.scheme}://{there.named}{target}" if forwarded else target

    def _prepared(self, method: str, target: str, headers: Headers, body: bytes) -> PreparedRequest:
        for name, value in headers:
            # requests lets blanks and zero bytes pass.
            if not _TOKEN.fullmatch(name) or _BREAKS.search(value):
                raise Failed("one of the headers to send has a name or a value that no header can have")
        there = self._server.there
        encoded = {name: value.strip().encode("utf-8", "surrogateescape") for name, value in headers}
        url = f"{there.scheme}://{there.named}{target}"
        return self.prepare_request(requests.Request(method, url, encoded, data=body))


class Answer:
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
        """Return it in whatever letters it is written; empty where there is none."""
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
        """The body, as it comes. Raises Failed or TimeIsUp."""
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
            return tls_failure.of_session(fault, self._place)
        if isinstance(fault, OSError):
            return broken(self._place, "by the other side", fault)
        whole = f" of {received + self._raw.length_remaining:,}" if self._raw.length_remaining else ""
        return Failed(f"{self._place} breaks off after {received:,}{whole} bytes", transient=True)


class _Adapter(HTTPAdapter):
    def __init__(self, server: Server) -> None:
        self._server = server
        super().__init__()

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Load nothing: requests would have the connection trust certifi's bundle."""

    def get_connection_with_tls_context(self, *given: Any, **named: Any) -> HTTPConnectionPool:
        pool = super().get_connection_with_tls_context(*given, **named)
        pool.ConnectionCls = partial(_Connection, self._server)  # type: ignore[assignment]
        return pool

    def proxy_headers(self, _proxy: str) -> dict[str, str]:
        return dict(basic("Proxy-Authorization", self._server.proxy))


class _Refused(Exception):
    def __init__(self, hop: Address, fault: ssl.SSLCertVerificationError) -> None:
        self.hop = hop
        self.fault = fault


class _Bounded:
    """A context that judges certificates within the deadline: Windows may use the network for it.

    The judgement works in memory: left behind, it touches no socket.
    """

    def __init__(self, context: ssl.SSLContext, deadline: Deadline) -> None:
        self._context = context
        self._deadline = deadline

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_hostname: str
    ) -> ssl.SSLObject:
        made = self._context.wrap_bio(incoming, outgoing, server_hostname=server_hostname)
        step = partial(self._deadline.run, made.do_handshake, f"judge {server_hostname}")
        made.do_handshake = step  # type: ignore[method-assign]
        return made


class _Tls(SSLTransport):
    """TLS in memory, over TCP as inside a proxy's own TLS."""

    def __init__(self, inner: Way, context: ssl.SSLContext, name: str, deadline: Deadline) -> None:
        bounded = cast("ssl.SSLContext", _Bounded(context, deadline))
        super().__init__(inner, bounded, name, suppress_ragged_eofs=False)  # type: ignore[arg-type]

    @property
    def _io_refs(self) -> int:
        """How many files read from it: what is over it counts them here."""
        return self.socket._io_refs  # type: ignore[attr-defined,no-any-return]

    @_io_refs.setter
    def _io_refs(self, number: int) -> None:
        self.socket._io_refs = number  # type: ignore[attr-defined]

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        """Read all records that are there: on its way up each piece takes as long, whatever its size."""
        with memoryview(buffer) as view:
            received = cast("int", super().recv_into(view, nbytes, flags))
            while 0 < received < len(view) and self.incoming.pending:
                try:
                    more = self.sslobj.read(len(view) - received, view[received:])
                except ssl.SSLError:
                    break  # it is not whole yet; what is wrong shows again
                if not more:
                    break
                received += cast("int", more)
        return received

    def holds_unread(self) -> bool:
        """Tell whether bytes were received that nothing has read."""
        return bool(self.incoming.pending or self.sslobj.pending())

    def shown(self) -> list[bytes]:
        """The certificates that the other side showed, its own first, in DER."""
        own = self.sslobj.getpeercert(binary_form=True)
        chain = getattr(self.sslobj, "get_unverified_chain", None)  # from Python 3.13 on
        return list(chain()) if chain else [own] if own else []


class _Connection(HTTPSConnection):
    """A connection to the server, also where it is no https: with TLS and a tunnel where they are needed."""

    response_class = StrictResponse

    def __init__(self, server: Server, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._server = server
        self._used = False

    @property
    def is_connected(self) -> bool:
        """Tell whether it can serve another request: not where bytes follow the last answer, which TLS may
        already hold in memory.
        """
        way = cast("Way | None", self.sock)
        while isinstance(way, _Tls):
            if way.holds_unread():
                return False
            way = cast("Way", way.socket)
        return super().is_connected

    def connect(self) -> None:
        """Raises Failed or TimeIsUp, which urllib3 lets pass."""
        waits, server = _waits.get(), self._server
        with waits.deadline.within(waits.connect, f"no connection to {server.there.place}"):
            self._connect(server)
        self._used = False
        # By our contexts; else urllib3 warns.
        self.is_verified = self.proxy_is_verified = True

    def _connect(self, server: Server) -> None:
        # Not by address: a proxy may have the server's, and is trusted by others.
        hops = {server.called(server.there): iter(server.trust() if server.there.secure else ())}
        if server.proxy:
            hops[server.called(server.proxy)] = iter(server.trust_in_proxy() if server.proxy.secure else ())
        contexts = {hop: next(trusts, None) for hop, trusts in hops.items()}
        while True:
            try:
                self.sock = self._opened(contexts, server.there)
                return
            except _Refused as refused:
                place = server.called(refused.hop)
                contexts[place] = next(hops[place], None)
                unknown = tls_failure.doubt_of(refused.fault) is Doubt.AUTHORITY
                if contexts[place] is None or not unknown:
                    raise self._explained(refused, contexts) from None

    def request(self, method: str, url: str, *given: Any, **named: Any) -> None:  # noqa: ARG002 - rewritten
        waits = _waits.get()
        if self.sock is None:
            self.connect()
        elif self._used:
            waits.reused = True
        self._stream.deadline = waits.deadline
        waits.sent = self._used = True
        place = self._server.there.place
        failing = f"{place} does not take the request"
        # The server may have answered before it cut this off; the answer tells.
        with _phase(waits, _SEND_SECONDS, failing, place), suppress(ConnectionError):
            super().request(method, _target.get(), *given, **named)

    def getresponse(self) -> Any:
        waits, place = _waits.get(), self._server.there.place
        with _phase(waits, waits.answer, f"no answer from {place}", place):
            return super().getresponse()

    def _opened(self, contexts: dict[str, ssl.SSLContext | None], last: Address) -> Way:
        """The way as far as `last`, the proxy or the server."""
        there, proxy = self._server.there, self._server.proxy
        first, deadline = proxy or there, _waits.get().deadline
        place = self._server.called(first)
        with deadline.within(CONNECT_SECONDS, f"no connection to {place}"):
            self._stream = dial(first, place, deadline, called="of the proxy " if proxy else "")
        self._stream.deadline, way = deadline, cast("Way", self._stream)
        try:
            if proxy and (context := contexts[place]):
                way = self._secured(way, proxy, context)
            if last is there and (context := contexts[self._server.called(there)]):
                if proxy:
                    self._open_tunnel(way, proxy)
                way = self._secured(way, there, context)
        except BaseException:
            self._stream.close()
            raise
        return way

    def _secured(self, way: Way, hop: Address, context: ssl.SSLContext) -> Way:
        place, name = self._server.called(hop), self._server.name_of(hop)
        with _phase(_waits.get(), HANDSHAKE_SECONDS, f"TLS with {place} does not come about", place):
            try:
                return _Tls(way, context, name, _waits.get().deadline)
            except ssl.SSLCertVerificationError as fault:
                raise _Refused(hop, fault) from None

    def _open_tunnel(self, way: Way, proxy: Address) -> None:
        """http.client's own tells the proxy's answer in words alone."""
        there, place = self._server.there, self._server.called(proxy)
        head = [f"CONNECT {there.place} HTTP/1.1", f"Host: {there.place}"]
        head += [f"{name}: {value}" for name, value in basic("Proxy-Authorization", proxy)]
        with _phase(_waits.get(), _TUNNEL_SECONDS, f"no answer from {place}", place):
            way.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
            answer = StrictResponse(way, method="CONNECT")  # type: ignore[arg-type]
            answer.begin()
            answer.close()
        if answer.status == _PROXY_CREDENTIALS_WANTED:
            why = f"{place} wants credentials, or others than it was given (407)"
            raise Failed(why, status=answer.status)
        if answer.status != _OK:
            why = f"{place} does not connect to {there.place}: it answers {described(answer.status)}"
            raise Failed(why, transient=answer.status >= _SERVER_ERRORS, status=answer.status)

    def _explained(self, refused: _Refused, contexts: dict[str, ssl.SSLContext | None]) -> Failed:
        server = self._server
        place, shown = server.called(refused.hop), cast("Iterable[bytes]", ())
        # Asked again, since Python forgets the certificates that it refused.
        # Without them the refusal is still the one that counts.
        look = _waits.get().deadline.within(_SECOND_LOOK_SECONDS, "no second look")
        with suppress(Failed, _Refused, TimeIsUp), look:
            way = self._opened({**contexts, place: trust.unverified()}, refused.hop)
            shown = cast("_Tls", way).shown()
            way.close()
        trusted = server.trust_in_proxy if refused.hop is server.proxy else server.trust
        known = trust.named_in(trusted())
        return tls_failure.of_certificate(refused.fault, place, known, shown)


@contextmanager
def _phase(waits: Waits, seconds: float, failing: str, place: str) -> Iterator[None]:
    """What is done inside has `seconds`, and its errors are explained."""
    with waits.deadline.within(seconds, failing):
        try:
            yield
        except (OSError, HTTPException, HTTPError) as fault:
            raise _explained(fault, place) from None


def _explained(fault: Exception, place: str) -> Failed:
    if isinstance(fault, ssl.SSLError):
        return tls_failure.of_session(fault, place)
    if isinstance(fault, RemoteDisconnected):
        return Failed(f"{place} ends the connection without an answer", transient=True)
    if isinstance(fault, IncompleteRead):
        return Failed(f"{place} breaks off in the headers of its answer", transient=True)
    return broken(place, "by the other side", fault) if isinstance(fault, OSError) else _no_http(place)


def _no_http(place: str) -> Failed:
    return Failed(f"what {place} answers is not http")


def _moment(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def described(status: int) -> str:
    """Return a status in the words that belong to it, not in those that the server likes."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def basic(header: str, there: Address | None) -> Headers:
    """Return the header with the credentials that a URL had in it, if it had any."""
    if there is None or there.credentials is None:
        return ()
    user, _, password = there.credentials.partition(":")
    return ((header, f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"),)
