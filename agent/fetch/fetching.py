"""Fetching what a URL names: redirects followed, what passes tried again, everything within limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from agent.amounts import in_bytes
from agent.fetch import address
from agent.fetch.address import DIRECT, Address, Headers, Proxies, basic
from agent.fetch.deadline import Clock, Deadline, SystemClock
from agent.fetch.failure import Failed, described
from agent.fetch.retries import RetryPolicy
from agent.release import RELEASE
from agent.secret_fields import registers_secrets

if TYPE_CHECKING:
    from agent.fetch.session import Answer

BLOCK = 1 << 20
"""The largest piece that comes at once. What breaks off before the first is whole is asked for again."""
_STRONG_TAG = re.compile(r'"[\x21\x23-\x7e]*"')

_GOOD = {200, 204}
_PARTIAL = 206
_NOT_SATISFIABLE = 416
_REDIRECTS = {301, 302, 303, 307, 308}
_UNAUTHORIZED = 401
_PROXY_CREDENTIALS_WANTED = 407
_TOO_MANY_REQUESTS, _SERVER_ERRORS = 429, 500

_LARGEST_METADATA = 1 << 20

_OF_THE_CONNECTION = {"connection", "content-length", "host", "transfer-encoding"}
"""Headers that are not the caller's to choose."""
_FOR_EVERY_HOST = {"accept", "accept-encoding", "user-agent"}
"""Headers that say what is wanted, not who wants it: they alone go along with a redirect."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Request:
    url: str = field(repr=False)
    headers: Headers = field(default=(), repr=False)
    """For that URL alone: with a redirect go only those that say what kind of answer is wanted."""
    method: str = "GET"
    """Redirects are followed for GET alone."""
    proxies: Proxies = DIRECT
    authorities: tuple[bytes, ...] = field(default=(), repr=False)
    """PEM, in addition to those of the system."""


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds, but for the last two."""

    patience: float = 60.0
    """For which it is asked again, after what may pass and since something last came; 0 to ask once."""
    answer: float = 10.0
    """From a request until the headers of its answer; then it is asked again."""
    silence: float = 30.0
    """Without a byte, once the answer has begun."""
    total: float = 900.0
    """From the first look-up until the last byte."""
    size: int = 1 << 30
    """Bytes of the answer."""
    redirects: int = 10


@dataclass(slots=True)
class Begun:
    """What there is of a body: the rest may come later, from another process, too."""

    received: int = 0
    tag: str = ""
    """Of what was received: while it is the same, the rest may be asked for. Empty where nobody can tell."""
    size: int | None = None
    """Of the whole, where it is told."""


