"""Services seen by the SCM's notifications and their processes' handles, in the thread that waits.

Both, since neither tells all: the SCM can be slow to notice that a process is gone, and Wine's never does
when a service ends while STOP_PENDING. No thread of its own: notifications go to the thread that asked for
them, so a watch is armed anew when another thread begins to wait.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import threading
from typing import TYPE_CHECKING, Self

from agent.host.errors import MarkedForDeletion, NotFound
from agent.host.port import ServiceEvent
from agent.host.windows.api.processes import Process, wait_for_any
from agent.host.windows.api.service_notification import Subscription
from agent.host.windows.closing import Closing
from agent.host.windows.failure import Win32Failure, telling

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent.host.port import Clock, ServiceStatus

_NO_SUCH_PROCESS = 87
_PROCESS_ABORTED = 1067
_MOST_PROCESSES = 63
"""Windows waits for no more than 64 handles; of further processes the SCM's word must do."""


class WatchedService:
    """A ServiceView (agent.host.waiting): one service and its process."""

    def __init__(self, name: str) -> None:
        self._name = name
        with telling("watch", f"service {name}"):
            self._subscription = Subscription(name)
        self._pid: int | None = None
        self._process: Process | None = None
        self._gone = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._subscription.close()
        self._follow(None)

    def status(self) -> ServiceStatus:
        with telling("ask for the state of", f"service {self._name}"):
            status = self._subscription.status()
            if status.pid != self._pid:
                self._follow(status.pid)
        return status

    def ended(self, pid: int) -> int | None:
        """None also for a process that may not be looked at; the SCM's word must do for it."""
        if pid != self._pid:
            return None
        if self._process is not None:
            return self._process.exit_code()
        return _PROCESS_ABORTED if self._gone else None

    def wait(self, seconds: float) -> None:
        wait_for_any(self.handles(), seconds)

    def handles(self) -> list[int]:
        """The process', while it lives."""
        return [self._process.handle] if self._process and self._process.exit_code() is None else []

    def _follow(self, pid: int | None) -> None:
        if self._process is not None:
            self._process.close()
        self._pid, self._process, self._gone = pid, None, False
        if pid is not None:
            try:
                self._process = Process(pid)
            except Win32Failure as failure:
                self._gone = failure.code == _NO_SUCH_PROCESS


class ServiceWatch(Closing):
    """Watch[ServiceEvent]."""

    def __init__(self, names: Iterable[str], clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._thread = threading.get_ident()
        self._services: list[_Known] = []
        try:
            for name in names:
                self._services.append(_Known(name))
        except BaseException:
            self.close()
            raise

    def wait(self, seconds: float) -> Sequence[ServiceEvent]:
        deadline = self._clock.monotonic() + seconds
        with self._busy:
            self._listen_in_this_thread()
            while not self._closed:
                events = [event for known in self._services for event in known.news()]
                left = deadline - self._clock.monotonic()
                if events or left <= 0:
                    return events
                processes = [handle for known in self._services for handle in known.handles()]
                if wait_for_any([self._closing, *processes[:_MOST_PROCESSES]], left) == 0:
                    break
        return []

    def _let_go(self) -> None:
        for known in self._services:
            known.close()

    def _listen_in_this_thread(self) -> None:
        if self._thread != threading.get_ident():
            self._thread = threading.get_ident()
            for known in self._services:
                known.listen_anew()


class _Known:
    """What was told of one service."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._service: WatchedService | None = WatchedService(name)
        try:
            status = self._service.status()
        except BaseException:
            self._service.close()
            raise
        self._state, self._pid = status.state, status.pid
        self._end_told = False

    def news(self) -> list[ServiceEvent]:
        if self._service is None:
            return []
        try:
            status = self._service.status()
        except (MarkedForDeletion, NotFound):
            # Closed at once: as long as a handle is open the name cannot be used again.
            self.close()
            return [ServiceEvent(self._name, None)]
        restarted = None not in (self._pid, status.pid) and self._pid != status.pid
        changed = restarted or status.state is not self._state
        self._end_told = self._end_told and status.pid == self._pid
        self._state, self._pid = status.state, status.pid
        if changed:
            return [ServiceEvent(self._name, status.state)]
        if status.pid and not self._end_told and self._service.ended(status.pid) is not None:
            self._end_told = True
            return [ServiceEvent(self._name, None)]
        return []

    def handles(self) -> list[int]:
        return self._service.handles() if self._service else []

    def listen_anew(self) -> None:
        if self._service is not None:
            self._service.close()
            self._service = WatchedService(self._name)

    def close(self) -> None:
        if self._service is not None:
            self._service.close()
            self._service = None
