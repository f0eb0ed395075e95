"""Notifications and process handles, with the failures that the SCM answers only now and then."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
import gc
import time
from ctypes import wintypes
from typing import TYPE_CHECKING, Any

import pytest

from agent.host.errors import AccessDenied, MarkedForDeletion
from agent.host.port import ServiceEvent, ServiceState, ServiceStatus
from agent.host.windows import service_watch
from agent.host.windows.api import service_notification
from agent.host.windows.api.processes import close, event, wait_for_any
from agent.host.windows.api.service_notification import Subscription
from agent.host.windows.clock import WindowsClock
from agent.host.windows.failure import Win32Failure
from agent.host.windows.service_watch import ServiceWatch, WatchedService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# One that every Windows has, and Wine too; nothing is done to it.
SERVICE = "Eventlog"

MARKED, LAGGING, DENIED, NO_PROCESS = 1072, 1294, 5, 87
LONG_SECONDS = 20.0

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.GetCurrentThread.restype = wintypes.HANDLE
_kernel32.QueueUserAPC.argtypes = (ctypes.c_void_p, wintypes.HANDLE, ctypes.c_size_t)


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Codes with which the next requests for notification fail."""
    codes: list[int] = []
    real = service_notification._notify

    def notify(*arguments: object) -> None:
        if codes:
            raise Win32Failure(codes.pop(0), "NotifyServiceStatusChangeW")
        real(*arguments)

    monkeypatch.setattr(service_notification, "_notify", notify)
    yield codes
    assert codes == []


def test_a_client_that_lags_behind_asks_by_a_new_handle(failures: list[int]) -> None:
    failures.append(LAGGING)
    with WatchedService(SERVICE) as service:
        assert service.status().state is ServiceState.RUNNING


@pytest.mark.parametrize(
    ("codes", "kind"),
    [([MARKED], MarkedForDeletion), ([DENIED], AccessDenied), ([LAGGING, DENIED], AccessDenied)],
)
def test_a_refused_notification_is_told_by_its_code(
    failures: list[int], codes: list[int], kind: type[Exception]
) -> None:
    failures.extend(codes)
    with WatchedService(SERVICE) as service, pytest.raises(kind, match=SERVICE):
        service.status()


