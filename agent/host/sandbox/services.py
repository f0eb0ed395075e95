"""The sandbox's service control manager: a document, and processes where programs are really run.

Nothing resident keeps it. Whoever looks at a service first sees whether its process has ended since, and
writes that down; so recovery actions are kept, but nobody acts on them.
"""

import os
import pathlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent.host import commandline, winerror
from agent.host.definitions import NO_PROGRAM, check_service_name, image_path
from agent.host.errors import BadName, HostError, NotAService, NotFound, ServiceFailed, host_error
from agent.host.port import Clock, Watch
from agent.host.sandbox.places import Drive, name_key
from agent.host.sandbox.programs import Programs, can_run, is_ours
from agent.host.sandbox.registry import SandboxEnvironment
from agent.host.sandbox.service_document import (
    ServiceDocument,
    ServiceWatch,
    WatchedService,
    definition_of,
    existing,
    fresh,
    registration,
    run,
    state_of,
    status_of,
    unmarked,
)
from agent.host.sandbox.state import Bell, Document
from agent.host.services import (
    ENDING,
    Control,
    InstalledService,
    ServiceDefinition,
    ServiceEvent,
    ServiceProgram,
    ServiceState,
    ServiceStatus,
    StartType,
)
from agent.host.waiting import FIRST_WORD_SECONDS, wait_for

DELETE_SECONDS = 10.0

_OF_THE_SYSTEM = ("HOME", "LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TMPDIR")
"""Variables without which this system's programs don't run."""


_SCM_HINT_MILLISECONDS = 2000


