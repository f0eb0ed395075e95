"""A service program's side, with what only Windows' own shutdown asks of it."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from typing import TYPE_CHECKING, Any

import pytest

from agent.host.errors import HostError, NotAService
from agent.host.port import ENDING, Control, ServiceControls
from agent.host.windows import service_program
from agent.host.windows.api import service_dispatch
from agent.host.windows.failure import Win32Failure

if TYPE_CHECKING:
    from collections.abc import Callable

STOP, INTERROGATE, SHUTDOWN, PARAMETERS, PRESHUTDOWN = 1, 4, 5, 6, 15
START_PENDING, STOP_PENDING, RUNNING, STOPPED = 2, 3, 4, 1
SPECIFIC_ERROR = 1066


class Scm:
    """Starts the program at once, in this thread, and keeps what it reports."""

    def __init__(self, *arguments: str) -> None:
        self.arguments = ["name", *arguments]
        self.reports: list[dict[str, int]] = []
        self._handler: Any = None

    def dispatch(self, _name: str, main: Callable[[int, Any], None]) -> None:
        main(len(self.arguments), (ctypes.c_wchar_p * len(self.arguments))(*self.arguments))

    def register(self, _name: str, handler: Any) -> int:
        self._handler = handler
        return 7

    def set_status(self, handle: int, status: service_dispatch.Status) -> None:
        assert handle == 7
        self.reports.append({name: getattr(status, name) for name, _ in status._fields_})

    def ask(self, control: int) -> int:
        answer: int = self._handler(control, 0, None, None)
        return answer


@pytest.fixture
def scm(monkeypatch: pytest.MonkeyPatch) -> Scm:
    scm = Scm("first", "a b")
    for name in ("dispatch", "register", "set_status"):
        monkeypatch.setattr(service_dispatch, name, getattr(scm, name))
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
        raise Win32Failure(code, "StartServiceCtrlDispatcherW")

    monkeypatch.setattr(service_dispatch, "dispatch", refuse)
    with pytest.raises(kind) as failure:
        service_program.serve("name", lambda _: 0)
    assert failure.value.code == code
    assert scm.reports == []


@pytest.mark.parametrize("call", ["register", "set_status"])
def test_a_scm_that_will_not_listen_is_no_silent_end(
    scm: Scm, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def refuse(*_: object) -> None:
        raise Win32Failure(6, call)

    monkeypatch.setattr(service_dispatch, call, refuse)
    with pytest.raises((HostError, Win32Failure)) as failure:
        service_program.serve("name", lambda _: 0)
    assert getattr(failure.value, "code", None) == 6
    assert scm.reports == []
