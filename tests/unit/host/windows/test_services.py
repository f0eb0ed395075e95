"""Services with each Win32 error that the code handles forced once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from agent.host.errors import (
    AccessDenied,
    AlreadyExists,
    BadName,
    DependencyFailed,
    DependentsRunning,
    HostError,
    InUse,
    MarkedForDeletion,
    NotFound,
    ServiceAlreadyRunning,
    ServiceCannotAccept,
    ServiceDisabled,
    ServiceNotRunning,
    TimedOut,
)
from agent.host.services import (
    InstalledService,
    Recovery,
    RecoveryAction,
    ServiceDefinition,
    ServiceState,
    ServiceStatus,
    SidType,
    StartType,
)
from agent.host.windows.services import (
    DELETE_SECONDS,
    RecoverySetting,
    Registration,
    ServiceKey,
    Setting,
    WindowsServices,
)
from unit.host.windows.fake_scm import FakeScm

KUBELET = ServiceDefinition(
    name="kubelet",
    command=(r"C:\Program Files\k\kubelet.exe", "--v=2"),
    description="Runs pods.",
    start=StartType.DELAYED,
    dependencies=("containerd",),
    recovery=Recovery(((RecoveryAction.RESTART, 5000),), 3600, on_error_exit=True),
    environment={"HTTP_PROXY": "http://proxy"},
    preshutdown_milliseconds=60_000,
    sid_type=SidType.UNRESTRICTED,
)


class Time:
    """A clock that goes by sleeping only."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> float:
        return self.passed

    monotonic = now

    def boot(self) -> int:
        return 1

    def sleep(self, seconds: float) -> None:
        self.passed += seconds


class Bench:
    def __init__(self) -> None:
        self.scm = FakeScm()
        self.clock = Time()
        self.processes = {7}
        self.services = WindowsServices(
            self.scm, self.clock, self.processes.__contains__, _no_view, _nothing, _nothing
        )

    def created(self, definition: ServiceDefinition = KUBELET) -> Bench:
        self.services.create(definition)
        self.scm.calls.clear()
        return self


def _no_view(_name: str) -> Any:
    return nullcontext()


def _nothing(*_: object) -> Any:
    return None


@pytest.fixture
def bench() -> Bench:
    return Bench()


def create(services: WindowsServices) -> None:
    services.create(KUBELET)


def change(services: WindowsServices) -> None:
    services.change(replace(KUBELET, command=("C:\\new.exe",), description="New."))


def start(services: WindowsServices) -> None:
    services.start("kubelet")


def stop(services: WindowsServices) -> None:
    services.stop("kubelet")


def delete(services: WindowsServices) -> None:
    services.delete("kubelet")


def read(services: WindowsServices) -> None:
    services.read("kubelet")


def status(services: WindowsServices) -> None:
    services.status("kubelet")


def restore(services: WindowsServices) -> None:
    wanted = replace(KUBELET, description="Old.", display_name="Old")
    services.restore(InstalledService(wanted, r"C:\Program Files\nssm.exe"))


def list_all(services: WindowsServices) -> None:
    services.list()


