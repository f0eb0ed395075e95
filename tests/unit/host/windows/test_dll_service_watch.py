"""Services and their processes, with what the SCM answers only now and then."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from typing import Any

import pytest
import win32event
import win32service

from agent.host.errors import AccessDenied, MarkedForDeletion
from agent.host.services import ServiceEvent, ServiceState, ServiceStatus
from agent.host.windows import service_watch
from agent.host.windows.failure import failed
from agent.host.windows.machine import WindowsClock
from agent.host.windows.service_watch import ServiceWatch, WatchedService

# One that every Windows has, and Wine too; nothing is done to it.
SERVICE = "Eventlog"

MARKED, DENIED, NO_PROCESS = 1072, 5, 87


@pytest.mark.parametrize(("code", "kind"), [(MARKED, MarkedForDeletion), (DENIED, AccessDenied)])
def test_a_question_that_is_refused_is_told_by_its_code(
    monkeypatch: pytest.MonkeyPatch, code: int, kind: type[Exception]
) -> None:
    def refuse(*_: object) -> None:
        raise failed(code, "QueryServiceStatusEx")

    monkeypatch.setattr(win32service, "QueryServiceStatusEx", refuse)
    with WatchedService(SERVICE) as service, pytest.raises(kind, match=SERVICE):
        service.status()


def test_no_handle_of_a_watched_service_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """One would keep a deleted service's name."""
    opened: list[object] = []
    closed: list[object] = []
    real_open, real_close = win32service.OpenService, win32service.CloseServiceHandle

    def open_service(*arguments: Any) -> Any:
        opened.append(handle := real_open(*arguments))
        return handle

    def close(handle: Any) -> None:
        closed.append(handle)
        real_close(handle)

    monkeypatch.setattr(win32service, "OpenService", open_service)
    monkeypatch.setattr(win32service, "CloseServiceHandle", close)
    with ServiceWatch([SERVICE], WindowsClock()) as watch:
        watch.wait(0)
        assert opened
        assert all(any(each is handle for each in closed) for handle in opened)


@pytest.mark.parametrize(("code", "ended"), [(NO_PROCESS, 1067), (DENIED, None)])
def test_a_process_that_cannot_be_opened_is_gone_or_nobodys_business(
    monkeypatch: pytest.MonkeyPatch, code: int, ended: int | None
) -> None:
    def refuse(_pid: int) -> None:
        raise failed(code, "OpenProcess")

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
    handles = [win32event.CreateEvent(None, True, False, None) for _ in range(70)]
    monkeypatch.setattr(service_watch, "WatchedService", Scripted)
    monkeypatch.setattr(Scripted, "script", [status(RUNNING, 1)], raising=False)
    monkeypatch.setattr(Scripted, "ends", set(), raising=False)
    monkeypatch.setattr(Scripted, "handles", lambda _: handles)
    with ServiceWatch(["s"], WindowsClock()) as watch:
        assert watch.wait(0.01) == []
