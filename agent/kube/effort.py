"""Asking until there is an answer, at longer and longer intervals."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from agent.amounts import in_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.fetch.deadline import Clock
    from agent.kube.failure import Failed

_FIRST_PAUSE = 0.2
_LEAST = 5.0


class Effort:
    def __init__(
        self,
        clock: Clock,
        seconds: float,
        notice: Callable[[str], None],
        sleep: Callable[[float], None] | None = None,
        longest: float = 5.0,
    ) -> None:
        """No pause is longer than `longest`, unless the server wants it."""
        self._clock = clock
        self._seconds = seconds
        self._notice = notice
        self._sleep = sleep or clock.sleep
        self._longest = longest
        self._began = clock.monotonic()
        self._pause = _FIRST_PAUSE
        self._attempts = 1
        self._told = ""

    def share(self, most: float) -> float:
        """Seconds for an attempt: what is left, and in any case enough to learn why it fails."""
        if self._attempts == 1:
            return most
        return min(most, max(self._began + self._seconds - self._clock.monotonic(), _LEAST))

    def again(self, fault: Failed) -> None:
        """Waits until it is time to ask again; raises `fault`, with all attempts, where that is no use."""
        if not fault.transient:
            raise fault
        # Machines that were started together do not ask together.
        pause = max(self._pause * (0.75 + 0.25 * chance()), fault.wait)
        if self._clock.monotonic() + pause >= self._began + self._seconds:
            fault.args = (f"{fault}{self._tried(fault)}",)
            raise fault
        self._tell(str(fault))
        self._sleep(pause)
        self._pause = min(2 * self._pause, self._longest)
        self._attempts += 1

    def _tell(self, fault: str) -> None:
        """Once, however often it comes again."""
        if fault != self._told:
            left = self._began + self._seconds - self._clock.monotonic()
            within = f" for {in_seconds(round(left))}" if left < math.inf else ""
            self._notice(f"{fault}; asking again{within}")
            self._told = fault

    def _tried(self, fault: Failed) -> str:
        seconds = round(self._clock.monotonic() - self._began)
        wait = f" (it asks to be left alone for {fault.wait:.0f} seconds)" if fault.wait else ""
        return f"{wait} (asked {self._attempts} times in {seconds} seconds)" if self._attempts > 1 else wait


def chance() -> float:
    """Anything from 0 to 1. The module random takes longer to import than a request to a near server."""
    return int.from_bytes(os.urandom(4), "big") / 0xFFFFFFFF
