"""Limits of time, one inside another. The nearest ends what waits, and says what was waited for."""

import math
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

from agent.amounts import in_seconds
from agent.fetch.failure import Failed

Outcomes = queue.SimpleQueue[tuple[object, BaseException | None] | None]
"""What a call returned or raised; None where `stop` was called before."""

T = TypeVar("T")


class Clock(Protocol):
    def monotonic(self) -> float: ...
    def time(self) -> float:
        """Seconds since 1970."""

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    time = staticmethod(time.time)


class TimeIsUp(Exception):
    """A limit has ended, or `stop` was called. It is no OSError, so that requests and urllib3 let it pass."""


class Deadline:
    """The end of a request and of all that it waits for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._end = math.inf
        self.stopped = False
        self.waker: socket.socket | None = None
        """Readable after `stop`, inside `stoppable`."""
        self._wakes: socket.socket | None = None
        self._lock = threading.Lock()
        self._outcomes: Outcomes | None = None

    def left(self) -> float:
        """Return the seconds until the nearest limit. Raises TimeIsUp when there are none."""
        left = self._end - self._clock.monotonic()
        if left <= 0 or self.stopped:
            raise TimeIsUp
        return left

    @contextmanager
    def within(self, seconds: float, failing: str) -> Iterator[None]:
        """Give what is done inside `seconds`, or what is left around it; then Failed says `failing`."""
        outer = self._end
        end = self._clock.monotonic() + seconds
        self._end = min(outer, end)
        try:
            yield
        except TimeIsUp:
            if end >= outer or self.stopped:
                raise  # for whoever set that limit to explain
            raise Failed(f"{failing} within {in_seconds(round(seconds, 1))}", transient=True) from None
        finally:
            self._end = outer

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let `stop` end what is done inside at once.

        Not by shutting the connection down: under Wine 10 another thread's recv returned only when the server
        spoke.
        """
        self.waker, self._wakes = socket.socketpair()
        try:
            yield
        finally:
            with self._lock:
                self.waker.close()
                self._wakes.close()
                self.waker = self._wakes = None

    def run(self, call: Callable[[], T], thread: str) -> T:
        """Return what `call` returns, or raise what it raises.

        For calls that have no time-out: it runs in a thread of that name, which is left behind when a limit
        ends. Raises TimeIsUp.
        """
        outcomes: Outcomes = queue.SimpleQueue()

        def work() -> None:
            try:
                outcomes.put((call(), None))
            except Exception as fault:  # noqa: BLE001 - raised where it is waited for
                outcomes.put((None, fault))

        with self._lock:
            self._outcomes = outcomes
        try:
            left = min(self.left(), threading.TIMEOUT_MAX)
            threading.Thread(target=work, name=thread, daemon=True).start()
            outcome = outcomes.get(timeout=left)
        except queue.Empty:
            outcome = None
        finally:
            with self._lock:
                self._outcomes = None
        if outcome is None:
            raise TimeIsUp
        result, fault = outcome
        if fault is None:
            return cast("T", result)
        try:
            raise fault
        finally:
            del outcome, fault  # else this frame and the fault, which holds it, keep each other

    def stop(self) -> None:
        """End whatever waits, from any thread, and let nothing more begin."""
        self.stopped = True
        with self._lock:
            if self._wakes:
                self._wakes.send(b"x")
            if self._outcomes:
                self._outcomes.put(None)