class TooLarge(Failed):
    """The answer is larger than the limits allow, as announced or as received."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the answer is larger than {in_bytes(size)}")


class Changed(Failed):
    """What was begun is another now, or cannot be gone on with: it may be had from the beginning."""


class Fetcher:
    def __init__(self, clock: Clock | None = None, notice: Callable[[str], None] = lambda _: None) -> None:
        """`notice` is told, in a line for a person, of a failure after which it is asked again and again."""
        self._clock = clock or SystemClock()
        self._notice = notice

    def blocks(
        self, request: Request, limits: Limits, begun: Begun | None = None
    ) -> Generator[bytes, None, None]:
        """The answer's body as it travels, unpacked by nobody. Raises Failed, also between blocks.

        What was `begun` is gone on with, and counts what comes. Whoever has enough before the end closes it.
        """
        return _Fetching(request, limits, self._clock, self._notice, begun or Begun()).blocks()

    def body(self, request: Request, limits: Limits) -> bytes:
        """The same at once. Raises Failed."""
        return b"".join(self.blocks(request, limits))


class _Fetching:
    """One body on its way."""

    def __init__(
        self, request: Request, limits: Limits, clock: Clock, notice: Callable[[str], None], begun: Begun
    ) -> None:
        from agent.fetch.session import Session  # noqa: PLC0415 - requests, 0.2 s under Wine

        self._session = Session  # loaded before the time counts
        self._request = request
        self._limits = limits
        self._clock = clock
        self._notice = notice
        self._deadline = Deadline(clock)
        self._begun = begun

    def blocks(self) -> Generator[bytes, None, None]:
        origin = address.parse(self._request.url)
        with self._deadline.within(self._limits.total, f"not all of the answer of {origin.place} came"):
            retries = self._retries()
            while True:
                try:
                    with closing(self._followed(origin)) as answer:
                        for block in _blocks(answer):
                            self._count(block)
                            yield block
                            retries = self._retries()
                    return
                except Failed as fault:
                    retries.back_off(self._judged(fault))

    def _retries(self) -> RetryPolicy:
        seconds = min(self._limits.patience, self._deadline.left())
        return RetryPolicy(self._clock, seconds, self._notice)

    def _count(self, block: bytes) -> None:
        self._begun.received += len(block)
        if self._begun.received > self._limits.size:
            raise TooLarge(self._limits.size)

    def _judged(self, fault: Failed) -> Failed:
        """A body that broke off goes on only where the server can tell that it is still the same."""
        if fault.transient and self._begun.received and not self._begun.tag:
            return Changed(str(fault))
        return fault

    def _followed(self, origin: Address) -> Answer:
        there = origin
        for _ in range(self._limits.redirects + 1):
            answer = self._asked(there, origin)
            try:
                if answer.status not in _REDIRECTS or self._request.method != "GET":
                    return self._accepted(answer, there)
                location = answer.header("Location")
            except BaseException:
                answer.close()
                raise
            answer.close()
            there = _redirected(there, location)
        raise Failed(f"{origin.place} redirects more than {self._limits.redirects} times")

    def _asked(self, there: Address, origin: Address) -> Answer:
        from agent.fetch import trust  # noqa: PLC0415 - truststore and ssl
        from agent.fetch.connection import Server, Waits  # noqa: PLC0415 - urllib3

        trusted = partial(trust.machine_and, self._request.authorities)
        server = Server(there, self._request.proxies.proxy(there), trusted, trusted)
        waits = Waits(self._deadline, self._limits.answer, self._limits.silence)
        return self._session(server).ask(
            self._request.method, there.target, self._headers(there, origin), waits
        )

    def _headers(self, there: Address, origin: Address) -> Headers:
        headers = {
            "host": ("Host", there.named),
            "user-agent": ("User-Agent", f"wmcb/{RELEASE}"),
            "accept-encoding": ("Accept-Encoding", "identity"),
            "connection": ("Connection", "close"),
        }
        if self._request.method != "GET":
            headers["content-length"] = ("Content-Length", "0")
        if there.is_trusted_by(origin):
            headers |= {header[0].lower(): header for header in basic("Authorization", origin)}
        for name, value in self._request.headers:
            key = name.lower()
            if key not in _OF_THE_CONNECTION and (key in _FOR_EVERY_HOST or there is origin):
                headers[key] = (name, value)
        if self._begun.received:
            headers["range"] = ("Range", f"bytes={self._begun.received}-")
            headers["if-range"] = ("If-Range", self._begun.tag)
        return tuple(headers.values())

    def _accepted(self, answer: Answer, there: Address) -> Answer:
        if self._begun.received:
            self._check_continues(answer, there)
        elif answer.status not in _GOOD:
            raise _refused(answer, there, self._clock.time())
        if answer.size is not None and self._begun.received + answer.size > self._limits.size:
            raise TooLarge(self._limits.size)
        tag = answer.header("ETag")
        self._begun.tag = tag if _STRONG_TAG.fullmatch(tag) else ""
        if answer.size is not None:
            self._begun.size = self._begun.received + answer.size
        return answer

    def _check_continues(self, answer: Answer, there: Address) -> None:
        if answer.status == _PARTIAL:
            if answer.header("Content-Range").startswith(f"bytes {self._begun.received}-"):
                return
        elif answer.status not in _GOOD and answer.status != _NOT_SATISFIABLE:
            raise _refused(answer, there, self._clock.time())
        received = in_bytes(self._begun.received)
        raise Changed(f"{there.place} broke off after {received} and cannot go on from there")


def _blocks(answer: Answer) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for piece in answer.pieces():
        gathered.append(piece)
        size += len(piece)
        while size >= BLOCK:
            whole = b"".join(gathered)
            gathered, size = [whole[BLOCK:]], size - BLOCK
            yield whole[:BLOCK]
    if size:
        yield b"".join(gathered)


def _redirected(there: Address, location: str) -> Address:
    if not location:
        raise Failed(f"{there.place} redirects without saying where to")
    try:
        target = there.joined(location)
    except Failed:
        raise Failed(f"{there.place} redirects to what is no http or https URL") from None
    if there.secure and not target.secure:
        raise Failed(f"{there.place} redirects from https to http, at {target.place}; that is not followed")
    return target


def _refused(answer: Answer, there: Address, now: float) -> Failed:
    status = answer.status
    transient = status == _TOO_MANY_REQUESTS or status >= _SERVER_ERRORS
    text = f"{there.place} answers {described(status)}"
    if status == _UNAUTHORIZED:
        text += ": it wants credentials, or others than it was given"
    if status == _PROXY_CREDENTIALS_WANTED:
        text = f"the proxy on the way to {there.place} wants credentials, or others than it was given (407)"
    return Failed(text, transient=transient, status=status, wait=answer.wait(now) if transient else 0.0)


def get_metadata(
    url: str, headers: Headers = (), method: str = "GET", seconds: float = 10.0, clock: Clock | None = None
) -> bytes:
    """Return what a cloud tells this machine about itself, at an address that only its machines reach: past
    all proxies. Raises Failed, whose `status` tells what was answered.

    Asked again, within `seconds`, where a service that is still starting would answer later.
    """
    request = Request(url, headers, method)
    limits = Limits(
        patience=seconds, answer=seconds, silence=seconds, total=seconds, size=_LARGEST_METADATA, redirects=0
    )
    return Fetcher(clock).body(request, limits)
