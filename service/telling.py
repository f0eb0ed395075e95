"""What the resident service tells of what it does: Windows' event log, and wmcb's own log."""

from __future__ import annotations

import enum
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError
from agent.host.port import EventLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent.host.port import Host

SOURCE = "wmcb"


class Event(enum.IntEnum):
    """For monitoring: a number never gets another meaning. Below 10 are those of runs (agent.cli.run_log)."""

    KEEPING = 10
    STARTED = 11
    STOPS_AGAIN = 12
    REPAIRED = 13
    NOT_REPAIRED = 14
    AGAIN_AND_AGAIN = 15
    HUNG = 16
    PAUSED = 17
    RESUMED = 18
    UNFINISHED = 19
    TROUBLE = 20
    APPLIED = 21
    REFUSED = 22
    FAILED = 23
    MISSING = 24
    UNREACHABLE = 25
    PENDING = 26
    BEREFT = 27
    UNROUTED = 28


_LEVELS = {
    Event.KEEPING: EventLevel.INFORMATION,
    Event.PAUSED: EventLevel.INFORMATION,
    Event.RESUMED: EventLevel.INFORMATION,
    Event.APPLIED: EventLevel.INFORMATION,
    Event.PENDING: EventLevel.INFORMATION,
    Event.REFUSED: EventLevel.ERROR,
    Event.FAILED: EventLevel.ERROR,
    Event.NOT_REPAIRED: EventLevel.ERROR,
    Event.TROUBLE: EventLevel.ERROR,
}


class Telling:
    def __init__(self, host: Host, log: Callable[[str], None]) -> None:
        self._host = host
        self._log = log
        self._standing: dict[object, str] = {}
        self.counts: Mapping[Event, int] = dict.fromkeys(Event, 0)
        """How often each was told."""
        self.times: Mapping[Event, float] = {}
        """When each was told last, in seconds since 1970."""

    def tell(self, event: Event, text: str) -> None:
        # Never changed, for whoever looks at them in another thread.
        self.counts = {**self.counts, event: self.counts[event] + 1}
        self.times = {**self.times, event: self._host.clock.now()}
        level = _LEVELS.get(event, EventLevel.WARNING)
        try:
            self._host.events.write(SOURCE, level, int(event), text)
        except HostError as fault:
            self.note(f"{fault}")
        self.note(text)

    def note(self, line: str) -> None:
        """In the log alone. Where nothing is to be kept no log is begun: that would outlive a reset."""
        with suppress(HostError):
            if self._host.files.observe(StateFolder.of(self._host).inventory) is not None:
                self._log(f"daemon: {line}")

    def tell_once(self, topic: object, event: Event, text: str) -> None:
        """Not again while it stands."""
        if self._standing.get(topic) != text:
            self._standing[topic] = text
            self.tell(event, text)

    def stands(self, topic: object) -> bool:
        return topic in self._standing

    def is_over(self, topic: object) -> bool:
        """From now on it would be told anew. Whether it stood."""
        return self._standing.pop(topic, None) is not None
