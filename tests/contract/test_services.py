"""Services: registered, changed, run, waited for, watched, deleted."""

from __future__ import annotations

import enum
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.host import commandline
from agent.host.definitions import differing_fields
from agent.host.errors import (
    AlreadyExists,
    BadCommand,
    BadName,
    DependencyFailed,
    DependentsRunning,
    HostError,
    MarkedForDeletion,
    NotAService,
    NotFound,
    ServiceAlreadyRunning,
    ServiceCannotAccept,
    ServiceDisabled,
    ServiceFailed,
    ServiceNotRunning,
    TimedOut,
)
from agent.host.port import RegistryKind, RegistryValue
from agent.host.services import (
    Control,
    InstalledService,
    Recovery,
    RecoveryAction,
    ServiceDefinition,
    ServiceEvent,
    ServiceState,
    ServiceStatus,
    SidType,
    StartType,
)
from contract.world import World, wine_cannot

SOON = 60.0
"""Seconds: far more than any step needs, for machines that do much else at the time."""


SERVICES_KEY = "SYSTEM\\CurrentControlSet\\Services"


class Bench:
    """A world whose services are gone afterwards."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.services = world.host.services
        self.record: PureWindowsPath = world.folder / "record"
        self._names: list[str] = []

    def read(self, name: str) -> InstalledService:
        installed = self.services.read(name)
        assert installed is not None
        return installed

    def name(self) -> str:
        name = f"wmcb-contract-{secrets.token_hex(4)}"
        self._names.append(name)
        return name

    def definition(self, **fields: Any) -> ServiceDefinition:
        values: dict[str, Any] = {"command": (r"C:\k\program.exe",), "start": StartType.MANUAL, **fields}
        return ServiceDefinition(self.name(), **values)

    def program(self, *behaviour: str, **fields: Any) -> str:
        """Registers a program that runs."""
        definition = self.definition(command=self.world.service_command(*behaviour), **fields)
        self.services.create(definition)
        return definition.name

    def recorder(self, *behaviour: str, **fields: Any) -> str:
        return self.program(f"record={self.world.outside(self.record)}", *behaviour, **fields)

    def recorded(self, what: str) -> list[Any]:
        lines = self.world.outside(self.record).read_text(encoding="utf-8").splitlines()
        return [found[what] for line in lines if what in (found := json.loads(line))]

    def start(self, name: str, *arguments: str) -> ServiceStatus:
        self.services.start(name, arguments)
        return self.services.wait(name, ServiceState.RUNNING, SOON)

    def stop(self, name: str) -> ServiceStatus:
        self.services.stop(name)
        return self.services.wait(name, ServiceState.STOPPED, SOON)

    def kill(self, name: str) -> None:
        pid = self.services.status(name).pid
        assert pid is not None
        self.world.host.processes.end(pid)

    def clean(self) -> None:
        for name in reversed(self._names):
            with suppress(HostError):
                if self.services.status(name).pid:
                    self.kill(name)
                    self.services.wait(name, ServiceState.STOPPED, SOON)
            with suppress(NotFound):
                self.services.delete(name)
            with suppress(NotFound):
                # Of a service's key only Windows knows that it goes with the service.
                self.world.host.registry.remove_key(f"{SERVICES_KEY}\\{name}")


@pytest.fixture
def bench(world: World) -> Iterator[Bench]:
    bench = Bench(world)
    yield bench
    bench.clean()


# Registration

RECOVERY = Recovery(
    actions=((RecoveryAction.RESTART, 5000), (RecoveryAction.RESTART, 10_000), (RecoveryAction.NONE, 0)),
    reset_seconds=86_400,
)
DEFINITIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "quoted": {"command": (r"C:\Program Files\k\p.exe", "--flag=a b", r"C:\dir with\\"[:-1], 'say "hi"', "")},
    "described": {"description": "Runs pods. Übermut.", "display_name": "The Kubelet"},
    "automatic": {"start": StartType.AUTOMATIC},
    "delayed": {"start": StartType.DELAYED},
    "disabled": {"start": StartType.DISABLED},
    "dependencies": {"dependencies": ("RpcSs", "wmcb-not-there", "+TDI")},
    "environment": {"environment": {"HTTP_PROXY": "http://proxy:3128", "EMPTY": "", "EQUAL": "a=b"}},
    "preshutdown": {"preshutdown_milliseconds": 65_000},
}
ONLY_ON_WINDOWS: dict[str, dict[str, Any]] = {
    "recovery": {"recovery": RECOVERY},
    "recovery on error exit": {"recovery": replace(RECOVERY, on_error_exit=True)},
    "SID type": {"sid_type": SidType.UNRESTRICTED},
}


@pytest.mark.parametrize("fields", DEFINITIONS.values(), ids=DEFINITIONS)
def test_what_was_created_is_read_back(bench: Bench, fields: dict[str, Any]) -> None:
    wanted = bench.definition(**fields)
    assert list(bench.services.create(wanted)) == []
    installed = bench.services.read(wanted.name)
    assert installed is not None
    assert installed.definition.name == wanted.name
    assert installed.image_path == commandline.join(wanted.command)
    assert differing_fields(wanted, installed) == ()


@wine_cannot("its SCM takes recovery actions but cannot tell them, and knows neither SID types nor the flag")
@pytest.mark.parametrize("fields", ONLY_ON_WINDOWS.values(), ids=ONLY_ON_WINDOWS)
def test_what_every_windows_knows_is_read_back(bench: Bench, fields: dict[str, Any]) -> None:
    wanted = bench.definition(**fields)
    assert list(bench.services.create(wanted)) == []
    installed = bench.services.read(wanted.name)
    assert installed is not None
    assert installed.unsupported == ()
    assert differing_fields(wanted, installed) == ()


@pytest.mark.parametrize("fields", ONLY_ON_WINDOWS.values(), ids=ONLY_ON_WINDOWS)
def test_what_this_windows_does_not_know_is_warned_of_and_no_failure(
    bench: Bench, fields: dict[str, Any]
) -> None:
    wanted = bench.definition(**fields)
    warned = set(bench.services.create(wanted))
    assert warned == ({*fields} if bench.world.under_wine else set())
    assert set(bench.services.change(replace(wanted, description="changed"))) == warned
    installed = bench.services.read(wanted.name)
    assert installed is not None
    assert warned <= set(installed.unsupported)
    assert differing_fields(replace(wanted, description="changed"), installed) == ()


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "command": ({}, {"command": (r"C:\k\new one.exe", "-v")}),
    "names": ({"display_name": "A", "description": "B"}, {"display_name": "C", "description": ""}),
    "manual to delayed": ({}, {"start": StartType.DELAYED}),
    "delayed to manual": ({"start": StartType.DELAYED}, {"start": StartType.MANUAL}),
    "delayed to automatic": ({"start": StartType.DELAYED}, {"start": StartType.AUTOMATIC}),
    "dependencies": ({"dependencies": ("RpcSs",)}, {"dependencies": ("Eventlog", "RpcSs")}),
    "no dependencies": ({"dependencies": ("RpcSs",)}, {"dependencies": ()}),
    "environment": ({"environment": {"A": "1", "B": "2"}}, {"environment": {"B": "3"}}),
    "no environment": ({"environment": {"A": "1"}}, {"environment": {}}),
    "preshutdown": ({"preshutdown_milliseconds": 1000}, {"preshutdown_milliseconds": 2000}),
}


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_a_change_makes_a_service_as_defined(
    bench: Bench, before: dict[str, Any], after: dict[str, Any]
) -> None:
    first = bench.definition(**before)
    bench.services.create(first)
    second = replace(first, **after)
    assert list(bench.services.change(second)) == []
    installed = bench.services.read(first.name)
    assert installed is not None
    assert differing_fields(second, installed) == ()


# Services that somebody else made

SOMEBODY_ELSES = {
    "unquoted": r"C:\Program Files\nssm\nssm.exe",
    "unquoted with arguments": r"C:\k dir\kubelet.exe --v=2 --x=\"a b\"",
    "needless quotes": '"C:\\k\\kubelet.exe"  "--v=2"',
    "variables": r"%SystemRoot%\system32\cmd.exe /c %WMCB_NONE% %ProgramFiles%\x.exe",
    "not ours at all": "kubelet",
}


@pytest.mark.parametrize("line", SOMEBODY_ELSES.values(), ids=SOMEBODY_ELSES)
def test_somebody_elses_service_is_given_back_word_for_word(bench: Bench, line: str) -> None:
    theirs = bench.definition(
        description="Somebody's.",
        display_name=f"Theirs {secrets.token_hex(4)}",
        account=r"NT AUTHORITY\LocalService",
        dependencies=("RpcSs",),
        environment={"A": "1"},
    )
    bench.services.create(theirs)
    bench.services.restore(replace(bench.read(theirs.name), image_path=line))
    before = bench.read(theirs.name)
    assert before.image_path == line
    ours = ServiceDefinition(theirs.name, (r"C:\k\ours.exe", "-v"), start=StartType.DELAYED)
    bench.services.change(ours)
    assert differing_fields(ours, bench.read(theirs.name)) == ()
    bench.services.restore(before)
    assert bench.read(theirs.name) == before


@pytest.mark.parametrize("fields", [*DEFINITIONS.values(), *ONLY_ON_WINDOWS.values()])
def test_what_was_read_can_be_kept_as_text_and_restored(bench: Bench, fields: dict[str, Any]) -> None:
    definition = bench.definition(**fields)
    bench.services.create(definition)
    before = bench.read(definition.name)
    kept = json.loads(json.dumps(before, default=_as_text))
    bench.services.change(ServiceDefinition(definition.name, (r"C:\k\ours.exe",), start=StartType.MANUAL))
    bench.services.restore(_installed(kept))
    assert bench.read(definition.name) == before


def test_a_service_that_is_gone_is_restored_too(bench: Bench) -> None:
    definition = bench.definition(description="first", environment={"A": "1"})
    bench.services.create(definition)
    bench.services.restore(replace(bench.read(definition.name), image_path=r"C:\Program Files\x.exe %A%"))
    before = bench.read(definition.name)
    bench.services.delete(definition.name)
    bench.services.restore(before)
    assert bench.read(definition.name) == before


def test_what_could_not_be_read_is_not_restored(bench: Bench) -> None:
    definition = bench.definition(environment={"SECRET": "1"})
    bench.services.create(definition)
    unread = replace(bench.read(definition.name).definition, environment={}, description="new")
    before = InstalledService(unread, bench.read(definition.name).image_path, unsupported=("environment",))
    bench.services.restore(before)
    assert bench.read(definition.name).definition.environment == {"SECRET": "1"}
    assert bench.read(definition.name).definition.description == "new"


def test_keys_below_a_services_own_are_left_alone(bench: Bench) -> None:
    definition = bench.definition()
    bench.services.create(definition)
    before = bench.read(definition.name)
    registry, key = bench.world.host.registry, f"{SERVICES_KEY}\\{definition.name}\\Parameters"
    registry.write(key, "Application", RegistryValue(RegistryKind.EXPANDABLE, r"%SystemDrive%\k\kubelet.exe"))
    values = registry.values(key)
    bench.services.change(replace(definition, command=(r"C:\k\ours.exe",), environment={"A": "1"}))
    assert registry.values(key) == values
    bench.services.restore(before)
    assert registry.values(key) == values


@pytest.mark.parametrize("words", [["%PATH%"], ["--x=%a b%"], ["50%", "60%"]], ids=ascii)
def test_a_command_that_windows_would_change_is_refused(bench: Bench, words: list[str]) -> None:
    definition = bench.definition(command=(r"C:\k\p.exe", *words))
    with pytest.raises(BadCommand, match=definition.name):
        bench.services.create(definition)
    assert bench.services.read(definition.name) is None
    bench.services.create(replace(definition, command=(r"C:\k\p.exe",)))
    with pytest.raises(BadCommand, match=definition.name):
        bench.services.change(definition)
    assert bench.read(definition.name).image_path == r"C:\k\p.exe"


@pytest.mark.parametrize("words", [["100%"], ["%"], ["a=%b=c%"], ["%%"]], ids=ascii)
def test_percent_signs_that_mean_no_variable_are_kept(bench: Bench, words: list[str]) -> None:
    definition = bench.definition(command=(r"C:\k\p.exe", *words))
    bench.services.create(definition)
    assert bench.read(definition.name).definition.command == definition.command


def _as_text(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.name
    names: tuple[str, ...] = value.__match_args__  # type: ignore[attr-defined]
    return {name: getattr(value, name) for name in names}


def _installed(kept: Any) -> InstalledService:
    fields, recovery = kept["definition"], kept["definition"]["recovery"]
    actions = tuple((RecoveryAction[action], after) for action, after in recovery["actions"])
    fields |= {
        "command": tuple(fields["command"]),
        "dependencies": tuple(fields["dependencies"]),
        "start": StartType[fields["start"]],
        "sid_type": SidType[fields["sid_type"]],
        "recovery": Recovery(**recovery | {"actions": actions}),
    }
    return InstalledService(ServiceDefinition(**fields), kept["image_path"], tuple(kept["unsupported"]))


def test_a_delay_forgotten_under_a_manual_start_does_not_come_back(bench: Bench) -> None:
    delayed = bench.definition(start=StartType.DELAYED)
    bench.services.create(delayed)
    for start in (StartType.MANUAL, StartType.AUTOMATIC):
        bench.services.change(replace(delayed, start=start))
    installed = bench.services.read(delayed.name)
    assert installed is not None
    assert installed.definition.start is StartType.AUTOMATIC


def test_a_new_service_is_listed_stopped_and_without_process(bench: Bench) -> None:
    definition = bench.definition()
    bench.services.create(definition)
    status = bench.services.list()[definition.name]
    assert (status.state, status.pid) == (ServiceState.STOPPED, None)
    assert bench.services.status(definition.name) == status


def test_names_have_no_case(bench: Bench) -> None:
    definition = bench.definition()
    bench.services.create(definition)
    assert bench.services.read(definition.name.upper()) is not None
    with pytest.raises(AlreadyExists):
        bench.services.create(replace(definition, name=definition.name.upper()))


def test_a_service_that_is_there_is_not_created_again(bench: Bench) -> None:
    definition = bench.definition(description="first")
    bench.services.create(definition)
    with pytest.raises(AlreadyExists) as refusal:
        bench.services.create(replace(definition, description="second"))
    assert refusal.value.code == 1073
    installed = bench.services.read(definition.name)
    assert installed is not None
    assert installed.definition.description == "first"


@pytest.mark.parametrize("name", ["", "a/b", "a\\b", "x" * 257])
def test_a_name_that_windows_cannot_have_is_refused(bench: Bench, name: str) -> None:
    with pytest.raises(BadName) as refusal:
        bench.services.create(replace(bench.definition(), name=name))
    assert refusal.value.code == 123


MISSING: dict[str, Callable[[Bench, str], object]] = {
    "status": lambda bench, name: bench.services.status(name),
    "start": lambda bench, name: bench.services.start(name),
    "stop": lambda bench, name: bench.services.stop(name),
    "delete": lambda bench, name: bench.services.delete(name),
    "change": lambda bench, name: bench.services.change(replace(bench.definition(), name=name)),
    "wait": lambda bench, name: bench.services.wait(name, ServiceState.RUNNING, 1),
    "watch": lambda bench, name: bench.services.watch([name]),
}


@pytest.mark.parametrize("ask", MISSING.values(), ids=MISSING)
def test_a_service_that_is_not_there_is_not_found(bench: Bench, ask: Callable[[Bench, str], object]) -> None:
    name = bench.name()
    assert bench.services.read(name) is None
    with pytest.raises(NotFound, match=name) as refusal:
        ask(bench, name)
    assert refusal.value.code == 1060


def test_a_deleted_service_is_gone_and_its_name_free(bench: Bench) -> None:
    definition = bench.definition()
    bench.services.create(definition)
    bench.services.delete(definition.name)
    assert bench.services.read(definition.name) is None
    bench.services.create(definition)


# Running


def test_a_service_starts_runs_and_stops(bench: Bench) -> None:
    name = bench.program()
    running = bench.start(name)
    assert running.state is ServiceState.RUNNING
    assert running.pid in {process.pid for process in bench.world.host.processes.list()}
    stopped = bench.stop(name)
    assert (stopped.state, stopped.pid, stopped.exit_code) == (ServiceState.STOPPED, None, 0)
    bench.start(name)


COMMAND_LINES = {
    "blank": ["a b"],
    "quote": ['"', 'a"b', '"a b"'],
    "backslashes": ["C:\\dir\\", "C:\\dir with\\", '\\\\"', "\\\\"],
    "empty": ["", "x", ""],
    "beyond ASCII": ["käse", "日本", "😀"],
}


@pytest.mark.parametrize("words", COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_a_program_gets_its_command_line_word_for_word(bench: Bench, words: list[str]) -> None:
    bench.start(bench.recorder(*words))
    assert bench.recorded("started")[0]["command"][1:] == words


def test_a_program_gets_what_the_start_call_passes(bench: Bench) -> None:
    bench.start(bench.recorder(), "first", "a b")
    assert bench.recorded("started")[0]["arguments"] == ["first", "a b"]


@wine_cannot("its SCM gives a service no variables of its own")
def test_a_program_gets_its_environment(bench: Bench) -> None:
    bench.start(bench.recorder(environment={"WMCB_CONTRACT": "a=b c"}))
    assert bench.recorded("variables")[0]["WMCB_CONTRACT"] == "a=b c"


def test_the_port_of_a_program_is_known_with_the_program(bench: Bench) -> None:
    running = bench.start(bench.recorder("listen"))
    (port,) = bench.recorded("port")
    (found,) = [each for each in bench.world.host.facts.listening_ports() if each.port == port]
    assert (found.address, found.pid) == ("127.0.0.1", running.pid)
    (process,) = [each for each in bench.world.host.processes.list() if each.pid == found.pid]
    # In a sandbox the program may lie outside C:, where no Windows path leads.
    assert process.program is None or process.program.stem.lower().startswith("python")


def test_a_program_hears_the_stop_once(bench: Bench) -> None:
    name = bench.recorder()
    bench.start(name)
    bench.stop(name)
    assert bench.recorded("asked") == ["STOP"]


def test_an_exit_code_of_its_own_is_told(bench: Bench) -> None:
    name = bench.program("exit=42")
    bench.start(name)
    stopped = bench.stop(name)
    assert (stopped.exit_code, stopped.service_exit_code) == (1066, 42)


def test_a_running_service_is_not_started_again(bench: Bench) -> None:
    name = bench.program()
    bench.start(name)
    with pytest.raises(ServiceAlreadyRunning) as refusal:
        bench.services.start(name)
    assert refusal.value.code == 1056


def test_a_stopped_service_is_not_stopped_again(bench: Bench) -> None:
    with pytest.raises(ServiceNotRunning) as refusal:
        bench.services.stop(bench.program())
    assert refusal.value.code == 1062


def test_a_disabled_service_is_not_started(bench: Bench) -> None:
    with pytest.raises(ServiceDisabled) as refusal:
        bench.services.start(bench.program(start=StartType.DISABLED))
    assert refusal.value.code == 1058


def test_a_service_whose_program_is_missing_is_not_started(bench: Bench) -> None:
    definition = bench.definition(command=(str(bench.world.folder / "none.exe"),))
    bench.services.create(definition)
    with pytest.raises(NotFound, match="program of service") as refusal:
        bench.services.start(definition.name)
    assert refusal.value.code == 2


def test_a_service_on_its_way_down_takes_no_second_stop(bench: Bench) -> None:
    name = bench.program("stay", "hint=60")
    bench.start(name)
    bench.services.stop(name)
    bench.services.wait(name, ServiceState.STOP_PENDING, SOON)
    with pytest.raises(ServiceCannotAccept) as refusal:
        bench.services.stop(name)
    assert refusal.value.code == 1061


@wine_cannot("its SCM starts no dependencies")
def test_a_dependency_is_started_first(bench: Bench) -> None:
    first = bench.program()
    bench.start(bench.program(dependencies=(first,)))
    assert bench.services.status(first).state is ServiceState.RUNNING


@wine_cannot("its SCM starts no dependencies")
@pytest.mark.parametrize("registered", [False, True], ids=["missing", "fails"])
def test_a_dependency_that_does_not_start_is_told_as_such(bench: Bench, registered: bool) -> None:
    dependency = bench.program("fail=3") if registered else bench.name()
    with pytest.raises(DependencyFailed):
        bench.services.start(bench.program(dependencies=(dependency,)))


@wine_cannot("its SCM stops a service whatever depends on it")
def test_a_dependency_is_not_stopped_before_its_dependents(bench: Bench) -> None:
    first = bench.program()
    second = bench.program(dependencies=(first,))
    bench.start(first)
    bench.start(second)
    with pytest.raises(DependentsRunning) as refusal:
        bench.services.stop(first)
    assert refusal.value.code == 1051
    bench.stop(second)
    bench.stop(first)


# A program's side


def test_a_program_hears_of_new_parameters_and_goes_on(bench: Bench) -> None:
    name = bench.recorder()
    running = bench.start(name)
    bench.services.tell_of_parameters(name)
    _until(lambda: bench.recorded("asked") == ["PARAMETERS_CHANGED"])
    assert bench.services.status(name) == running
    bench.stop(name)
    with pytest.raises(ServiceNotRunning) as refusal:
        bench.services.tell_of_parameters(name)
    assert refusal.value.code == 1062


def test_a_program_that_fails_by_an_exception_has_stopped_with_an_exit_code(bench: Bench) -> None:
    name = bench.program("raise")
    bench.start(name)
    bench.world.ask(name, Control.PARAMETERS_CHANGED)
    stopped = bench.services.wait(name, ServiceState.STOPPED, SOON)
    assert (stopped.exit_code, stopped.service_exit_code) == (1066, 1)


def test_a_program_that_the_scm_did_not_start_is_no_service(bench: Bench) -> None:
    with pytest.raises(NotAService) as refusal:
        bench.services.serve(bench.program(), lambda _: 0)
    assert refusal.value.code == 1063


# Waiting


def test_a_wait_for_a_service_that_fails_at_once_tells_its_exit_code(bench: Bench) -> None:
    name = bench.program("fail=42")
    bench.services.start(name)
    with pytest.raises(ServiceFailed, match=f"{name}.*the service stopped.*1066.*42"):
        bench.services.wait(name, ServiceState.RUNNING, SOON)


def test_a_wait_for_a_service_that_says_nothing_ends_in_time(bench: Bench) -> None:
    name = bench.program("mute")
    bench.services.start(name)
    with pytest.raises(TimedOut, match=f"{name}.*START_PENDING.*0"):
        bench.services.wait(name, ServiceState.RUNNING, 0.5)


def test_a_wait_ends_when_a_service_takes_longer_than_it_said(bench: Bench) -> None:
    name = bench.program("stay", "hint=0.5")
    bench.start(name)
    bench.services.stop(name)
    began = time.monotonic()
    with pytest.raises(TimedOut, match=f"{name}.*STOP_PENDING"):
        bench.services.wait(name, ServiceState.STOPPED, 10 * SOON)
    assert time.monotonic() - began < SOON


def test_a_wait_goes_on_as_long_as_a_service_does(bench: Bench) -> None:
    name = bench.program("hint=3", "steps=6")
    bench.start(name)
    began = time.monotonic()
    bench.stop(name)
    assert time.monotonic() - began > 3


def test_a_wait_sees_a_process_that_ends_without_a_word(bench: Bench) -> None:
    name = bench.program("vanish=5", "hint=60")
    bench.start(name)
    with suppress(ServiceNotRunning):  # it may be gone before it has answered
        bench.services.stop(name)
    stopped = bench.services.wait(name, ServiceState.STOPPED, SOON)
    assert (stopped.state, stopped.pid, stopped.exit_code) == (ServiceState.STOPPED, None, 1067), stopped
    bench.start(name)


def test_a_second_stop_right_after_the_first_ends_nothing(bench: Bench) -> None:
    name = bench.program("slow=0.5")
    bench.start(name)
    bench.services.stop(name)
    with suppress(ServiceCannotAccept, ServiceNotRunning):
        bench.services.stop(name)
    stopped = bench.services.wait(name, ServiceState.STOPPED, SOON)
    assert (stopped.pid, stopped.exit_code) == (None, 0), stopped


def test_a_killed_service_is_stopped_and_a_wait_for_it_fails(bench: Bench) -> None:
    name = bench.program()
    bench.start(name)
    bench.kill(name)
    with pytest.raises(ServiceFailed, match=f"{name}.*1067"):
        while True:
            # As long as the SCM has not noticed, it is told as running.
            bench.services.wait(name, ServiceState.RUNNING, SOON)
    assert bench.services.wait(name, ServiceState.STOPPED, SOON).exit_code == 1067


# Watching


def test_a_watch_tells_of_each_change(bench: Bench) -> None:
    name = bench.program()
    other = bench.program()
    with bench.services.watch([name, other]) as watch:
        bench.start(name)
        assert _states(watch.wait(SOON), name)[-1] is ServiceState.RUNNING
        bench.stop(name)
        assert _states(watch.wait(SOON), name)[-1] is ServiceState.STOPPED
        assert watch.wait(0.1) == []


def test_a_watch_loses_nothing_between_two_waits(bench: Bench) -> None:
    name = bench.program()
    bench.start(name)
    with bench.services.watch([name]) as watch:
        bench.stop(name)
        bench.start(name)
        assert ServiceEvent(name, ServiceState.RUNNING) in watch.wait(SOON)


def test_a_watch_tells_of_a_killed_service_at_once(bench: Bench) -> None:
    name = bench.program()
    bench.start(name)
    with bench.services.watch([name]) as watch:
        bench.kill(name)
        states = _states(watch.wait(SOON), name)
        # The process' end alone, where it is seen before the SCM has noticed it.
        assert states[0] in (None, ServiceState.STOPPED)


def test_a_watch_can_be_waited_for_in_another_thread_and_closed_from_this_one(bench: Bench) -> None:
    name = bench.program()
    heard: list[ServiceEvent] = []

    def listen() -> None:
        while events := watch.wait(10 * SOON):
            heard.extend(events)

    listener = threading.Thread(target=listen)
    with bench.services.watch([name]) as watch:
        listener.start()
        bench.start(name)
        _until(lambda: ServiceEvent(name, ServiceState.RUNNING) in heard)
        bench.stop(name)
        _until(lambda: ServiceEvent(name, ServiceState.STOPPED) in heard)
    listener.join(SOON)
    assert not listener.is_alive()


def test_a_watch_tells_of_a_deletion_and_does_not_hinder_it(bench: Bench) -> None:
    name = bench.program()
    with bench.services.watch([name]) as watch:
        deletion = threading.Thread(target=bench.services.delete, args=[name])
        deletion.start()
        assert watch.wait(SOON) == [ServiceEvent(name, None)]
        deletion.join(SOON)
        assert bench.services.read(name) is None
        bench.services.create(ServiceDefinition(name, (r"C:\k\program.exe",), start=StartType.MANUAL))
        assert bench.read(name).definition.name == name, "which is free while the watch is open"


# Deleting what runs


def test_a_running_service_outlives_its_deletion_until_it_stops(bench: Bench) -> None:
    name = bench.program()
    bench.start(name)
    with pytest.raises(MarkedForDeletion, match=name) as refusal:
        bench.services.delete(name)
    assert refusal.value.code == 1072
    assert bench.services.status(name).state is ServiceState.RUNNING
    bench.services.stop(name)
    _until(lambda: bench.services.read(name) is None)


def test_a_service_that_waits_for_its_deletion_takes_no_change(bench: Bench) -> None:
    definition = bench.definition(command=bench.world.service_command())
    bench.services.create(definition)
    bench.start(definition.name)
    with pytest.raises(MarkedForDeletion):
        bench.services.delete(definition.name)
    with pytest.raises(MarkedForDeletion):
        bench.services.change(replace(definition, start=StartType.DISABLED))
    with pytest.raises(MarkedForDeletion):
        bench.services.create(definition)


def _states(events: Any, name: str) -> list[ServiceState | None]:
    assert {event.name for event in events} == {name}
    return [event.state for event in events]


def _until(condition: Callable[[], bool]) -> None:
    """For what the system tells nobody of."""
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
