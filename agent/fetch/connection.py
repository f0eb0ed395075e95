"""One connection to a server: TCP, a proxy's tunnel and TLS, each made and used within a request's limits.

urllib3 pools these connections and reads bodies from them (`session.py`).
"""

import math
import re
import ssl
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from io import BufferedReader
from typing import Any, cast

from urllib3.connection import HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.util.ssltransport import SSLTransport

from agent.fetch import trust
from agent.fetch.address import Address, basic
from agent.fetch.deadline import Deadline, TimeIsUp
from agent.fetch.dialer import Stream, dial
from agent.fetch.failure import Doubt, Failed, broken, described
from agent.fetch.tls_failure import doubt_of, is_cut_off, of_certificate, of_session
from agent.fetch.trust import Trust

Channel = Stream | SSLTransport
"""A connection, with or without TLS."""

CONNECT_SECONDS = 30.0
HANDSHAKE_SECONDS = 10.0
JUDGEMENT_SECONDS = 20.0
"""In addition where Windows judges a certificate: it may fetch authorities in this time."""
_SECOND_LOOK_SECONDS = 10.0
TUNNEL_SECONDS = 30.0
"""The proxy has to connect as well."""
_SEND_SECONDS = 30.0
_OK = 200
_PROXY_CREDENTIALS_WANTED = 407
_SERVER_ERRORS = 500


_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\0]*\r?\n?")
_CONTINUED = (b" ", b"\t")
_BLANK = (b"\r\n", b"\n")
_EARLY_HINTS, _FINAL = 102, 200
"""http.client itself skips 100; 101 is final."""


class StrictResponse(HTTPResponse):
    """An answer whose head is whole and well-formed: `begin` raises IncompleteRead where it is cut off.

    http.client ends the headers where the connection ends, and at the first line that is no header. The
    length of the body can be among those that it so loses.
    """

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


@dataclass(frozen=True, slots=True)
class Server:
    """A server, the way to it, and who may vouch for each.

    What TLS is spoken with, the server or the proxy, is called a hop.
    """

    address: Address
    proxy: Address | None
    trust: Trust
    """Makes the contexts by which the server is trusted."""
    trust_in_proxy: Trust
    tls_name: str = ""
    """Host name that the server's certificate has to be for, where it is not the address's."""

    def label(self, hop: Address) -> str:
        """Return what messages call the server or the proxy."""
        return f"the proxy {hop.place}" if hop is self.proxy else hop.place

    def certificate_name(self, hop: Address) -> str:
        """Return the host name that the certificate of the server or the proxy has to be for."""
        name = self.tls_name if self.tls_name and hop is self.address else hop.host
        # Neither a zone nor a name's last dot is ever in a certificate.
        return name.partition("%")[0].rstrip(".")


@dataclass(slots=True)
class Waits:
    """How long one request may wait, and how far it came."""

    deadline: Deadline
    """Ends the whole request."""
    answer: float
    """Seconds from the request until the headers of its answer."""
    silence: float
    """Seconds without a byte, once the answer has begun."""
    connect: float = math.inf
    """Seconds for a new connection; each phase has its own limit within them."""
    is_stale: bool = False
    """The request went over a kept connection that was cut off without an answer: the server may have closed
    it before.
    """
    is_sent: bool = False
    """The server may have begun the request."""


current_waits: ContextVar[Waits] = ContextVar("waits")
"""Of the request that this thread makes: requests hands nothing of the kind down to a connection."""
current_target: ContextVar[str] = ContextVar("target")
"""What that request asks for. requests and urllib3 rewrite it: a signature of it would no longer fit."""


class _Refused(Exception):
    """A certificate of the server or the proxy is refused."""

    def __init__(self, hop: Address, fault: ssl.SSLCertVerificationError) -> None:
        self.hop = hop
        self.fault = fault


class _Handshake:
    """Runs the steps of a handshake within the deadline: Windows may use the network to judge a certificate.

    The judgement works in memory: left behind, it touches no socket.
    """

    def __init__(self, tls: ssl.SSLObject, deadline: Deadline) -> None:
        self.tls = tls
        self._deadline = deadline

    def do_handshake(self) -> None:
        try:
            self._deadline.run(self.tls.do_handshake, f"judge {self.tls.server_hostname}")
        except OSError as fault:
            if isinstance(fault, ssl.SSLError):
                raise
            # In memory it is CryptoAPI's, about a certificate that it cannot read.
            refused = ssl.SSLCertVerificationError("not readable")
            refused.verify_message = "not readable"
            refused.verify_code = getattr(fault, "winerror", 0) % (1 << 32)
            raise refused from None


