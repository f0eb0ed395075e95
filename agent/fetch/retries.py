"""Retries: a request is made again until it succeeds, with growing pauses."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import random
from typing import Protocol

from agent.amounts import in_seconds
from agent.backoff import Backoff
from agent.fetch.deadline import Clock

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 5.0
_SHORTEST_ATTEMPT = 5.0


class Failure(Protocol):
    """An exception that tells whether another attempt may succeed."""

    args: tuple[object, ...]
    transient: bool
    wait: float
    """Seconds that the server asks to be left alone for."""


@dataclass(slots=True)
class RetryPolicy:
    """Decides after each failed attempt at one request whether there is another, and waits for its time."""

    clock: Clock
    seconds: float
    """For which attempts may begin."""
    notice: Callable[[str], None]
    """Is given a line for each new failure."""
    sleep: Callable[[float], object] | None = None
    longest: float = _LONGEST_PAUSE
    """No pause is longer, unless the server asks for it."""
    _began: float = field(init=False)
    _backoff: Backoff = field(init=False)
    _attempts: int = field(default=1, init=False)
    _noticed: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._began = self.clock.monotonic()
        self._backoff = Backoff(_FIRST_PAUSE, self.longest)

    def share(self, most: float) -> float:
        """Return the seconds for an attempt: what is left, but enough to learn why it fails."""
        if self._attempts == 1:
            return most
        return min(most, max(self._left(), _SHORTEST_ATTEMPT))

    def back_off(self, fault: Failure) -> None:
        """Wait until it is time for the next attempt; raise `fault` where there is none."""
        assert isinstance(fault, Exception)
        if not fault.transient:
            raise fault
        # Machines that were started together do not ask together.
        pause = max(self._backoff.next() * (0.75 + 0.25 * random()), fault.wait)  # noqa: S311 - no secret
        if pause >= self._left():
            fault.args = (f"{fault}{self._attempted(fault)}",)
            raise fault
        self._tell(str(fault))
        (self.sleep or self.clock.sleep)(pause)
        self._attempts += 1

    def _left(self) -> float:
        return self._began + self.seconds - self.clock.monotonic()

    def _tell(self, fault: str) -> None:
        """Print a failure once, however often it comes again."""
        if fault != self._noticed:
            left = self._left()
            within = f" for {in_seconds(round(left))}" if left < math.inf else ""
            self.notice(f"{fault}; asking again{within}")
            self._noticed = fault

    def _attempted(self, fault: Failure) -> str:
        seconds = in_seconds(round(self.clock.monotonic() - self._began))
        wait = f" (it asks to be left alone for {fault.wait:.0f} seconds)" if fault.wait else ""
        return f"{wait} (asked {self._attempts} times in {seconds})" if self._attempts > 1 else wait
