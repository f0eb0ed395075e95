"""What is said to Windows about reboots and variables, and who is an administrator."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import os
from contextlib import ExitStack
from typing import Any

import psutil
import pytest
import win32api
import win32con
import win32evtlog
import win32pipe
import win32security as ws

from agent.host.errors import AccessDenied, HostError, Unsupported
from agent.host.port import EventLevel
from agent.host.windows.api import machine
from agent.host.windows.failure import failed
from agent.host.windows.machine import open_windows
from agent.host.windows.walking import opened

IN_PROGRESS, DENIED = 1115, 5


class Recorded:
    def __init__(self, code: int = 0) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._code = code

    def __call__(self, *arguments: Any) -> int:
        self.calls.append(arguments)
        if self._code:
            raise failed(self._code, "it")
        return 1


def test_a_reboot_is_announced_as_planned_and_cannot_be_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    initiate = Recorded()
    monkeypatch.setattr(machine, "_initiate", initiate)
    open_windows().power.reboot("features were added", 30)
    force_others, force_self, restart = 1, 2, 4
    planned, operating_system, reconfiguration = 0x8000_0000, 0x2_0000, 0x4
    assert initiate.calls == [
        (
            None,
            "features were added",
            30,
            force_others | force_self | restart,
            planned | operating_system | reconfiguration,
        )
    ]


@pytest.mark.parametrize(("code", "kind"), [(DENIED, AccessDenied), (IN_PROGRESS, HostError)])
def test_a_reboot_that_is_refused_is_told(
    monkeypatch: pytest.MonkeyPatch, code: int, kind: type[HostError]
) -> None:
    monkeypatch.setattr(machine, "_initiate", Recorded(code))
    with pytest.raises(kind) as failure:
        open_windows().power.reboot("x", 0)
    assert failure.value.code == code


def test_running_programs_are_told_of_variables_without_waiting_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send = Recorded()
    monkeypatch.setattr(machine, "_message_sender", lambda: send)
    environment = open_windows().environment
    environment.set("WMCB_UNIT", "1")
    environment.remove("WMCB_UNIT")
    everybody, setting_change, give_up_on_hung = 0xFFFF, 0x1A, 2
    ((*first, flags, milliseconds, _), second) = send.calls
    assert first == [everybody, setting_change, 0, "Environment"]
    assert flags & give_up_on_hung
    assert milliseconds <= 1000
    assert second == send.calls[0]


def test_a_source_is_let_go_when_its_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    released = Recorded()
    monkeypatch.setattr(win32evtlog, "ReportEvent", Recorded(DENIED))
    monkeypatch.setattr(win32evtlog, "DeregisterEventSource", released)
    with pytest.raises(AccessDenied):
        open_windows().events.write("wmcb-unit", EventLevel.ERROR, 1, "text")
    assert len(released.calls) == 1


@pytest.mark.parametrize(("number", "told"), [(0x8664, "amd64"), (0xAA64, "arm64")])
def test_processors_have_the_names_that_kubernetes_gives_them(
    monkeypatch: pytest.MonkeyPatch, number: int, told: str
) -> None:
    monkeypatch.setattr(machine, "native_machine", lambda: number)
    assert open_windows().facts.architecture() == told


def test_a_processor_of_another_kind_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "native_machine", lambda: 0x14C)
    with pytest.raises(Unsupported, match="0x14c"):
        open_windows().facts.architecture()


@pytest.mark.parametrize(("code", "there"), [(0, True), (121, True), (231, True), (2, False)])
def test_a_pipe_without_a_free_instance_is_there(
    monkeypatch: pytest.MonkeyPatch, code: int, there: bool
) -> None:
    wait = Recorded(code)
    monkeypatch.setattr(win32pipe, "WaitNamedPipe", wait)
    assert open_windows().facts.pipe_exists("containerd-containerd") is there
    ((name, milliseconds),) = wait.calls
    # 0 would be the pipe's own default, and the greatest number for ever.
    assert (name, 0 < milliseconds < 100) == (r"\\.\pipe\containerd-containerd", True)


def test_a_pipe_that_may_not_be_looked_for_is_no_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(win32pipe, "WaitNamedPipe", Recorded(DENIED))
    with pytest.raises(AccessDenied, match="containerd"):
        open_windows().facts.pipe_exists("containerd-containerd")


def test_who_has_administrators_only_to_be_denied_by_is_none() -> None:
    administrators = ws.CreateWellKnownSid(ws.WinBuiltinAdministratorsSid, None)
    access = win32con.TOKEN_DUPLICATE | win32con.TOKEN_QUERY | win32con.TOKEN_IMPERSONATE
    own = ws.OpenProcessToken(win32api.GetCurrentProcess(), access)
    # What the types say of it is not what it takes.
    restricted = ws.CreateRestrictedToken(own, 0, [(administrators, 0)], None, None)  # type: ignore[arg-type]
    assert open_windows().access.is_administrator()
    ws.ImpersonateLoggedOnUser(restricted)
    try:
        assert not open_windows().access.is_administrator()
    finally:
        ws.RevertToSelf()


def test_who_only_looks_at_a_lock_keeps_nobody_from_it() -> None:
    host = open_windows()
    with ExitStack() as looking:
        with host.processes.exclusive("unit") as held:
            assert held
            looking.enter_context(opened(host.facts.system_directory() / "wmcb-unit.lock", 0))
        assert not host.processes.is_held("unit")
        with host.processes.exclusive("unit") as again:
            assert again


@pytest.mark.parametrize(
    "failure",
    [OSError(0, "invalid handle", None, 6), psutil.AccessDenied(1), psutil.NoSuchProcess(1)],
    ids=["of Windows", "denied", "ended"],
)
def test_a_process_whose_program_cannot_be_told_is_listed(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def refuse(_: object) -> str:
        raise failure

    monkeypatch.setattr(psutil.Process, "exe", refuse)
    listed = {each.pid: each for each in open_windows().processes.list()}
    assert listed[os.getpid()].program is None


def test_a_process_with_the_id_of_an_ended_one_is_listed() -> None:
    for known in psutil.process_iter():
        known._ident = (known.pid, 1.0)  # type: ignore[attr-defined]  # as of another that began long ago
    for _ in range(2):
        assert os.getpid() in {each.pid for each in open_windows().processes.list()}


def test_what_windows_refuses_of_the_list_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(0, "invalid handle", None, 6)

    monkeypatch.setattr(psutil, "pids", refuse)
    with pytest.raises(HostError) as failure:
        open_windows().processes.list()
    assert failure.value.code == 6


def test_a_name_that_is_no_path_is_not_told_as_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil.Process, "exe", lambda _: "Registry")
    assert {each.program for each in open_windows().processes.list()} == {None}


def test_what_windows_says_of_a_process_that_ends_is_told_by_its_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> float:
        raise OSError(0, "invalid handle", None, 6)

    monkeypatch.setattr(psutil.Process, "create_time", refuse)
    with pytest.raises(HostError) as failure:
        open_windows().processes.started_at(os.getpid())
    assert failure.value.code == 6