@dataclass(eq=False, repr=False)
class SandboxServices:
    _document: ServiceDocument
    _directory: pathlib.Path
    _drive: Drive
    _environment: SandboxEnvironment
    _programs: Programs
    _clock: Clock
    run_services: bool = field(kw_only=True)

    def list(self) -> Mapping[str, ServiceStatus]:
        return {record["name"]: status_of(record) for _, record in sorted(self._document.read().items())}

    def read(self, name: str) -> InstalledService | None:
        record = self._document.read().get(name_key(name))
        return InstalledService(definition_of(record), record["image_path"]) if record else None

    def status(self, name: str) -> ServiceStatus:
        return status_of(existing(self._document.read(), "ask for the state of", name))

    def create(self, definition: ServiceDefinition) -> Sequence[str]:
        name = definition.name
        check_service_name("create", name)
        line = image_path("create", definition)
        with self._document.changing() as document:
            if (record := document.get(name_key(name))) is not None:
                code = (
                    winerror.ERROR_SERVICE_MARKED_FOR_DELETE
                    if record["marked"]
                    else winerror.ERROR_SERVICE_EXISTS
                )
                raise _refused("create", name, code)
            _create(document, "create", definition, line)
        return ()

    def change(self, definition: ServiceDefinition) -> Sequence[str]:
        line = image_path("change", definition)
        with self._document.changing() as document:
            _change(document, "change", definition, line)
        return ()

    def restore(self, installed: InstalledService) -> Sequence[str]:
        definition, line = installed.definition, installed.image_path
        with self._document.changing() as document:
            if (record := document.get(name_key(definition.name))) is None:
                _create(document, "restore", definition, line)
                return ()
            present = definition_of(record)
            kept = {field: getattr(present, field) for field in installed.unsupported}
            _change(document, "restore", replace(definition, **kept), line)
        return ()

    def delete(self, name: str) -> None:
        with self._document.changing() as document:
            record = existing(document, "delete", name)
            record["marked"] = True
        if state_of(record) in (ServiceState.RUNNING, ServiceState.PAUSED):
            # No waiting would free the name.
            raise _refused("delete", name, winerror.ERROR_SERVICE_MARKED_FOR_DELETE)
        deadline = self._clock.monotonic() + DELETE_SECONDS
        with closing(self._document.bell()) as bell:
            while name_key(name) in self._document.read():
                left = deadline - self._clock.monotonic()
                if left <= 0:
                    raise _refused("delete", name, winerror.ERROR_SERVICE_MARKED_FOR_DELETE)
                self._document.wait(bell, [name], left)

    def start(self, name: str, arguments: Sequence[str] = ()) -> None:
        document = self._document.read()
        record = unmarked(document, "start", name)
        if record["start"] == StartType.DISABLED.value:
            raise _refused("start", name, winerror.ERROR_SERVICE_DISABLED)
        if state_of(record) is not ServiceState.STOPPED:
            raise _refused("start", name, winerror.ERROR_SERVICE_ALREADY_RUNNING)
        for dependency in _services_of(record):
            self._start_dependency(document, name, dependency)
        with self._document.changing() as document:
            self._launch(unmarked(document, "start", name), arguments)

    def stop(self, name: str, seconds: float | None = None) -> None:  # noqa: ARG002 - it is heard at once
        with self._document.changing() as document:
            record = existing(document, "stop", name)
            state = state_of(record)
            if state is ServiceState.STOPPED:
                raise _refused("stop", name, winerror.ERROR_SERVICE_NOT_ACTIVE)
            if state in (ServiceState.START_PENDING, ServiceState.STOP_PENDING):
                raise _refused("stop", name, winerror.ERROR_SERVICE_CANNOT_ACCEPT_CTRL)
            if dependents := _running_dependents(document, name):
                advice = f"stop {', '.join(dependents)} first"
                raise _refused("stop", name, winerror.ERROR_DEPENDENT_SERVICES_RUNNING, advice)
            _ask_to_stop(record)

    def tell_of_parameters(self, name: str) -> None:
        with self._document.changing() as document:
            record = existing(document, "tell of new parameters", name)
            if state_of(record) is ServiceState.STOPPED:
                raise _refused("tell of new parameters", name, winerror.ERROR_SERVICE_NOT_ACTIVE)
            if state_of(record) is not ServiceState.RUNNING or not record["run"].get("speaks"):
                raise _refused("tell of new parameters", name, winerror.ERROR_SERVICE_CANNOT_ACCEPT_CTRL)
            record["run"]["controls"].append(Control.PARAMETERS_CHANGED.value)

    def wait(self, name: str, state: ServiceState, seconds: float) -> ServiceStatus:
        try:
            with WatchedService(self._document, name) as service:
                return wait_for(service, self._clock, name, state, seconds)
        except ServiceFailed as failure:
            said = self._programs.last_words(name)
            if said is None:
                raise
            advice = "; ".join(filter(None, (failure.advice, said)))
            raise ServiceFailed(failure.action, failure.subject, failure.code, advice) from failure

    def watch(self, names: Iterable[str]) -> Watch[ServiceEvent]:
        return ServiceWatch(self._document, names, self._clock)

    def serve(self, name: str, program: ServiceProgram) -> int:
        return serve(self._document, name, program)

    def _start_dependency(self, document: Document, name: str, dependency: str) -> None:
        record = document.get(name_key(dependency))
        if record is None:
            advice = f"it depends on service {dependency}, which does not exist"
            raise _refused("start", name, winerror.ERROR_SERVICE_DEPENDENCY_DELETED, advice)
        try:
            if state_of(record) is ServiceState.STOPPED:
                self.start(dependency)
            self.wait(dependency, ServiceState.RUNNING, FIRST_WORD_SECONDS)
        except HostError as failure:
            raise _refused("start", name, winerror.ERROR_SERVICE_DEPENDENCY_FAIL, str(failure)) from failure

    def _launch(self, record: Document, arguments: Sequence[str]) -> None:
        if state_of(record) is not ServiceState.STOPPED:
            raise _refused("start", record["name"], winerror.ERROR_SERVICE_ALREADY_RUNNING)
        file, rest = self._command(record)
        if not (self.run_services and can_run(file)):
            record["run"] = run(ServiceState.RUNNING)
            return
        # The document is locked: the program, which may ask at once, finds itself in it.
        process = self._programs.start(record["name"], [file, *rest], self._environment_of(record))
        record["run"] = run(ServiceState.START_PENDING, hint=_SCM_HINT_MILLISECONDS) | {
            "process": process,
            "since": time.time(),
            "speaks": is_ours(file),
            "arguments": list(arguments),
            "controls": [],
        }

    def _command(self, record: Document) -> tuple[str, Sequence[str]]:
        """The operating system's file that the service's program is, and its arguments."""
        line = self._environment.expand(record["image_path"])
        # Of a path without quotes Windows tries what stands before each blank, the shortest first.
        ends = [] if line.startswith('"') else [place for place, letter in enumerate(line) if letter == " "]
        for place in ends:
            if file := self._program(line[:place]):
                return file, commandline.split(f'"" {line[place:]}')[1:]
        program, *arguments = commandline.split(line if line.startswith('"') else f'"{line}"')
        if file := self._program(program):
            return file, arguments
        subject = f"{commandline.split(line)[0]}, the program of service {record['name']}"
        raise NotFound("start", subject, winerror.ERROR_FILE_NOT_FOUND, NO_PROGRAM)

    def _program(self, program: str) -> str | None:
        path = PureWindowsPath(program)
        if not path.drive:
            return program if pathlib.Path(program).is_file() else None
        with suppress(BadName, NotFound):
            place = self._drive.locate("start", path)
            return place.file if place.is_file else None
        return None

    def _environment_of(self, record: Document) -> Mapping[str, str]:
        system = {name: os.environ[name] for name in _OF_THE_SYSTEM if name in os.environ}
        marks = {DIRECTORY_VARIABLE: os.fspath(self._directory), SERVICE_VARIABLE: record["name"]}
        return {**self._environment.expanded(), **record["environment"], **system, **marks}


def _refused(action: str, name: str, code: int, advice: str = "") -> HostError:
    return host_error(action, f"service {name}", code, advice)


def _create(document: Document, action: str, definition: ServiceDefinition, line: str) -> None:
    _check(document, action, definition)
    document[name_key(definition.name)] = fresh() | registration(definition, line)


def _change(document: Document, action: str, definition: ServiceDefinition, line: str) -> None:
    record = unmarked(document, action, definition.name)
    _check(document, action, definition)
    record |= registration(definition, line) | {"name": record["name"]}


