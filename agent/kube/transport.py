"""Requests to one API server: where it is, who asks, and what one attempt takes."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from urllib.parse import quote, urlencode

from agent.fetch import address, trust
from agent.fetch.address import Address, Headers
from agent.fetch.connection import Server, Waits
from agent.fetch.deadline import Clock, Deadline
from agent.fetch.failure import Failed as FetchFailed
from agent.fetch.failure import NotTrusted as FetchNotTrusted
from agent.fetch.proxies import Proxies
from agent.fetch.session import Answer, Session
from agent.kube import explanations
from agent.kube.access import Access
from agent.kube.answers import plain, refusal
from agent.kube.connection_pool import ConnectionKey, ConnectionPool
from agent.kube.failure import Failed, NotTrusted, NotUsable, Unauthorized, Unreachable
from agent.kube.limits import Limits
from agent.release import RELEASE
from agent.secret_fields import registers_secrets

JSON = "application/json"
_ERRORS = 300
_USER_AGENT = f"wmcb/{RELEASE}"


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
            return explanations.of_mistrust(fault, self._access, self.place)
        if isinstance(fault, Unauthorized):
            return explanations.of_unauthorized(fault, self._access, self.place, self.clock)
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
