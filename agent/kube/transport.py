"""Requests to one API server: where it is, who asks, and what one attempt takes."""

import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from urllib.parse import quote, urlencode

from agent.certificates import is_valid_at, load_pem, printable_name
from agent.fetch import address, trust
from agent.fetch.address import Address, Headers, Proxies
from agent.fetch.connection import Server, Waits
from agent.fetch.deadline import Clock, Deadline
from agent.fetch.failure import Doubt
from agent.fetch.failure import Failed as FetchFailed
from agent.fetch.failure import NotTrusted as FetchNotTrusted
from agent.fetch.session import Answer, Session
from agent.kube.access import Access
from agent.kube.answers import plain, refusal
from agent.kube.failure import Failed, NotTrusted, NotUsable, Unauthorized, Unreachable
from agent.release import RELEASE
from agent.secret_fields import registers_secrets

JSON = "application/json"
_ERRORS = 300
_USER_AGENT = f"wmcb/{RELEASE}"


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds, but for the last four."""

    patience: float = 60.0
    """For all attempts at a request together; 0 to ask once."""
    attempt: float = 30.0
    """For one of them, from looking up the name until the last byte."""
    answer: float = 10.0
    """From a request until its answer begins; then it is asked again."""
    change: float = 35.0
    """The same for one that changes something. The API server first asks webhooks, for up to 30 seconds each,
    and does without one that is dead and may be ignored: whoever gives up before never gets it done."""
    silence: float = 10.0
    """Without a byte, once the answer has begun."""
    size: int = 64 << 20
    """Bytes of an answer."""
    line: int = 16 << 20
    """Bytes of an event. The API server stores no object larger than 1.5 MiB, in a shorter form than JSON."""
    pages: int = 1_000
    """Of a list: a server may always say that there is another one."""
    objects: int = 100_000
    """Of all pages together."""

    def answer_to(self, method: str) -> float:
        return self.answer if method == "GET" else self.change

    def attempt_at(self, method: str) -> float:
        """Once there is a connection."""
        return self.attempt - self.answer + self.answer_to(method)


ConnectionKey = tuple[str, int, Address | None, Access]
"""What two requests that share a connection have in common: host, port, proxy, whom TLS trusts, who asks by
it. An IPv6 address's zone is part of the host: it names the network that it is in.
"""


class ConnectionPool:
    """Keeps a session with open connections for each key. Any thread may use it."""

    def __init__(self) -> None:
        self._sessions: dict[ConnectionKey, Session] = {}
        self._lock = threading.Lock()

    def session(self, key: ConnectionKey, server: Server) -> Session:
        """Return the session of this key; `server` is for a new one."""
        with self._lock:
            if key not in self._sessions:
                self._sessions[key] = Session(server, keeps_open=True)
            return self._sessions[key]

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()


@registers_secrets
@dataclass(frozen=True, slots=True)
class Asked:
    """A request to the API server."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    """What is empty is left out."""
    body: bytes = field(default=b"", repr=False)
    content: str = JSON
    repeatable: bool = True
    """Done twice it is as done once."""

    @property
    def target(self) -> str:
        query = urlencode({name: value for name, value in self.query.items() if value})
        return f"{quote(self.path)}?{query}" if query else quote(self.path)

    @property
    def described(self) -> str:
        return f"{self.method} {plain(self.path)}"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer of the API server."""

    status: int
    body: bytes = field(repr=False)
    wait: float
    """Seconds that the server asks to be left alone for."""
    ahead: float | None = None
    """By how many seconds this machine's clock is ahead of the server's; None where that does not say."""