FAILURES: list[tuple[Callable[[WindowsServices], None], str, int, type[HostError]]] = [
    (list_all, "list", 5, AccessDenied),
    (status, "open", 5, AccessDenied),
    (status, "open", 1060, NotFound),
    (read, "open", 5, AccessDenied),
    (read, "registration", 5, AccessDenied),
    (read, "ask DESCRIPTION", 5, AccessDenied),
    (create, "create", 5, AccessDenied),
    (create, "create", 123, BadName),
    (create, "create", 1057, HostError),
    (create, "create", 1059, HostError),
    (create, "create", 1072, MarkedForDeletion),
    (create, "create", 1073, AlreadyExists),
    (create, "create", 1078, AlreadyExists),
    (create, "set DESCRIPTION", 5, AccessDenied),
    (create, "set RECOVERY", 1314, AccessDenied),
    (create, "set environment", 5, AccessDenied),
    (change, "open", 5, AccessDenied),
    (change, "open", 1060, NotFound),
    (change, "register", 5, AccessDenied),
    (change, "register", 1072, MarkedForDeletion),
    (change, "set DESCRIPTION", 1072, MarkedForDeletion),
    (restore, "open", 5, AccessDenied),
    (restore, "registration", 5, AccessDenied),
    (restore, "register", 1072, MarkedForDeletion),
    (restore, "register", 1078, AlreadyExists),
    (restore, "set DESCRIPTION", 5, AccessDenied),
    (start, "open", 5, AccessDenied),
    (start, "open", 1060, NotFound),
    (start, "start", 2, NotFound),
    (start, "start", 3, NotFound),
    (start, "start", 5, AccessDenied),
    (start, "start", 1053, TimedOut),
    (start, "start", 1055, InUse),
    (start, "start", 1056, ServiceAlreadyRunning),
    (start, "start", 1058, ServiceDisabled),
    (start, "start", 1068, DependencyFailed),
    (start, "start", 1069, HostError),
    (start, "start", 1072, MarkedForDeletion),
    (start, "start", 1075, DependencyFailed),
    (stop, "open", 1060, NotFound),
    (stop, "control 1", 5, AccessDenied),
    (stop, "control 1", 1051, DependentsRunning),
    (stop, "control 1", 1052, ServiceCannotAccept),
    (stop, "control 1", 1053, TimedOut),
    (stop, "control 1", 1061, ServiceCannotAccept),
    (stop, "control 1", 1062, ServiceNotRunning),
    (delete, "open", 5, AccessDenied),
    (delete, "open", 1060, NotFound),
    (delete, "delete", 5, AccessDenied),
]


@pytest.mark.parametrize(
    ("act", "call", "code", "kind"), FAILURES, ids=[f"{a.__name__}-{c}-{n}" for a, c, n, _ in FAILURES]
)
def test_a_failure_is_told_by_its_code(
    bench: Bench, act: Callable[[WindowsServices], None], call: str, code: int, kind: type[HostError]
) -> None:
    if act is not create:
        bench.created()
    bench.scm.fail(call, code)
    with pytest.raises(HostError) as failure:
        act(bench.services)
    assert type(failure.value) is kind
    assert failure.value.code == code
    assert f"Windows error {code}" in str(failure.value)
    assert act is list_all or "kubelet" in str(failure.value)


def test_one_whose_process_ended_meanwhile_is_not_running(bench: Bench) -> None:
    bench.created()
    bench.scm.fail("control 1", 109)
    with pytest.raises(ServiceNotRunning):
        stop(bench.services)


def test_the_missing_program_is_meant_and_not_the_service(bench: Bench) -> None:
    bench.created()
    bench.scm.fail("start", 2)
    with pytest.raises(NotFound, match=r"kubelet\.exe, the program of service kubelet: it does not exist"):
        bench.services.start("kubelet")


LATER_STEPS = ["set DESCRIPTION", "set DELAYED", "set RECOVERY", "set PRESHUTDOWN", "set environment"]


@pytest.mark.parametrize("call", LATER_STEPS)
def test_a_service_that_could_not_be_completed_is_deleted_again(bench: Bench, call: str) -> None:
    bench.scm.fail(call, 5)
    with pytest.raises(AccessDenied):
        bench.services.create(KUBELET)
    assert bench.scm.services == {}


def test_what_failed_first_is_told_when_the_deletion_fails_too(bench: Bench) -> None:
    bench.scm.fail("set DESCRIPTION", 1314)
    bench.scm.fail("delete", 5)
    with pytest.raises(AccessDenied) as failure:
        bench.services.create(KUBELET)
    assert failure.value.code == 1314


def test_a_service_is_deleted_again_also_when_the_program_is_interrupted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench.scm, "set_environment", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.services.create(KUBELET)
    assert bench.scm.services == {}


