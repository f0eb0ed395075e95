"""What the resident service tells of what it does: Windows' event log, and wmcb's own log."""

import enum
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError
from agent.host.port import EventLevel, Host
from agent.redaction import redacted

SOURCE = "wmcb"
LEFT = "left"
"""Of a topic: what could not be put right, with its key."""


class Event(enum.IntEnum):
    """For monitoring: a number never gets another meaning. Below 10 are those of runs (agent.cli.run_log)."""

    KEEPING = 10
    """What is kept from now on."""
    STARTED = 11
    """A service had stopped, and was started."""
    STOPS_AGAIN = 12
    """A service keeps stopping, and is started after a pause."""
    REPAIRED = 13
    """Something had been changed, and was put right."""
    NOT_REPAIRED = 14
    """Something is not as it was made, and could not be put right."""
    AGAIN_AND_AGAIN = 15
    """Something is changed again and again."""
    HUNG = 16
    """A service ran and was not well for too long; it was restarted."""
    PAUSED = 17
    """Repairs are paused."""
    RESUMED = 18
    """Repairs go on."""
    UNFINISHED = 19
    """A run was interrupted: nothing is repaired."""
    TROUBLE = 20
    """A fault, of the machine or of wmcb."""
    APPLIED = 21
    """What the ConfigMap that is followed wants was made so."""
    REFUSED = 22
    """It cannot be used as it is; nothing was changed but what the text names."""
    FAILED = 23
    """A change failed, and was taken back."""
    MISSING = 24
    """There is no ConfigMap of that name."""
    UNREACHABLE = 25
    """The cluster cannot be reached, or refuses."""
    PENDING = 26
    """A change waits for this node's turn, or for a restart of the machine."""
    BEREFT = 27
    """A service, or a container's program, was restarted: what it lives by, as hns, had started anew."""
    UNROUTED = 28
    """Pods here do not reach those of some Node, or there is no network for them, for a minute now."""
    SUCCEEDED = 29
    """Another wmcb.exe keeps the node from now on, as the ConfigMap wants it."""
    WENT_BACK = 30
    """Another wmcb.exe was not well, or is none; the one that was there keeps the node."""


_GOOD = (Event.KEEPING, Event.PAUSED, Event.RESUMED, Event.APPLIED, Event.PENDING, Event.SUCCEEDED)
_BAD = (Event.REFUSED, Event.FAILED, Event.WENT_BACK, Event.NOT_REPAIRED, Event.TROUBLE)
_LEVELS = {**dict.fromkeys(_GOOD, EventLevel.INFORMATION), **dict.fromkeys(_BAD, EventLevel.ERROR)}


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
        text = redacted(text)
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
                self._log(redacted(f"daemon: {line}"))

    def tell_once(self, topic: object, event: Event, text: str) -> None:
        """Not again while it stands."""
        if self._standing.get(topic) != text:
            self._standing[topic] = text
            self.tell(event, text)

    def stands(self, topic: object) -> bool:
        return topic in self._standing

    def subjects(self, kind: str) -> Sequence[object]:
        """Of the topics of that kind that stand; for whoever asks in another thread, too."""
        return [topic[1] for topic in tuple(self._standing) if isinstance(topic, tuple) and topic[0] == kind]

    def is_over(self, topic: object) -> bool:
        """From now on it would be told anew. Whether it stood."""
        return self._standing.pop(topic, None) is not None
