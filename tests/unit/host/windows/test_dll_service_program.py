"""A service program's side, with what only Windows' own shutdown asks of it."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ast
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import servicemanager
import win32service

from agent.host.errors import HostError, NotAService
from agent.host.services import ENDING, Control, ServiceControls
from agent.host.windows import service_program
from agent.host.windows.failure import Win32Error, failed

STOP, INTERROGATE, SHUTDOWN, PARAMETERS, PRESHUTDOWN = 1, 4, 5, 6, 15
START_PENDING, STOP_PENDING, RUNNING, STOPPED = 2, 3, 4, 1
SPECIFIC_ERROR = 1066


FIELDS = (
    "type", "state", "accepted", "exit_code", "service_exit_code", "checkpoint", "wait_hint",
)  # fmt: skip
LONG_SECONDS = 20.0


class Scm:
    """Starts the program at once, in a thread as servicemanager does, and keeps what it reports."""

    def __init__(self, *arguments: str) -> None:
        self.arguments = ("name", *arguments)
        self.reports: list[dict[str, int]] = []
        self.thread: threading.Thread | None = None
        self._entry: Callable[[Sequence[str]], Any] | None = None
        self._handler: Any = None
        self.unexpected: BaseException | None = None
        self._over = threading.Event()

    def host(self, entry: Callable[[Sequence[str]], Any]) -> None:
        self._entry = entry

    def dispatch(self) -> None:
        """Return when the service is STOPPED, as Windows' dispatcher does, or its thread has ended."""
        self.thread = threading.Thread(target=self._main, daemon=True)
        self.thread.start()
        assert self._over.wait(LONG_SECONDS)

    def _main(self) -> None:
        try:
            self._start()
        except BaseException as failure:  # noqa: BLE001 - for the test to look at
            self.unexpected = failure
        finally:
            self._over.set()

    def _start(self) -> None:
        assert self._entry is not None
        # What else is raised servicemanager writes to the event log, with a source of its own.
        with suppress(servicemanager.startup_error, SystemExit):
            self._entry(self.arguments).SvcRun()

    def register(self, _name: str, handler: Any, extended: bool) -> int:
        assert extended
        self._handler = handler
        return 7

    def set_status(self, handle: int, status: tuple[int, ...]) -> None:
        assert handle == 7
        self.reports.append(dict(zip(FIELDS, status, strict=True)))
        if self.reports[-1]["state"] == STOPPED:
            self._over.set()

    def ask(self, control: int) -> int:
        answer: int = self._handler(control, 0, None)
        return answer


@pytest.fixture
def scm(monkeypatch: pytest.MonkeyPatch) -> Scm:
    scm = Scm("first", "a b")
    monkeypatch.setattr(servicemanager, "PrepareToHostSingle", scm.host)
    monkeypatch.setattr(servicemanager, "StartServiceCtrlDispatcher", scm.dispatch)
    monkeypatch.setattr(servicemanager, "RegisterServiceCtrlHandler", scm.register)
    monkeypatch.setattr(win32service, "SetServiceStatus", scm.set_status)
    return scm


@pytest.mark.parametrize("control", Control)
def test_each_control_is_heard_in_its_turn(scm: Scm, control: Control) -> None:
    def program(controls: ServiceControls) -> int:
        controls.running()
        assert scm.ask(control.value) == 0
        assert controls.next(0) is control
        assert controls.next(0) is None
        return 0

    assert service_program.serve("name", program) == 0


@pytest.mark.parametrize("control", Control)
def test_one_that_asks_for_the_end_is_answered_by_its_state_at_once(scm: Scm, control: Control) -> None:
    def program(controls: ServiceControls) -> int:
        controls.running()
        scm.ask(control.value)
        assert scm.reports[-1]["state"] == (STOP_PENDING if control in ENDING else RUNNING)
        return 0

    assert service_program.serve("name", program) == 0


def test_handed_on_they_come_at_once_and_what_came_before_first(scm: Scm) -> None:
    taken: list[Control] = []

    def program(controls: ServiceControls) -> int:
        scm.ask(Control.PARAMETERS_CHANGED.value)
        controls.hand_on(taken.append)
        scm.ask(Control.STOP.value)
        assert controls.next(0) is None
        return 0

    assert service_program.serve("name", program) == 0
    assert taken == [Control.PARAMETERS_CHANGED, Control.STOP]


def test_interrogation_is_answered_without_the_program(scm: Scm) -> None:
    def program(controls: ServiceControls) -> int:
        controls.running()
        assert scm.ask(INTERROGATE) == 0
        assert controls.next(0) is None
        return 0

    assert service_program.serve("name", program) == 0