class _BoundedContext:
    """Makes what `SSLTransport` asks a context for, with a handshake that ends with the deadline."""

    def __init__(self, context: ssl.SSLContext, deadline: Deadline) -> None:
        self._context = context
        self._deadline = deadline

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_hostname: str) -> _Handshake:
        made = self._context.wrap_bio(incoming, outgoing, server_hostname=server_hostname)
        return _Handshake(made, self._deadline)


class _Tls(SSLTransport):
    """TLS in memory, over TCP as inside a proxy's own TLS."""

    def __init__(self, inner: Channel, context: ssl.SSLContext, name: str, deadline: Deadline) -> None:
        bounded = cast("ssl.SSLContext", _BoundedContext(context, deadline))
        try:
            super().__init__(inner, bounded, name, suppress_ragged_eofs=False)  # type: ignore[arg-type]
        except ssl.SSLError:
            with suppress(OSError, TimeIsUp):
                inner.sendall(self.outgoing.read())  # the alert that tells the other side why
            raise
        self.sslobj = cast("_Handshake", self.sslobj).tls

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
        """Return whether bytes were received that nothing has read."""
        return bool(self.incoming.pending or self.sslobj.pending())

    def peer_chain(self) -> list[bytes]:
        """Return the certificates (DER) that the other side showed, its own first."""
        own = self.sslobj.getpeercert(binary_form=True)
        chain = getattr(self.sslobj, "get_unverified_chain", None)  # from Python 3.13 on
        return list(chain()) if chain else [own] if own else []


