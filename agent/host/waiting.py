"""How a service is waited for, once for both hosts.

Two things are watched, because neither tells all: the SCM's word, and the service's process. A process can
end without the SCM's noticing (one that ends while STOP_PENDING stays so for a while, or for good), and a
service can stop while its process, shared with others, goes on.
"""

from dataclasses import replace
from typing import Protocol

from agent.host import winerror
from agent.host.errors import HostError, ServiceFailed, TimedOut
from agent.host.port import Clock
from agent.host.services import ServiceState, ServiceStatus

FIRST_WORD_SECONDS = 30.0
"""What the SCM gives a process for its first report, by default; its own hint of 2 s means nothing."""

_NET_SECONDS = 5.0
"""At most between two looks."""

_SEES_WITHIN_SECONDS = 10.0
"""The SCM the end of a process, on a machine however busy."""

_PENDING = {
    ServiceState.START_PENDING,
    ServiceState.STOP_PENDING,
    ServiceState.CONTINUE_PENDING,
    ServiceState.PAUSE_PENDING,
}


class ServiceView(Protocol):
    """What a host sees of one service. Nothing that happens between two calls may be lost."""

    def status(self) -> ServiceStatus: ...

    def ended(self, pid: int) -> int | None:
        """The exit code of that process, which `status` told of; None while it runs."""

    def wait(self, seconds: float) -> None:
        """Until it is time to look again: at the latest when the process last told of ends."""


def wait_for(
    view: ServiceView, clock: Clock, name: str, wanted: ServiceState, seconds: float
) -> ServiceStatus:
    """`Services.wait`."""
    deadline = clock.monotonic() + seconds
    progress = _Progress(clock)
    end = _UnseenEnd(clock)
    while True:
        status, process_exit = _look(view)
        if status.state is wanted:
            return status
        if wanted is ServiceState.STOPPED and end.is_seen(status, process_exit):
            return stopped_without_a_word(status)
        if wanted is not ServiceState.STOPPED and _is_over(status, process_exit):
            raise _failure(ServiceFailed, name, wanted, status, process_exit)
        left = deadline - clock.monotonic()
        if process_exit is None:
            left = min(left, progress.seconds_left(status))
        elif left <= 0:
            return stopped_without_a_word(status)
        if left <= 0:
            raise _failure(TimedOut, name, wanted, status, process_exit)
        view.wait(min(left, _NET_SECONDS))


class _UnseenEnd:
    """Of a service's process, until the SCM sees it. To that the service runs until then, and is not started;
    one that is asked to stop once more says under Wine for ever that it runs.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._process: int | None = None
        self._since = 0.0

    def is_seen(self, status: ServiceStatus, process_exit: int | None) -> bool:
        """Or will not be, or no longer matters: the service has another process."""
        if self._process is not None and status.pid != self._process:
            return True
        if process_exit is None or status.state is ServiceState.STOP_PENDING:
            return _is_over(status, process_exit)
        if self._process is None:
            self._process, self._since = status.pid, self._clock.monotonic()
        return self._clock.monotonic() - self._since >= _SEES_WITHIN_SECONDS


class _Progress:
    """Since when a service's checkpoint has stood still."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: tuple[ServiceState, int] | None = None
        self._since = 0.0

    def seconds_left(self, status: ServiceStatus) -> float:
        now = self._clock.monotonic()
        if self._seen != (status.state, status.checkpoint):
            self._seen, self._since = (status.state, status.checkpoint), now
        if status.state not in _PENDING:
            return float("inf")
        return self._since + _patience(status) - now


def _patience(status: ServiceStatus) -> float:
    if status.state is ServiceState.START_PENDING and not status.checkpoint:
        return max(status.wait_hint_milliseconds / 1000, FIRST_WORD_SECONDS)
    return status.wait_hint_milliseconds / 1000 or FIRST_WORD_SECONDS


def _look(view: ServiceView) -> tuple[ServiceStatus, int | None]:
    status = view.status()
    process_exit = view.ended(status.pid) if status.pid else None
    if process_exit is None:
        return status, None
    # The process may have said its last word, or the SCM restarted it, between the two questions.
    later = view.status()
    return later, process_exit if later.pid == status.pid else None


def _is_over(status: ServiceStatus, process_exit: int | None) -> bool:
    without_process = status.state is ServiceState.STOP_PENDING and not status.pid
    return status.state is ServiceState.STOPPED or process_exit is not None or without_process


def stopped_without_a_word(status: ServiceStatus) -> ServiceStatus:
    """As the SCM notes it when it comes to see it, whatever the process' own exit code."""
    return replace(status, state=ServiceState.STOPPED, pid=None, exit_code=winerror.ERROR_PROCESS_ABORTED)


def _failure(
    kind: type[HostError], name: str, wanted: ServiceState, status: ServiceStatus, process_exit: int | None
) -> HostError:
    code = status.exit_code
    is_said = kind is ServiceFailed and status.state is ServiceState.STOPPED
    told = [] if is_said else [f"its state is {status.state.name}", f"its exit code {code}"]
    if code == winerror.ERROR_SERVICE_SPECIFIC_ERROR:
        told.append(f"its own exit code {status.service_exit_code}")
    if process_exit is not None:
        told.append(f"its process ended with exit code {process_exit}")
        code = code or winerror.ERROR_PROCESS_ABORTED
    shown = winerror.ERROR_TIMEOUT if kind is TimedOut else code
    return kind("bring", f"service {name} to {wanted.name}", shown, ", ".join(told))