class Transport:
    """Makes single attempts at requests to one API server. Any thread may use it."""

    def __init__(
        self, access: Access, proxies: Proxies, clock: Clock, pool: ConnectionPool | None = None
    ) -> None:
        """Keep connections in `pool`, which others may share, or else in one of its own."""
        self._access = access
        self._proxies = proxies
        self.clock = clock
        self._there = address.parse(access.server)
        self._pool = pool or ConnectionPool()
        self._shares = pool is not None

    @property
    def place(self) -> str:
        """Host and port."""
        return self._there.place

    def close(self) -> None:
        """Ends the connections that nobody is using, but for those that others may use."""
        if not self._shares:
            self._pool.close()

    def reply(self, asked: Asked, limits: Limits, share: Callable[[float], float]) -> Reply:
        """Send the request over an open connection, if there is one, and once more over a new one where the
        server may have closed that before. `share` tells how much of so many seconds there is. Raises Failed.
        """
        if asked.repeatable:
            waits = self._waits(asked, limits, share)
            kept = self._pool.session(self._key, self._server)
            try:
                return self._once(asked, limits, share, kept, waits)
            except Unreachable:
                if not waits.is_stale:
                    raise
        waits = self._waits(asked, limits, share)
        return self._once(asked, limits, share, Session(self._server), waits)

    def lines(
        self, asked: Asked, limits: Limits, seconds: float, deadline: Deadline
    ) -> Generator[bytes, None, None]:
        """Each line of the answer as soon as it is there, until the answer ends, or for `seconds`; over a
        connection of its own. Raises Failed, and TimeIsUp where the deadline is stopped.
        """
        waits = Waits(deadline, limits.answer, limits.silence, min(limits.attempt, seconds))
        end = self.clock.monotonic() + seconds
        with _own_failures(), closing(self._asked(Session(self._server), asked, waits)) as answer:
            if answer.status >= _ERRORS:
                reply = self._read(answer, limits)
                raise refusal(self.place, asked.described, reply.status, reply.body, reply.wait)
            try:
                with deadline.within(seconds, f"nothing from {self.place}"):
                    yield from self._split(answer, limits)
            except (FetchFailed, Unreachable):
                if self.clock.monotonic() < end:
                    raise

    def _waits(self, asked: Asked, limits: Limits, share: Callable[[float], float]) -> Waits:
        answer = limits.answer_to(asked.method)
        return Waits(Deadline(self.clock), answer, limits.silence, share(limits.attempt))

    def _once(
        self, asked: Asked, limits: Limits, share: Callable[[float], float], session: Session, waits: Waits
    ) -> Reply:
        seconds = waits.connect + share(limits.attempt_at(asked.method))
        whole = waits.deadline.within(seconds, f"no whole answer from {self.place}")
        try:
            with _own_failures(), whole, closing(self._asked(session, asked, waits)) as answer:
                return self._read(answer, limits)
        except Unreachable as fault:
            fault.transient = fault.transient and (asked.repeatable or not waits.is_sent)
            raise

    def _asked(self, session: Session, asked: Asked, waits: Waits) -> Answer:
        # The server's URL may have a path of its own, where one address stands for many clusters.
        before = self._there.target.partition("?")[0].rstrip("/")
        return session.ask(asked.method, before + asked.target, self._headers(asked), waits, asked.body)

    def _headers(self, asked: Asked) -> Headers:
        """Raises NotUsable."""
        headers = {
            "Host": self._there.named,
            "User-Agent": _USER_AGENT,
            "Accept": JSON,
            "Accept-Encoding": "identity",
            **dict(self._access.headers()),
        }
        if asked.method != "GET":
            headers["Content-Type"] = asked.content
        return tuple(headers.items())

    def _read(self, answer: Answer, limits: Limits) -> Reply:
        body = bytearray()
        for piece in answer.pieces():
            body += piece
            self._check(len(body), limits.size)
        now, theirs = self.clock.time(), answer.moment()
        return Reply(answer.status, bytes(body), answer.wait(now), None if theirs is None else now - theirs)

    def _split(self, answer: Answer, limits: Limits) -> Iterator[bytes]:
        gathered = bytearray()
        for piece in answer.pieces():
            first, *more = piece.split(b"\n")
            gathered += first
            self._check(len(gathered), limits.line)
            if more:
                whole, gathered = bytes(gathered), bytearray(more.pop())
                yield from filter(None, (whole, *more))

    def _check(self, size: int, most: int) -> None:
        if size > most:
            raise Unreachable(f"the answer of {self.place} is larger than {most:,} bytes")

    def explained(self, fault: Failed) -> Failed:
        """With what to do about it, where that depends on who asks and who is trusted."""
        if isinstance(fault, NotTrusted):
            return of_mistrust(fault, self._access, self.place)
        if isinstance(fault, Unauthorized):
            return of_unauthorized(fault, self._access, self.place, self.clock)
        return fault

    @cached_property
    def _key(self) -> ConnectionKey:
        # A token is sent with each request; where a key lies makes no difference.
        by_tls = replace(self._access, server="", name="", proxy="", token="", user="", password="", pair=())
        return self._there.host, self._there.port, self._proxy, by_tls

    @cached_property
    def _server(self) -> Server:
        access = self._access
        given = (access.authorities,) if access.authorities else ()
        in_proxy = partial(trust.machine_and, given)
        return Server(self._there, self._proxy, access.trust(), in_proxy, access.server_name)

    @cached_property
    def _proxy(self) -> Address | None:
        if self._access.proxy:
            return address.parse(self._access.proxy)
        try:
            return self._proxies.proxy(self._there)
        except FetchFailed as fault:
            raise NotUsable(str(fault)) from None