UNKNOWN = {
    "DESCRIPTION": "description",
    "RECOVERY": "recovery",
    "ON_ERROR_EXIT": "recovery",
    "DELAYED": "start",
    "SID_TYPE": "sid_type",
    "PRESHUTDOWN": "preshutdown_milliseconds",
}


@pytest.mark.parametrize("code", [120, 124])
@pytest.mark.parametrize(("setting", "field"), UNKNOWN.items(), ids=UNKNOWN)
def test_a_setting_that_the_scm_cannot_take_is_warned_of(
    bench: Bench, setting: str, field: str, code: int
) -> None:
    bench.scm.fail(f"set {setting}", code)
    assert list(bench.services.create(KUBELET)) == [field]


@pytest.mark.parametrize("code", [120, 124])
@pytest.mark.parametrize(("setting", "field"), UNKNOWN.items(), ids=UNKNOWN)
def test_a_setting_that_the_scm_cannot_tell_is_warned_of_and_read_as_its_default(
    bench: Bench, setting: str, field: str, code: int
) -> None:
    bench.scm.fail(f"ask {setting}", code)
    assert list(bench.services.create(KUBELET)) == [field]
    bench.scm.fail(f"ask {setting}", code)
    installed = bench.services.read("kubelet")
    assert installed is not None
    assert installed.unsupported == (field,)


@pytest.mark.parametrize("code", [2, 126, 1813, 15100, 15105])
def test_a_description_whose_text_is_missing_is_read_as_none(bench: Bench, code: int) -> None:
    bench.created()
    bench.scm.fail("ask DESCRIPTION", code)
    installed = bench.services.read("kubelet")
    assert installed is not None
    assert installed.definition == replace(KUBELET, display_name="kubelet", description="")
    assert installed.unsupported == ()


def test_both_halves_of_recovery_unknown_are_one_warning(bench: Bench) -> None:
    bench.scm.fail("set RECOVERY", 124)
    bench.scm.fail("set ON_ERROR_EXIT", 124)
    assert list(bench.services.create(KUBELET)) == ["recovery"]


def test_what_has_its_default_is_not_set(bench: Bench) -> None:
    bench.services.create(ServiceDefinition("plain", ("C:\\p.exe",)))
    assert not [call for call in bench.scm.calls if call.startswith("set")]


CHANGES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "nothing": ({}, set()),
    "command": ({"command": ("C:\\k.exe",)}, {"register"}),
    "display name": ({"display_name": "The Kubelet"}, {"register"}),
    "start": ({"start": StartType.MANUAL}, {"register"}),
    "delay": ({"start": StartType.AUTOMATIC}, {"register", "set DELAYED"}),
    "dependencies": ({"dependencies": ()}, {"register"}),
    "account": ({"account": "NT AUTHORITY\\LocalService"}, {"register"}),
    "description": ({"description": "New."}, {"set DESCRIPTION"}),
    "recovery": ({"recovery": Recovery(on_error_exit=True)}, {"set RECOVERY"}),
    "recovery on error exit": (
        {"recovery": replace(KUBELET.recovery, on_error_exit=False)},
        {"set ON_ERROR_EXIT"},
    ),
    "environment": ({"environment": {}}, {"set environment"}),
    "preshutdown": ({"preshutdown_milliseconds": 1}, {"set PRESHUTDOWN"}),
    "no preshutdown": ({"preshutdown_milliseconds": None}, set()),
    "SID type": ({"sid_type": SidType.RESTRICTED}, {"set SID_TYPE"}),
}


@pytest.mark.parametrize(("fields", "calls"), CHANGES.values(), ids=CHANGES)
def test_a_change_sets_what_differs_and_nothing_else(
    bench: Bench, fields: dict[str, Any], calls: set[str]
) -> None:
    bench.created().services.change(replace(KUBELET, **fields))
    assert {call for call in bench.scm.calls if call.startswith(("set", "register"))} == calls