@pytest.mark.parametrize("control", [2, 3, 7, 128, 255])
def test_what_the_program_does_not_know_is_refused(scm: Scm, control: int) -> None:
    def program(controls: ServiceControls) -> int:
        controls.running()
        assert scm.ask(control) == 120
        assert controls.next(0) is None
        return 0

    assert service_program.serve("name", program) == 0


def test_the_start_calls_words_come_without_the_name(scm: Scm) -> None:
    heard: list[str] = []

    def program(controls: ServiceControls) -> int:
        heard.extend(controls.arguments)
        return 0

    service_program.serve("name", program)
    assert heard == ["first", "a b"]
    assert scm.reports


def test_a_whole_life_is_reported(scm: Scm) -> None:
    def program(controls: ServiceControls) -> int:
        controls.running()
        controls.stopping(5)
        controls.stopping(2.5)
        return 0

    service_program.serve("name", program)
    told = [
        (report["state"], report["checkpoint"], report["wait_hint"], report["accepted"])
        for report in scm.reports
    ]
    assert told == [
        (START_PENDING, 1, 30_000, 0),
        (RUNNING, 0, 0, 0x1 | 0x4 | 0x8 | 0x100),
        (STOP_PENDING, 1, 5000, 0),
        (STOP_PENDING, 2, 2500, 0),
        (STOPPED, 0, 0, 0),
    ]
    assert {report["type"] for report in scm.reports} == {0x10}


@pytest.mark.parametrize(("code", "told"), [(0, (0, 0)), (7, (SPECIFIC_ERROR, 7))])
def test_an_exit_code_is_reported_as_the_services_own(scm: Scm, code: int, told: tuple[int, int]) -> None:
    assert service_program.serve("name", lambda _: code) == code
    assert (scm.reports[-1]["exit_code"], scm.reports[-1]["service_exit_code"]) == told


def test_an_exception_is_reported_as_a_failure_and_raised_again(scm: Scm) -> None:
    def program(_: ServiceControls) -> int:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        service_program.serve("name", program)
    last = scm.reports[-1]
    assert (last["state"], last["exit_code"], last["service_exit_code"]) == (STOPPED, SPECIFIC_ERROR, 1)


@pytest.mark.parametrize(("code", "kind"), [(1063, NotAService), (1056, HostError)])
def test_a_dispatcher_that_refuses_is_told_by_its_code(
    scm: Scm, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[HostError]
) -> None:
    def refuse(*_: object) -> None:
        raise failed(code, "StartServiceCtrlDispatcherW")

    monkeypatch.setattr(servicemanager, "StartServiceCtrlDispatcher", refuse)
    with pytest.raises(kind) as failure:
        service_program.serve("name", lambda _: 0)
    assert failure.value.code == code
    assert scm.reports == []


def test_a_scm_that_knows_no_handler_is_no_silent_end(scm: Scm, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise failed(6, "RegisterServiceCtrlHandlerEx")

    monkeypatch.setattr(servicemanager, "RegisterServiceCtrlHandler", refuse)
    with pytest.raises(Win32Error) as failure:
        service_program.serve("name", lambda _: 0)
    assert failure.value.winerror == 6
    assert scm.reports == []
    assert scm.unexpected is None


def test_a_process_that_cannot_say_that_it_stopped_ends(scm: Scm, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[int] = []

    def end(code: int) -> None:
        ends.append(code)
        raise SystemExit

    def refuse(*_: object) -> None:
        raise failed(6, "SetServiceStatus")

    monkeypatch.setattr(win32service, "SetServiceStatus", refuse)
    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(HostError) as failure:
        service_program.serve("name", lambda _: 0)
    assert (failure.value.code, ends, scm.reports) == (6, [1], [])


def test_a_failure_of_what_takes_a_request_is_raised_by_the_service_and_not_in_the_handler(scm: Scm) -> None:
    def fail(_: Control) -> None:
        raise RuntimeError("broken")

    def program(controls: ServiceControls) -> int:
        controls.hand_on(fail)
        assert scm.ask(PARAMETERS) == 31
        return 0

    with pytest.raises(RuntimeError, match="broken"):
        service_program.serve("name", program)


def test_nothing_is_reported_after_the_services_own_last_word(scm: Scm) -> None:
    """Servicemanager reports STOPPED with exit code 0 as soon as SvcRun has returned."""
    assert service_program.serve("name", lambda _: 42) == 42
    assert scm.reports[-1]["service_exit_code"] == 42
    assert scm.thread is not None
    scm.thread.join(0.1)
    assert scm.thread.is_alive()


def test_nothing_of_servicemanager_writes_to_the_event_log() -> None:
    """Its functions for that register pywin32's message file in the place of ours."""
    used = {
        node.attr
        for path in (Path(service_program.__file__).parents[2]).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "servicemanager"
    }
    assert used == {
        "PrepareToHostSingle",
        "RegisterServiceCtrlHandler",
        "StartServiceCtrlDispatcher",
        "startup_error",
    }
