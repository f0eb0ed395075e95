"""What the one that works has to do: by signals of the threads that wait for something, and by the clock."""

import enum
import queue
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.host.port import Clock


class Source(enum.Enum):
    SERVICE = "service"
    """`subject` is its name."""
    FILE = "file"
    """`subject` is its path, or that of a folder in which anything may have changed."""
    REGISTRY = "registry"
    """`subject` is the key in which something has changed."""
    ROUTING = "routing"
    """Windows' routes or interfaces are otherwise than before."""
    CLUSTER = "cluster"
    """It says something else than before, or nothing any more."""
    NODES = "nodes"
    """There are others, or nothing is heard of them any more."""
    CONTENTS = "contents"
    """What was to be fetched is there, or cannot be had."""
    ASKED = "asked"
    """Somebody wants all to be looked at."""
    END = "end"


@dataclass(frozen=True, slots=True)
class Signal:
    source: Source
    subject: str = ""


class Signals:
    """Any thread puts, one takes. Alike ones that wait together are one."""

    def __init__(self) -> None:
        self._waiting = queue.SimpleQueue[Signal]()
        self.has_ended = False
        self.taken_at: float | None = None
        """When what is worked at now was taken (time.monotonic); None while nothing is."""

    def put(self, signal: Signal) -> None:
        self._waiting.put(signal)

    def end(self) -> None:
        self.has_ended = True
        self.put(Signal(Source.END))

    def take(self, seconds: float | None) -> Sequence[Signal]:
        """All there are; waits for the first, for ever if no time is given. Empty when the time is up."""
        taken: dict[Signal, None] = {}
        self.taken_at = None
        try:
            taken[self._waiting.get(timeout=seconds)] = None
            while True:
                taken[self._waiting.get_nowait()] = None
        except queue.Empty:
            self.taken_at = time.monotonic()
            return tuple(taken)


T = TypeVar("T")


class Errand(enum.Enum):
    OWN = "see to wmcb's own memory"
    ALL = "look at everything"
    HEALTH = "ask whether what runs is well"
    COPIES = "keep copies of small files"
    CLUSTER = "do what the cluster wants"
    NODES = "reach the pods of the nodes there are"
    NETWORKS = "see whether there is a network that containers wait for"


class Agenda(Generic[T]):
    """What is to be done at what time: nothing is done before something happens or its time has come."""

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
