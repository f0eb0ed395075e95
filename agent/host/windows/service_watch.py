"""Services seen by their processes' handles, and by asking the SCM again and again, in the thread that waits.

NotifyServiceStatusChange would tell of each state at once, but pywin32 does not have it, and it calls back
into a process that may have forgotten what it asked for. What matters within a moment is that a service's
process ended, which its handle tells: measured under Wine, within 0.03 s. For the rest the SCM is asked every
second. For four services that takes 0.17 % of a processor; notifications took 0.02 %.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from agent.host import winerror
from agent.host.errors import MarkedForDeletion, NotFound
from agent.host.port import Clock
from agent.host.services import ServiceEvent, ServiceState, ServiceStatus
from agent.host.windows.api.processes import Process, wait_for_any
from agent.host.windows.api.service_control import CONNECT, Manager
from agent.host.windows.closing import Closing
from agent.host.windows.failure import Win32Error, telling
from agent.host.windows.services import QUERY_STATUS

_MOST_PROCESSES = 63
"""Windows waits for no more than 64 handles; of further processes the SCM's word must do."""
_SECONDS = 1.0
"""Between two questions, where nothing is known to be on its way."""
_FIRST_SECONDS = 0.01
"""The same while a service starts or stops, or its process has just ended. It doubles up to a limit."""
_WAITING_SECONDS = 0.1
"""That limit where a service is waited for."""
_SETTLED = {ServiceState.RUNNING, ServiceState.STOPPED, ServiceState.PAUSED}


class WatchedService(AbstractContextManager["WatchedService"]):
    """A ServiceView (agent.host.waiting): one service and its process."""

    def __init__(self, name: str) -> None:
        self._name = name
        with telling("watch", f"service {name}"):
            self._manager = Manager(CONNECT)
        self._pid: int | None = None
        self._process: Process | None = None
        self._gone = False
        self._pause = _FIRST_SECONDS

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._manager.close()
        self._follow(None)

    def status(self) -> ServiceStatus:
        # Opened for each question: as long as a handle is open, a deleted service keeps its name.
        with (
            telling("ask for the state of", f"service {self._name}"),
            self._manager.open(self._name, QUERY_STATUS) as service,
        ):
            status = service.status()
        if status.pid != self._pid:
            self._follow(status.pid)
        return status

    def ended(self, pid: int) -> int | None:
        """None also for a process that may not be looked at; the SCM's word must do for it."""
        if pid != self._pid:
            return None
        if self._process is not None:
            return self._process.exit_code()
        return winerror.ERROR_PROCESS_ABORTED if self._gone else None

    def wait(self, seconds: float) -> None:
        wait_for_any(self.handles(), min(seconds, self._pause))
        self._pause = min(2 * self._pause, _WAITING_SECONDS)

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
            except Win32Error as failure:
                self._gone = failure.winerror == winerror.ERROR_INVALID_PARAMETER


class ServiceWatch(Closing[ServiceEvent]):
    def __init__(self, names: Iterable[str], clock: Clock) -> None:
        super().__init__(clock)
        self._pause = _SECONDS
        self._services: list[_Known] = []
        try:
            for name in names:
                self._services.append(_Known(name))
        except BaseException:
            self.close()
            raise

    def _news(self) -> Sequence[ServiceEvent]:
        return [event for known in self._services for event in known.news()]

    def _events(self) -> Sequence[int]:
        return [handle for known in self._services for handle in known.handles()][:_MOST_PROCESSES]

    def _longest_wait(self) -> float:
        """Until the SCM is asked again."""
        if all(known.is_settled for known in self._services):
            self._pause = _FIRST_SECONDS
            return _SECONDS
        self._pause = min(2 * self._pause, _SECONDS)
        return self._pause

    def _let_go(self) -> None:
        for known in self._services:
            known.close()


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

    @property
    def is_settled(self) -> bool:
        """Whether nothing is known to be on its way."""
        return self._state in _SETTLED and not self._end_told

    def news(self) -> list[ServiceEvent]:
        if self._service is None:
            return []
        try:
            status = self._service.status()
        except (MarkedForDeletion, NotFound):
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

    def close(self) -> None:
        if self._service is not None:
            self._service.close()
            self._service = None
