"""What is to be done at what time, so that nothing is done before something happens or its time has come."""

from typing import Generic, TypeVar

from agent.host.port import Clock

T = TypeVar("T")


class Agenda(Generic[T]):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: dict[T, float] = {}

    def at(self, what: T, time: float) -> None:
        """By the monotonic clock. What is down already for a sooner time stays so."""
        self._times[what] = min(time, self._times.get(what, time))

    def after(self, seconds: float, what: T) -> None:
        self.at(what, self._clock.monotonic() + seconds)

    def clear(self) -> None:
        self._times.clear()

    def left(self) -> float | None:
        """Seconds to the next; None if there is none."""
        if not self._times:
            return None
        return max(0.0, min(self._times.values()) - self._clock.monotonic())

    def due(self) -> set[T]:
        """And no longer down."""
        now = self._clock.monotonic()
        due = {what for what, time in self._times.items() if time <= now}
        for what in due:
            del self._times[what]
        return due