def test_a_change_of_the_registration_leaves_the_other_parts_alone(bench: Bench) -> None:
    bench.created().services.change(replace(KUBELET, display_name="The Kubelet"))
    assert bench.scm.services["kubelet"].last_change == Registration(
        "kubelet", "The Kubelet", None, None, None, None
    )


def test_a_restoration_sets_what_differs_and_nothing_else(bench: Bench) -> None:
    bench.created()
    before = bench.services.read("kubelet")
    assert before is not None
    bench.services.change(replace(KUBELET, description="New.", environment={}))
    bench.scm.calls.clear()
    assert list(bench.services.restore(before)) == []
    assert {call for call in bench.scm.calls if call.startswith(("set", "register"))} == {
        "set DESCRIPTION",
        "set environment",
    }
    assert bench.services.read("kubelet") == before


def test_a_command_line_is_restored_word_for_word(bench: Bench) -> None:
    bench.created()
    before = bench.services.read("kubelet")
    assert before is not None
    theirs = r"%ProgramFiles%\k dir\nssm.exe  -x"
    bench.services.restore(replace(before, image_path=theirs))
    assert bench.scm.services["kubelet"].last_change == Registration(
        "kubelet", None, None, theirs, None, None
    )
    # The same again is no change.
    bench.scm.calls.clear()
    bench.services.restore(replace(before, image_path=theirs))
    assert "register" not in bench.scm.calls


def test_a_command_line_is_told_as_registered_and_not_as_the_scm_expands_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.created()
    key = ServiceKey({}, (), r"%SystemRoot%\p.exe")
    monkeypatch.setattr(bench.scm, "key", lambda _: key)
    installed = bench.services.read("kubelet")
    assert installed is not None
    assert installed.image_path == r"%SystemRoot%\p.exe"


@pytest.mark.parametrize("code", [120, 124])
def test_a_restoration_warns_of_what_the_scm_does_not_know(bench: Bench, code: int) -> None:
    bench.created()
    before = bench.services.read("kubelet")
    assert before is not None
    bench.services.change(replace(KUBELET, sid_type=SidType.NONE))
    bench.scm.fail("set SID_TYPE", code)
    assert list(bench.services.restore(before)) == ["sid_type"]


def test_every_action_that_windows_knows_is_read(bench: Bench) -> None:
    actions = tuple((action, 1000) for action in RecoveryAction)
    bench.created(replace(KUBELET, recovery=Recovery(actions)))
    raw = tuple((number, 1000) for number in range(5))
    assert bench.scm.services["kubelet"].settings[Setting.RECOVERY] == RecoverySetting(raw, 0)
    installed = bench.services.read("kubelet")
    assert installed is not None
    assert installed.definition.recovery.actions == actions


def test_a_service_that_is_not_there_is_read_as_none(bench: Bench) -> None:
    assert bench.services.read("kubelet") is None


def test_whoever_may_not_read_the_key_is_told_the_rest(bench: Bench) -> None:
    bench.created()
    bench.scm.fail("key", 5)
    installed = bench.services.read("kubelet")
    assert installed is not None
    assert installed.unsupported == ("environment",)
    assert installed.definition == replace(KUBELET, display_name="kubelet", environment={})


def test_somebody_elses_command_line_is_kept_as_it_is(bench: Bench) -> None:
    bench.scm.create(Registration("other", "Other", 3, r"C:\Program Files\o.exe -x", (), "LocalSystem"), 0)
    installed = bench.services.read("other")
    assert installed is not None
    assert installed.image_path == r"C:\Program Files\o.exe -x"
    assert installed.definition.command == (r"C:\Program", r"Files\o.exe", "-x")


def test_a_driver_without_a_path_is_read_all_the_same(bench: Bench) -> None:
    bench.scm.create(Registration("driver", "Driver", 0, "", (), ""), 0)
    installed = bench.services.read("driver")
    assert installed is not None
    assert (installed.definition.command, installed.definition.start) == ((), StartType.AUTOMATIC)


# Deletion


