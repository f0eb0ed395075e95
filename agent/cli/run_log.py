"""What wmcb did on this machine: C:\\ProgramData\\wmcb\\logs\\wmcb.log, Windows' event log, and
the warnings that were printed before.
"""

import enum
import time
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from pathlib import PureWindowsPath

from agent.cli.streams import tell
from agent.engine.state_folder import StateFolder
from agent.host.errors import AlreadyExists, HostError, NotFound
from agent.host.port import EventLevel, Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.redaction import redacted
from agent.resources.kind import CannotBeSo

SOURCE = "wmcb"
LARGEST_BYTES = 5_000_000
_LATEST = 1 << 20
_FORMER = 3
"""Logs that are kept beside the one that is written to."""

_WARNING = "warning: "


class EventId(enum.IntEnum):
    """For monitoring: a number never gets another meaning."""

    STARTED = 1
    """A run began: a bootstrap, a join, an upgrade, a reset."""
    DONE = 2
    """It came to its end."""
    FAILED = 3
    """It failed; the text says how, and whether the machine is as it was."""


class RunLog:
    """Nothing that goes wrong with a log may keep a node from being made."""

    def __init__(
        self, host: Host, folder: PureWindowsPath | None = None, largest: int | None = LARGEST_BYTES
    ) -> None:
        """In wmcb's own folder, unless another is said; rotated when it is `largest` bytes long, with None
        never.
        """
        self._host = host
        self._folder = folder or StateFolder.of(host).path / "logs"
        self._largest = largest
        self._ready = False

    def write(self, line: str) -> None:
        with suppress(HostError, CannotBeSo):
            self._make_ready()
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._host.clock.now()))
            text = f"{stamp} {redacted(line)}\n".encode(errors="replace")
            # Each line flushed would take a third of the time of what it tells.
            self._host.files.append(self._folder / "wmcb.log", text, PRIVATE_FILE, flushed=False)

    def event(self, level: EventLevel, event_id: EventId, text: str) -> None:
        self.write(text)
        with suppress(HostError):
            self._host.events.write(SOURCE, level, int(event_id), redacted(text))

    def latest(self) -> Collection[str]:
        """What was written last, without the times."""
        try:
            tail = self._host.files.tail(self._folder / "wmcb.log", _LATEST)
        except HostError:
            return frozenset()  # there is none yet
        return frozenset(line.partition(" ")[2] for line in tail.decode(errors="replace").splitlines())

    def remove(self) -> None:
        """With the rest of what wmcb put on the machine."""
        with suppress(HostError):
            for name in self._host.files.list(self._folder):
                self._host.files.remove(self._folder / name)
            self._host.files.remove_directory(self._folder)
            self._host.files.remove_directory(self._folder.parent)

    def _make_ready(self) -> None:
        if self._ready:
            return
        StateFolder.of(self._host).secure()
        for folder in (self._folder.parent, self._folder):
            with suppress(AlreadyExists):
                self._host.files.make_directory(folder, PRIVATE_DIRECTORY)
        with suppress(HostError):  # whoever has it open may keep it where it is: then it grows
            self._rotate()
        self._ready = True

    def _rotate(self) -> None:
        if self._largest is None:
            return
        there = self._host.files.observe(self._folder / "wmcb.log")
        if there is None or there.size < self._largest:
            return
        # Whoever has it open keeps it where it is: that is seen before a former one goes.
        aside = self._former(0)
        if not self._is_there(aside):
            self._move(self._folder / "wmcb.log", aside)
        # A rotation that was cut off has left a place free.
        free = next((each for each in range(1, _FORMER) if not self._is_there(self._former(each))), _FORMER)
        with suppress(NotFound):
            self._host.files.remove(self._former(free))
        for number in range(free - 1, -1, -1):
            self._move(self._former(number), self._former(number + 1))

    def _move(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        """At once or not at all: each run comes by here, however long somebody has one of them open."""
        self._host.files.move(path, target, patience=0)

    def _is_there(self, path: PureWindowsPath) -> bool:
        return self._host.files.observe(path) is not None

    def _former(self, number: int) -> PureWindowsPath:
        return self._folder / f"wmcb.{number}.log"


class Notices:
    """What a run has to say before it begins, and not each time again.

    A warning that stands in the log of an earlier run is no news: little memory stays little memory.
    """

    def __init__(self, host: Host, *, also_known: bool) -> None:
        self._host = host
        self._also_known = also_known
        self.lines: list[str] = []
        """For the log of this run."""
        self._withheld: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        if self._also_known or not line.startswith(_WARNING) or redacted(line) not in self._known:
            tell(f"wmcb: {line}")
        else:
            self._withheld.append(line)

    def tell_the_rest(self) -> None:
        """To a run that changes something: what is warned of may be what that comes of."""
        for line in self._withheld:
            tell(f"wmcb: {line}")

    @cached_property
    def _known(self) -> Collection[str]:
        return RunLog(self._host).latest()