def _check(document: Document, action: str, definition: ServiceDefinition) -> None:
    _check_display_name(document, action, definition)
    _check_for_circles(document, action, definition)


def _services_of(record: Document) -> list[str]:
    """What it depends on, load-order groups (+NAME) left out."""
    return [name for name in record["dependencies"] if not name.startswith("+")]


def _running_dependents(document: Document, name: str) -> list[str]:
    return [
        record["name"]
        for record in document.values()
        if name_key(name) in map(name_key, _services_of(record))
        and state_of(record) is not ServiceState.STOPPED
    ]


def _check_display_name(document: Document, action: str, definition: ServiceDefinition) -> None:
    """Services are asked for by either name, so Windows lets none have another's."""
    wanted = name_key(definition.display_name or definition.name)
    for key, record in document.items():
        if key != name_key(definition.name) and wanted in (key, name_key(record["display_name"])):
            advice = f"service {record['name']} has that display name"
            raise _refused(action, definition.name, winerror.ERROR_DUPLICATE_SERVICE_NAME, advice)


def _check_for_circles(document: Document, action: str, definition: ServiceDefinition) -> None:
    reached: set[str] = set()
    names = list(definition.dependencies)
    while names:
        key = name_key(names.pop())
        if key == name_key(definition.name):
            raise _refused(
                action, definition.name, winerror.ERROR_CIRCULAR_DEPENDENCY, "it depends on itself"
            )
        if key not in reached and key in document:
            reached.add(key)
            names += _services_of(document[key])


def _ask_to_stop(record: Document) -> None:
    now = record["run"]
    process = now.get("process")
    if not process:
        record["run"] = run(ServiceState.STOPPED)
    elif now["speaks"]:
        now["controls"].append(Control.STOP.value)
    else:
        now |= run(ServiceState.STOP_PENDING)
        with suppress(ProcessLookupError):
            os.kill(process["pid"], signal.SIGTERM)


DIRECTORY_VARIABLE = "WMCB_SANDBOX"
SERVICE_VARIABLE = "WMCB_SANDBOX_SERVICE"
"""How a program that the sandbox starts finds its sandbox, and knows that it is a service."""
_FAILED = 1
_START_HINT_SECONDS = 30.0
_LONGEST_WAIT_SECONDS = 3600.0


def serve(document: ServiceDocument, name: str, program: ServiceProgram) -> int:
    """Services.serve."""
    own_name = os.environ.get(SERVICE_VARIABLE, "")
    if name_key(own_name) != name_key(name) or name_key(name) not in document.read():
        raise NotAService(
            "run",
            f"service {name}",
            winerror.ERROR_FAILED_SERVICE_CONTROLLER_CONNECT,
            "start it as a service",
        )
    with closing(document.bell()) as bell:
        controls = SandboxControls(document, bell, name)
        exit_code = _FAILED
        try:
            exit_code = program(controls)
        finally:
            controls.stopped(exit_code)
    return exit_code


class SandboxControls:
    """ServiceControls of the port."""

    def __init__(self, document: ServiceDocument, bell: Bell, name: str) -> None:
        self._document = document
        self._bell = bell
        self._key = name_key(name)
        self._checkpoint = 0
        self.arguments: Sequence[str] = tuple(document.read()[self._key]["run"].get("arguments", ()))
        self._report(ServiceState.START_PENDING, hint_seconds=_START_HINT_SECONDS)

    def running(self) -> None:
        self._report(ServiceState.RUNNING)

    def stopping(self, wait_hint_seconds: float) -> None:
        self._report(ServiceState.STOP_PENDING, hint_seconds=wait_hint_seconds)

    def stopped(self, exit_code: int) -> None:
        self._report(ServiceState.STOPPED, own_exit_code=exit_code)

    def next(self, seconds: float | None = None) -> Control | None:
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        while True:
            if (control := self._take()) is not None:
                return control
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._bell.wait(min(left, _LONGEST_WAIT_SECONDS))

    def hand_on(self, take: Callable[[Control], None]) -> None:
        threading.Thread(target=self._hand_on, args=(take,), daemon=True).start()

    def _hand_on(self, take: Callable[[Control], None]) -> None:
        control = None
        while control not in ENDING:
            if (control := self.next()) is not None:
                take(control)

    def _take(self) -> Control | None:
        if not self._document.read()[self._key]["run"]["controls"]:
            return None
        with self._document.changing() as document:
            return Control(document[self._key]["run"]["controls"].pop(0))

    def _report(self, state: ServiceState, *, hint_seconds: float = 0, own_exit_code: int = 0) -> None:
        pending = state in (ServiceState.START_PENDING, ServiceState.STOP_PENDING)
        self._checkpoint = self._checkpoint + 1 if pending else 0
        with self._document.changing() as document:
            document[self._key]["run"] |= {"speaks": True} | run(
                state,
                exit_code=winerror.ERROR_SERVICE_SPECIFIC_ERROR if own_exit_code else 0,
                own_exit_code=own_exit_code,
                checkpoint=self._checkpoint,
                hint=int(hint_seconds * 1000),
            )
