"""A clock whose time also passes when somebody asks to sleep; nobody has to wait for it."""

from __future__ import annotations

import time


class QuickClock:
    def __init__(self) -> None:
        self._ahead = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def time(self) -> float:
        return time.time() + self._ahead

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._ahead += seconds


class StillClock(QuickClock):
    """Whose time passes by sleep alone, however long the machine takes."""

    START = 1_700_000_000.0

    def monotonic(self) -> float:
        return self._ahead

    def time(self) -> float:
        return self.START + self._ahead