def test_a_deletion_waits_until_the_last_handle_is_closed(bench: Bench) -> None:
    bench.created()
    bench.scm.services["kubelet"].open_elsewhere = 3
    bench.services.delete("kubelet")
    assert bench.scm.services == {}
    assert 0 < bench.clock.passed < DELETE_SECONDS


def test_a_deletion_gives_up_when_a_handle_stays_open(bench: Bench) -> None:
    bench.created()
    bench.scm.services["kubelet"].open_elsewhere = 1_000_000
    with pytest.raises(MarkedForDeletion, match="kubelet") as failure:
        bench.services.delete("kubelet")
    assert failure.value.code == 1072
    assert DELETE_SECONDS - 1 < bench.clock.passed <= DELETE_SECONDS


def test_a_service_that_is_marked_already_is_waited_for(bench: Bench) -> None:
    bench.created()
    service = bench.scm.services["kubelet"]
    service.marked, service.open_elsewhere = True, 3
    bench.scm.fail("delete", 1072)
    bench.services.delete("kubelet")
    assert bench.scm.services == {}


def test_a_service_that_can_no_longer_be_opened_is_waited_for_too(bench: Bench) -> None:
    bench.created()
    bench.scm.fail("open", 0, 1072, 1072)
    bench.services.delete("kubelet")
    assert bench.scm.calls.count("open") == 4


def test_a_refusal_while_it_waits_is_told(bench: Bench) -> None:
    bench.created()
    bench.scm.fail("open", 0, 5)
    with pytest.raises(AccessDenied):
        bench.services.delete("kubelet")


def test_a_stop_that_its_process_does_not_hear_is_not_waited_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.created()
    over = threading.Event()
    monkeypatch.setattr(bench.scm, "called", lambda _: over.wait(20))
    with pytest.raises(TimedOut) as failure:
        bench.services.stop("kubelet", 0.05)
    over.set()
    assert failure.value.code == 1053


@pytest.mark.parametrize(
    ("state", "pid", "told"),
    [
        (ServiceState.STOP_PENDING, 8, (ServiceState.STOPPED, None, 1067)),
        (ServiceState.STOP_PENDING, None, (ServiceState.STOPPED, None, 1067)),
        (ServiceState.STOP_PENDING, 7, (ServiceState.STOP_PENDING, 7, 0)),
        (ServiceState.RUNNING, 8, (ServiceState.RUNNING, 8, 0)),
    ],
    ids=["its process has ended", "it has none", "it lives", "it was not asked to"],
)
def test_a_service_that_ends_without_a_word_has_stopped(
    bench: Bench, state: ServiceState, pid: int | None, told: tuple[ServiceState, int | None, int]
) -> None:
    bench.created().scm.services["kubelet"].state = ServiceStatus(state, pid, 0, 0, 0, 0)
    status = bench.services.status("kubelet")
    assert (status.state, status.pid, status.exit_code) == told


@pytest.mark.parametrize("state", [ServiceState.RUNNING, ServiceState.PAUSED])
def test_a_service_that_goes_on_is_not_waited_for(bench: Bench, state: ServiceState) -> None:
    bench.created()
    service = bench.scm.services["kubelet"]
    service.state, service.open_elsewhere = ServiceStatus(state, 7, 0, 0, 0, 0), 3
    with pytest.raises(MarkedForDeletion) as failure:
        bench.services.delete("kubelet")
    assert failure.value.code == 1072
    assert bench.clock.passed == 0
    assert service.marked


@pytest.mark.parametrize("pid", [None, 8])
def test_a_service_whose_process_the_scm_has_not_seen_end_is_waited_for(
    bench: Bench, pid: int | None
) -> None:
    bench.created()
    service = bench.scm.services["kubelet"]
    service.state, service.open_elsewhere = ServiceStatus(ServiceState.RUNNING, pid, 0, 0, 0, 0), 3
    bench.services.delete("kubelet")
    assert bench.scm.services == {}