@contextmanager
def _own_failures() -> Iterator[None]:
    try:
        yield
    except FetchNotTrusted as fault:
        raise NotTrusted(str(fault), fault.doubt, fault.place, fault.signer) from None
    except FetchFailed as fault:
        raise Unreachable(str(fault), transient=fault.transient, wait=fault.wait) from None


_BOOTSTRAP_TOKEN = re.compile(r"([a-z0-9]{6})\.[a-z0-9]{16}")
NEW_TOKEN = "`kubeadm token create --print-join-command` on a control-plane node makes a new one"  # noqa: S105


def of_mistrust(fault: NotTrusted, access: Access, place: str) -> NotTrusted:
    if fault.doubt is not Doubt.AUTHORITY or not fault.signer or fault.place != place:
        return fault
    trusted = _subjects(access.authorities)
    known = f"{access.name} trusts {trusted} alone" if trusted else "this machine does not trust that one"
    if fault.signer in trusted:
        known = f"{access.name} trusts one of that name, with another key"
    why = (
        f"the certificate of {place} is signed by {fault.signer}; {known}: another machine may be answering "
        "at that address, or its certificates were made anew since"
    )
    return NotTrusted(why, fault.doubt, place, fault.signer)


def of_unauthorized(fault: Unauthorized, access: Access, place: str, clock: Clock) -> Unauthorized:
    text = f"{place} does not accept who asks (401): {_why(access, clock)}"
    return Unauthorized(text, fault.status, fault.reason)


def _why(access: Access, clock: Clock) -> str:
    if token := _BOOTSTRAP_TOKEN.fullmatch(access.token):
        return (
            f"it does not know the bootstrap token {token[1]}, or no longer, since tokens expire; {NEW_TOKEN}"
        )
    if access.token:
        return f"the token of {access.name} has expired, or is another cluster's"
    if access.user:
        return f"the user or the password of {access.name} is wrong"
    if not access.certificate:
        return f"it wants credentials, and {access.name} has none"
    own = access.own_certificate()
    now = datetime.fromtimestamp(clock.time(), UTC)
    if own is None or is_valid_at(own, now):
        return f"the client certificate of {access.name} was not signed by the cluster's authority"
    here = f"this machine's clock says {now:%Y-%m-%d %H:%M} UTC"
    if now < own.not_valid_before_utc:
        first = f"{own.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        return f"the client certificate of {access.name} is not valid before {first}; {here}: is that right?"
    last = f"{own.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    return (
        f"the client certificate of {access.name} expired at {last}; "
        f"{here}: if that is right, the node has to join again"
    )


def _subjects(pem: bytes) -> str:
    """Of the authorities in it, for people."""
    try:
        names = [printable_name(one.subject) for one in load_pem(pem)]
    except ValueError:
        return ""
    return " or ".join(dict.fromkeys(names))
