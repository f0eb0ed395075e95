"""One connection to an API server, kept open from request to request."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.fetch.answer import Answer
from agent.fetch.deadline import Deadline
from agent.fetch.failure import Failed as FetchFailed
from agent.fetch.failure import NotTrusted as FetchNotTrusted
from agent.fetch.messages import request_head
from agent.kube.failure import NotTrusted, Unreachable
from agent.secret_fields import registers_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.fetch.deadline import Clock
    from agent.fetch.messages import Headers
    from agent.fetch.route import Route
    from agent.kube.limits import Limits

_SEND_SECONDS = 30.0


@registers_secrets
@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: Headers = field(repr=False)
    body: bytes = field(default=b"", repr=False)


@registers_secrets
@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes = field(repr=False)
    wait: float
    """Seconds that the server asks to be left alone for."""
    ahead: float | None = None
    """By how many seconds this machine's clock is ahead of the server's; None where that does not say."""


class Connection:
    def __init__(self, route: Route, place: str, clock: Clock, seconds: float) -> None:
        """Raises Failed, after `seconds` at the latest."""
        self._place = place
        self._clock = clock
        self._deadline = Deadline(clock)
        self.open = True
        """Another request may go over it."""
        with _own_failures(), self._deadline.within(seconds, f"no connection to {place}"):
            self._wire = route.opened(self._deadline)

    def ask(self, request: Request, limits: Limits, seconds: float) -> Reply:
        """Raises Failed, after `seconds` at the latest; then it is of no more use."""
        with _own_failures(), self._deadline.within(seconds, f"no whole answer from {self._place}"):
            return self.rest(self.begun(request, limits), limits)

    def begun(self, request: Request, limits: Limits) -> Answer:
        """As soon as the answer's head is there. Raises Failed."""
        self.open = False
        head = request_head(request.method, request.target, request.headers)
        with _own_failures():
            with self._deadline.within(_SEND_SECONDS, f"{self._place} does not take the request"):
                self._wire.send(head + request.body)
            with self._deadline.within(limits.answer_to(request.method), f"no answer from {self._place}"):
                return Answer(self._wire, request.method, self._place)

    def rest(self, answer: Answer, limits: Limits) -> Reply:
        """All of it. Raises Failed."""
        body = bytearray()
        with _own_failures():
            for piece in answer.pieces(self._deadline, limits.silence):
                body += piece
                self._check(len(body), limits.size)
        self.open = answer.leaves_open
        now, theirs = self._clock.time(), answer.moment()
        ahead = None if theirs is None else now - theirs
        return Reply(answer.status, bytes(body), answer.wait(now), ahead)

    def lines(self, answer: Answer, limits: Limits, seconds: float) -> Iterator[bytes]:
        """Each as soon as it is there, until the answer ends, or for `seconds`. Raises Failed."""
        end = self._clock.monotonic() + seconds
        gathered = bytearray()
        try:
            with _own_failures(), self._deadline.within(seconds, f"nothing from {self._place}"):
                for piece in answer.pieces(self._deadline, limits.silence):
                    first, *more = piece.split(b"\n")
                    gathered += first
                    self._check(len(gathered), limits.line)
                    if more:
                        whole, gathered = bytes(gathered), bytearray(more.pop())
                        yield from filter(None, (whole, *more))
        except Unreachable:
            if self._clock.monotonic() < end:
                raise

    def abort(self) -> None:
        """From any thread: whoever waits for it does so no longer."""
        self.open = False
        self._wire.abort()

    def close(self) -> None:
        self.open = False
        self._wire.close()

    def _check(self, size: int, most: int) -> None:
        if size > most:
            raise Unreachable(f"the answer of {self._place} is larger than {most:,} bytes")


@contextmanager
def _own_failures() -> Iterator[None]:
    try:
        yield
    except FetchNotTrusted as fault:
        raise NotTrusted(str(fault), fault.doubt, fault.place, fault.signer) from None
    except FetchFailed as fault:
        raise Unreachable(str(fault), transient=fault.transient, wait=fault.wait) from None