@pytest.fixture
def speak(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has the SCM tell this thread what it was asked for; it does so only when the test wants it."""
    asked: list[Any] = []
    monkeypatch.setattr(service_notification, "_notify", lambda *arguments: asked.append(arguments[-1]))

    def queue() -> None:
        call = ctypes.cast(asked[-1].callback, ctypes.c_void_p)
        assert _kernel32.QueueUserAPC(call, _kernel32.GetCurrentThread(), 0), ctypes.get_last_error()

    return queue


def test_what_the_scm_tells_before_a_look_at_the_process_is_heard_by_the_wait(
    speak: Callable[[], None],
) -> None:
    with WatchedService(SERVICE) as service:
        pid = service.status().pid
        assert pid is not None
        speak()
        assert service.ended(pid) is None
        began = time.monotonic()
        service.wait(LONG_SECONDS)
        assert time.monotonic() - began < LONG_SECONDS


@pytest.mark.parametrize(("code", "ended"), [(NO_PROCESS, 1067), (DENIED, None)])
def test_a_process_that_cannot_be_opened_is_gone_or_nobodys_business(
    monkeypatch: pytest.MonkeyPatch, code: int, ended: int | None
) -> None:
    def refuse(_pid: int) -> None:
        raise Win32Failure(code, "OpenProcess")

    monkeypatch.setattr(service_watch, "Process", refuse)
    with WatchedService(SERVICE) as service:
        pid = service.status().pid
        assert pid is not None
        assert service.ended(pid) == ended
        assert service.handles() == []


def test_the_end_of_another_process_is_not_taken_for_this_ones() -> None:
    with WatchedService(SERVICE) as service:
        pid = service.status().pid
        assert pid is not None
        assert service.ended(pid) is None
        assert service.ended(pid + 4) is None


class Scripted:
    """A WatchedService that tells one status after the other; an exception is raised."""

    script: list[ServiceStatus | Exception]
    ends: set[int]
    closed: bool

    def __init__(self, _name: str) -> None:
        Scripted.closed = False

    def status(self) -> ServiceStatus:
        found = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(found, Exception):
            raise found
        return found

    def ended(self, pid: int) -> int | None:
        return 1 if pid in self.ends else None

    def handles(self) -> list[int]:
        return []

    def close(self) -> None:
        Scripted.closed = True


def status(state: ServiceState, pid: int | None = None) -> ServiceStatus:
    return ServiceStatus(state, pid, 0, 0, 0, 0)


RUNNING, STOPPED = ServiceState.RUNNING, ServiceState.STOPPED
GONE = MarkedForDeletion("watch", "service s", MARKED)
LIVES: dict[str, tuple[list[ServiceStatus | Exception], set[int], list[ServiceState | None]]] = {
    "nothing happens": ([status(RUNNING, 1)], set(), []),
    "stops": ([status(RUNNING, 1), status(STOPPED)], set(), [STOPPED]),
    "was started anew in between": ([status(RUNNING, 1), status(RUNNING, 2)], set(), [RUNNING]),
    "its process is told while it starts": (
        [status(ServiceState.START_PENDING), status(ServiceState.START_PENDING, 1)], set(), []
    ),
    "its process ends unsaid": ([status(RUNNING, 1)], {1}, [None]),
    "its process ends, then the SCM sees it": (
        [status(RUNNING, 1), status(RUNNING, 1), status(STOPPED)], {1}, [None, STOPPED]
    ),
    "dies twice": (
        [status(RUNNING, 1), status(RUNNING, 1), status(RUNNING, 2), status(RUNNING, 2)],
        {1, 2},
        [None, RUNNING, None],
    ),
    "is deleted": ([status(STOPPED), GONE], set(), [None]),
}  # fmt: skip


@pytest.mark.parametrize(("script", "ends", "told"), LIVES.values(), ids=LIVES)
def test_each_change_is_told_once(
    monkeypatch: pytest.MonkeyPatch,
    script: list[ServiceStatus | Exception],
    ends: set[int],
    told: list[ServiceState | None],
) -> None:
    monkeypatch.setattr(service_watch, "WatchedService", Scripted)
    monkeypatch.setattr(Scripted, "script", list(script), raising=False)
    monkeypatch.setattr(Scripted, "ends", ends, raising=False)
    with ServiceWatch(["s"], WindowsClock()) as watch:
        heard: list[ServiceEvent] = []
        for _ in range(2 * len(script)):
            heard.extend(watch.wait(0))
    assert heard == [ServiceEvent("s", state) for state in told]
    assert Scripted.closed


def test_the_handle_of_a_deleted_service_is_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_watch, "WatchedService", Scripted)
    monkeypatch.setattr(Scripted, "script", [status(STOPPED), GONE], raising=False)
    with ServiceWatch(["s"], WindowsClock()) as watch:
        watch.wait(0)
        assert Scripted.closed


def test_a_watch_that_cannot_have_one_service_gives_the_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_watch, "WatchedService", Scripted)
    monkeypatch.setattr(Scripted, "script", [status(STOPPED), AccessDenied("watch", "t", 5)], raising=False)
    with pytest.raises(AccessDenied):
        ServiceWatch(["s", "t"], WindowsClock())
    assert Scripted.closed


def test_more_processes_than_windows_waits_for_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    handles = [event() for _ in range(70)]
    monkeypatch.setattr(service_watch, "WatchedService", Scripted)
    monkeypatch.setattr(Scripted, "script", [status(RUNNING, 1)], raising=False)
    monkeypatch.setattr(Scripted, "ends", set(), raising=False)
    monkeypatch.setattr(Scripted, "handles", lambda _: handles)
    with ServiceWatch(["s"], WindowsClock()) as watch:
        assert watch.wait(0.01) == []
    for handle in handles:
        close(handle)


def test_a_watch_that_was_forgotten_is_closed() -> None:
    for _ in range(50):
        WatchedService(SERVICE).status()
    gc.collect()
    wait_for_any([], 0.01)
    left = [each for each in gc.get_objects() if isinstance(each, Subscription)]
    assert all(each._closed for each in left)