class Connection(HTTPSConnection):
    """A connection to the server, also where it is no https: with TLS and a tunnel where they are needed."""

    response_class = StrictResponse

    def __init__(self, server: Server, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._server = server
        self._used = False
        self._reused = False

    @property
    def is_connected(self) -> bool:
        """Whether it can serve another request: not where bytes follow the last answer, which TLS may
        already hold in memory.
        """
        channel = cast("Channel | None", self.sock)
        while isinstance(channel, _Tls):
            if channel.holds_unread():
                return False
            channel = cast("Channel", channel.socket)
        return super().is_connected

    def connect(self) -> None:
        """Connect. Raises Failed or TimeIsUp, which urllib3 lets pass."""
        waits, server = current_waits.get(), self._server
        with waits.deadline.within(waits.connect, f"no connection to {server.address.place}"):
            self._connect(server)
        self._used = False
        # By our contexts; else urllib3 warns.
        self.is_verified = self.proxy_is_verified = True

    def _connect(self, server: Server) -> None:
        # Not by address: a proxy may have the server's, and is trusted by others.
        hops = {server.label(server.address): iter(server.trust() if server.address.secure else ())}
        if server.proxy:
            hops[server.label(server.proxy)] = iter(server.trust_in_proxy() if server.proxy.secure else ())
        contexts = {hop: next(trusts, None) for hop, trusts in hops.items()}
        while True:
            try:
                self.sock = self._opened(contexts, server.address)
                return
            except _Refused as refused:
                label = server.label(refused.hop)
                contexts[label] = next(hops[label], None)
                unknown = doubt_of(refused.fault) is Doubt.AUTHORITY
                if contexts[label] is None or not unknown:
                    raise self._explained(refused, contexts) from None

    def request(self, method: str, url: str, *given: Any, **named: Any) -> None:  # noqa: ARG002 - rewritten
        """Send the request to the target of this thread's request."""
        waits = current_waits.get()
        if self.sock is None:
            self.connect()
        self._reused = self._used
        self._stream.deadline = waits.deadline
        waits.is_sent = self._used = True
        place = self._server.address.place
        failing = f"{place} does not take the request"
        # The server may have answered before it cut this off; the answer tells.
        with _phase(waits, _SEND_SECONDS, failing, place), suppress(ConnectionError):
            super().request(method, current_target.get(), *given, **named)

    def getresponse(self) -> Any:
        """Return the answer once its headers are there. Raises Failed or TimeIsUp."""
        waits, place = current_waits.get(), self._server.address.place
        with _phase(waits, waits.answer, f"no answer from {place}", place):
            try:
                return super().getresponse()
            except (ConnectionError, ssl.SSLError) as fault:
                waits.is_stale = self._reused and (isinstance(fault, ConnectionError) or is_cut_off(fault))
                raise

    def _opened(self, contexts: dict[str, ssl.SSLContext | None], last: Address) -> Channel:
        """Return a connection as far as `last`, the proxy or the server."""
        there, proxy = self._server.address, self._server.proxy
        first, deadline = proxy or there, current_waits.get().deadline
        label = self._server.label(first)
        with deadline.within(CONNECT_SECONDS, f"no connection to {label}"):
            self._stream = dial(first, label, deadline, called="of the proxy " if proxy else "")
        self._stream.deadline, channel = deadline, cast("Channel", self._stream)
        try:
            if proxy and (context := contexts[label]):
                channel = self._secured(channel, proxy, context)
            if last is there and (context := contexts[self._server.label(there)]):
                if proxy:
                    self._open_tunnel(channel, proxy)
                channel = self._secured(channel, there, context)
        except BaseException:
            self._stream.close()
            raise
        return channel

    def _secured(self, channel: Channel, hop: Address, context: ssl.SSLContext) -> Channel:
        label, name = self._server.label(hop), self._server.certificate_name(hop)
        failing = f"the TLS handshake with {label} did not finish"
        seconds = HANDSHAKE_SECONDS + (JUDGEMENT_SECONDS if trust.is_machines(context) else 0.0)
        with _phase(current_waits.get(), seconds, failing, label):
            try:
                return _Tls(channel, context, name, current_waits.get().deadline)
            except ssl.SSLCertVerificationError as fault:
                raise _Refused(hop, fault) from None

    def _open_tunnel(self, channel: Channel, proxy: Address) -> None:
        """Ask the proxy for a tunnel. http.client's own tells the proxy's answer in words alone."""
        there, label = self._server.address, self._server.label(proxy)
        head = [f"CONNECT {there.place} HTTP/1.1", f"Host: {there.place}"]
        head += [f"{name}: {value}" for name, value in basic("Proxy-Authorization", proxy)]
        with _phase(current_waits.get(), TUNNEL_SECONDS, f"no answer from {label}", label):
            channel.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
            with closing(StrictResponse(channel, method="CONNECT")) as answer:  # type: ignore[arg-type]
                answer.begin()
        if answer.status == _PROXY_CREDENTIALS_WANTED:
            why = f"{label} wants credentials, or others than it was given (407)"
            raise Failed(why, status=answer.status)
        if answer.status != _OK:
            why = f"{label} does not connect to {there.place}: it answers {described(answer.status)}"
            raise Failed(why, transient=answer.status >= _SERVER_ERRORS, status=answer.status)

    def _explained(self, refused: _Refused, contexts: dict[str, ssl.SSLContext | None]) -> Failed:
        server = self._server
        label, shown = server.label(refused.hop), cast("Iterable[bytes]", ())
        # Asked again, since Python forgets the certificates that it refused.
        # Without them the refusal is still the one that counts.
        look = current_waits.get().deadline.within(_SECOND_LOOK_SECONDS, "no second look")
        with (
            suppress(Failed, _Refused, TimeIsUp),
            look,
            closing(self._opened({**contexts, label: trust.unverified()}, refused.hop)) as channel,
        ):
            shown = cast("_Tls", channel).peer_chain()
        trusted = server.trust_in_proxy if refused.hop is server.proxy else server.trust
        known = trust.named_in(trusted())
        return of_certificate(refused.fault, label, known, shown)


@contextmanager
def _phase(waits: Waits, seconds: float, failing: str, label: str) -> Iterator[None]:
    """Give what is done inside `seconds`, and explain its errors."""
    with waits.deadline.within(seconds, failing):
        try:
            yield
        except (OSError, HTTPException, HTTPError) as fault:
            raise _failed(fault, label) from None


def _failed(fault: Exception, label: str) -> Failed:
    if isinstance(fault, ssl.SSLError):
        return of_session(fault, label)
    if isinstance(fault, RemoteDisconnected):
        return Failed(f"{label} ends the connection without an answer", transient=True)
    if isinstance(fault, IncompleteRead):
        return Failed(f"{label} breaks off in the headers of its answer", transient=True)
    if isinstance(fault, OSError):
        return broken(label, "by the other side", fault)
    return Failed(f"what {label} answers is not http")
