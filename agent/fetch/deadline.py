"""Limits of time, one inside another. The nearest ends what waits, and says what was waited for."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from agent.amounts import in_seconds
from agent.fetch.failure import Failed

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock(Protocol):
    def monotonic(self) -> float: ...
    def time(self) -> float:
        """Seconds since 1970."""

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Deadline:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._end = math.inf

    def left(self) -> float:
        """Seconds; raises TimeoutError when there are none."""
        left = self._end - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    @contextmanager
    def within(self, seconds: float, failing: str) -> Iterator[None]:
        """What is done inside has `seconds`, or what is left around it; then Failed says `failing`."""
        outer = self._end
        end = self._clock.monotonic() + seconds
        self._end = min(outer, end)
        try:
            yield
        except TimeoutError:
            if end >= outer:
                raise  # for whoever set that limit to explain
            raise Failed(f"{failing} within {in_seconds(round(seconds, 1))}", transient=True) from None
        finally:
            self._end = outer
