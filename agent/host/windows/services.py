"""Services, as the service control manager keeps them, and what is asked of it: tests can stand in for it.

The numbers are those of winsvc.h.
"""

import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, NamedTuple, Protocol, Self

from agent.host import commandline, winerror
from agent.host.definitions import NO_PROGRAM, check_service_name, differing_fields, image_path
from agent.host.errors import AccessDenied, HostError, NotFound, host_error
from agent.host.port import Clock, Watch
from agent.host.services import (
    Control,
    InstalledService,
    Recovery,
    RecoveryAction,
    ServiceDefinition,
    ServiceEvent,
    ServiceProgram,
    ServiceState,
    ServiceStatus,
    SidType,
    StartType,
)
from agent.host.waiting import ServiceView, stopped_without_a_word, wait_for
from agent.host.windows.failure import Win32Error, failed, telling

QUERY_CONFIG = 0x0001
CHANGE_CONFIG = 0x0002
QUERY_STATUS = 0x0004
START = 0x0010
STOP = 0x0020
CONTINUE = 0x0040
"""SERVICE_PAUSE_CONTINUE, and new parameters"""
DELETE = 0x1_0000

DELETE_SECONDS = 10.0
"""How long others may keep a handle to a deleted service: an open services.msc does so until it is closed."""
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.5

_CHANGING = QUERY_CONFIG | CHANGE_CONFIG | START
"""The last, because recovery actions may have the SCM start the service again."""

_UP = {
    ServiceState.RUNNING,
    ServiceState.PAUSED,
    ServiceState.PAUSE_PENDING,
    ServiceState.CONTINUE_PENDING,
}
"""Where a service stays that nobody asks to stop. NSSM pauses one whose program ends again and again."""

_NO_PROGRAM = {winerror.ERROR_FILE_NOT_FOUND, winerror.ERROR_PATH_NOT_FOUND}
_UNKNOWN = {winerror.ERROR_CALL_NOT_IMPLEMENTED, winerror.ERROR_INVALID_LEVEL}
"""An info level that this SCM lacks."""
_NOT_LOADED = frozenset(
    {
        winerror.ERROR_FILE_NOT_FOUND,
        winerror.ERROR_PATH_NOT_FOUND,
        winerror.ERROR_MOD_NOT_FOUND,
        winerror.ERROR_BAD_EXE_FORMAT,
        *range(winerror.ERROR_RESOURCE_DATA_NOT_FOUND, winerror.ERROR_RESOURCE_LANG_NOT_FOUND + 1),
        *range(winerror.ERROR_MUI_FILE_NOT_FOUND, winerror.ERROR_MUI_INTLSETTINGS_INVALID_LOCALE_NAME + 1),
    }
)
"""Of a description that lies in a DLL, where that or its resource is missing."""
_AUTOMATIC, _MANUAL, _DISABLED = 2, 3, 4
# fmt: off
_START_NUMBERS = {
    StartType.AUTOMATIC: _AUTOMATIC, StartType.DELAYED: _AUTOMATIC, StartType.MANUAL: _MANUAL,
    StartType.DISABLED: _DISABLED,
}
# fmt: on
_START_TYPES = {_MANUAL: StartType.MANUAL, _DISABLED: StartType.DISABLED}


class Setting(enum.IntEnum):
    """Info levels of ChangeServiceConfig2: a Windows may not know some of them."""

    DESCRIPTION = 1
    RECOVERY = 2
    DELAYED = 3
    ON_ERROR_EXIT = 4
    SID_TYPE = 5
    PRESHUTDOWN = 7


class RecoverySetting(NamedTuple):
    actions: tuple[tuple[int, int], ...]
    """SC_ACTION_TYPE and milliseconds."""
    reset_seconds: int


SettingValue = str | int | bool | RecoverySetting


@dataclass(frozen=True, slots=True)
class Registration:
    """What CreateService and ChangeServiceConfig take. In a change, None leaves a part as it is."""

    name: str
    display_name: str | None
    start: int | None
    image_path: str | None
    dependencies: tuple[str, ...] | None
    account: str | None


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """What only the service's registry key tells."""

    environment: Mapping[str, str]
    dependencies: tuple[str, ...]
    image_path: str
    """Word for word: QueryServiceConfig tells it with its variables expanded."""


class OpenService(Protocol):
    """An open handle. Every method raises Win32Error, as those of the manager do."""

    def registration(self) -> Registration: ...
    def register(self, registration: Registration) -> None:
        """ChangeServiceConfig."""

    def setting(self, setting: Setting) -> SettingValue: ...
    def set(self, setting: Setting, value: SettingValue) -> None: ...
    def status(self) -> ServiceStatus: ...
    def start(self, arguments: Sequence[str]) -> None: ...
    def control(self, control: int) -> None: ...
    def delete(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


class ServiceControlManager(Protocol):
    def open(self, name: str, access: int) -> OpenService: ...
    def create(self, registration: Registration, access: int) -> OpenService: ...
    def list(self) -> Mapping[str, ServiceStatus]: ...
    def key(self, name: str) -> ServiceKey: ...
    def set_environment(self, name: str, environment: Mapping[str, str]) -> None: ...


_DEFAULTS: dict[Setting, SettingValue] = {
    Setting.DESCRIPTION: "",
    Setting.RECOVERY: RecoverySetting((), 0),
    Setting.DELAYED: False,
    Setting.ON_ERROR_EXIT: False,
    Setting.SID_TYPE: SidType.NONE.value,
}
"""What a service has that was just registered, and what is told where the SCM doesn't know the question."""

_REGISTERED = frozenset({"command", "display_name", "start", "dependencies", "account"})
"""Fields of the definition that are parts of the registration itself."""

# fmt: off
_FIELDS = {
    Setting.DESCRIPTION: "description", Setting.RECOVERY: "recovery", Setting.DELAYED: "start",
    Setting.ON_ERROR_EXIT: "recovery", Setting.SID_TYPE: "sid_type",
    Setting.PRESHUTDOWN: "preshutdown_milliseconds",
}
# fmt: on


@dataclass(eq=False, repr=False)
class WindowsServices:
    """Services of the port. The functions at the end are the parts that only Windows can run."""

    _scm: ServiceControlManager
    _clock: Clock
    _lives: Callable[[int], bool]
    _view: Callable[[str], AbstractContextManager[ServiceView]]
    watch: Callable[[Iterable[str]], Watch[ServiceEvent]]
    serve: Callable[[str, ServiceProgram], int]

    def list(self) -> Mapping[str, ServiceStatus]:
        with telling("list", "services"):
            return self._scm.list()

    def read(self, name: str) -> InstalledService | None:
        with (
            suppress(NotFound),
            telling("read", _subject(name)),
            self._scm.open(name, QUERY_CONFIG) as service,
        ):
            return self._read(name, service)
        return None

    def status(self, name: str) -> ServiceStatus:
        status = self._told(name)
        if status.state is ServiceState.STOP_PENDING and not (status.pid and self._lives(status.pid)):
            # Its process has ended without a word. The SCM notices that later, and Wine's never.
            return stopped_without_a_word(status)
        return status

    def _told(self, name: str) -> ServiceStatus:
        """By the SCM."""
        with telling("ask for the state of", _subject(name)), self._scm.open(name, QUERY_STATUS) as service:
            return service.status()

    def create(self, definition: ServiceDefinition) -> Sequence[str]:
        check_service_name("create", definition.name)
        return self._create(definition, image_path("create", definition))

    def change(self, definition: ServiceDefinition) -> Sequence[str]:
        line = image_path("change", definition)
        with (
            telling("change", _subject(definition.name)),
            self._scm.open(definition.name, _CHANGING) as service,
        ):
            present = self._read(definition.name, service)
            return self._make(service, present, definition, differing_fields(definition, present), line)

    def restore(self, installed: InstalledService) -> Sequence[str]:
        wanted, line = installed.definition, installed.image_path
        with (
            suppress(NotFound),
            telling("restore", _subject(wanted.name)),
            self._scm.open(wanted.name, _CHANGING) as service,
        ):
            present = self._read(wanted.name, service)
            fields = {*differing_fields(wanted, present)} - {"command", *installed.unsupported}
            if line != present.image_path:
                fields.add("command")
            return self._make(service, present, wanted, fields, line)
        return self._create(wanted, line)

    def delete(self, name: str) -> None:
        with telling("delete", _subject(name)):
            with self._scm.open(name, DELETE | QUERY_STATUS) as service:
                try:
                    service.delete()
                except Win32Error as failure:
                    if failure.winerror != winerror.ERROR_SERVICE_MARKED_FOR_DELETE:
                        raise
                status = service.status()
                # Of a process that has ended the SCM may only not know yet.
                if status.state in _UP and status.pid and self._lives(status.pid):
                    # No waiting would free the name.
                    raise failed(winerror.ERROR_SERVICE_MARKED_FOR_DELETE, "DeleteService")
            self._wait_until_free(name)

    def start(self, name: str, arguments: Sequence[str] = ()) -> None:
        with telling("start", _subject(name)), self._scm.open(name, START) as service:
            try:
                service.start(arguments)
            except Win32Error as failure:
                if failure.winerror in _NO_PROGRAM:
                    raise host_error(
                        "start", self._program_of(name), failure.winerror, NO_PROGRAM
                    ) from failure
                raise

    def _program_of(self, name: str) -> str:
        """It may be another than its reader has in mind: a service with an output has wmcb-log.exe."""
        line = self._scm.key(name).image_path
        program = f"{commandline.split(line)[0]}, " if line and line.strip() else ""
        return f"{program}the program of service {name}"

    def stop(self, name: str, seconds: float | None = None) -> None:
        # The SCM waits for a process that does not hear it: half a minute on Windows, and under Wine one.
        outcome: list[BaseException | None] = []

        def ask() -> None:
            try:
                self._ask_to_stop(name)
            except BaseException as fault:  # noqa: BLE001 - it is raised below
                outcome.append(fault)
            else:
                outcome.append(None)

        asking = Thread(target=ask, daemon=True)
        asking.start()
        asking.join(seconds)
        if not outcome:
            raise host_error("stop", _subject(name), winerror.ERROR_SERVICE_REQUEST_TIMEOUT)
        if outcome[0] is not None:
            raise outcome[0]

    def _ask_to_stop(self, name: str) -> None:
        with telling("stop", _subject(name)), self._scm.open(name, STOP) as service:
            try:
                service.control(Control.STOP.value)
            except Win32Error as failure:
                # Its process has ended, and the SCM has only seen that its pipe is broken.
                if failure.winerror != winerror.ERROR_BROKEN_PIPE:
                    raise
                raise failed(winerror.ERROR_SERVICE_NOT_ACTIVE, "ControlService") from failure

    def tell_of_parameters(self, name: str) -> None:
        with telling("tell of new parameters", _subject(name)), self._scm.open(name, CONTINUE) as service:
            service.control(Control.PARAMETERS_CHANGED.value)

    def wait(self, name: str, state: ServiceState, seconds: float) -> ServiceStatus:
        # As often as not it is so, and a watch is longer in the making. That knows how a process has ended.
        if (status := self._told(name)).state is state:
            return status
        with self._view(name) as view:
            return wait_for(view, self._clock, name, state, seconds)

    def _create(self, definition: ServiceDefinition, line: str) -> Sequence[str]:
        subject = _subject(definition.name)
        access = QUERY_CONFIG | CHANGE_CONFIG | START | DELETE
        registration = _registration(definition, _REGISTERED, line)
        with telling("create", subject), self._scm.create(registration, access) as service:
            try:
                unsupported = _set(service, _DEFAULTS, _settings(definition))
                if definition.environment:
                    self._scm.set_environment(definition.name, definition.environment)
            except BaseException:
                # What made the creation fail is what to tell, not that undoing it failed too.
                with suppress(HostError), telling("delete", subject):
                    service.delete()
                raise
        return unsupported

    def _make(
        self,
        service: OpenService,
        present: InstalledService,
        wanted: ServiceDefinition,
        fields: Collection[str],
        line: str,
    ) -> Sequence[str]:
        if registered := _REGISTERED.intersection(fields):
            service.register(_registration(wanted, registered, line))
        unsupported = _set(service, _settings(present.definition), _settings(wanted))
        if "environment" in fields:
            self._scm.set_environment(wanted.name, wanted.environment)
        return unsupported

    def _read(self, name: str, service: OpenService) -> InstalledService:
        registration = service.registration()
        settings, unsupported = _ask(service)
        key = ServiceKey({}, registration.dependencies or (), registration.image_path or "")
        try:
            with telling("read", f"the registry key of service {name}"):
                key = self._scm.key(name)
        except AccessDenied:
            # Its environment may hold secrets; then only administrators read the key. None may mean that the
            # SCM does not tell them: Wine's does not.
            unsupported += ["environment"] if registration.dependencies else ["environment", "dependencies"]
        return InstalledService(
            definition=_definition(registration, settings, key),
            image_path=key.image_path,
            unsupported=tuple(unsupported),
        )

    def _wait_until_free(self, name: str) -> None:
        """A deleted service lives until the last handle is closed. No event tells of that."""
        deadline = self._clock.monotonic() + DELETE_SECONDS
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                self._scm.open(name, QUERY_STATUS).close()
            except Win32Error as failure:
                if failure.winerror == winerror.ERROR_SERVICE_DOES_NOT_EXIST:
                    return
                if failure.winerror != winerror.ERROR_SERVICE_MARKED_FOR_DELETE:
                    raise
            if self._clock.monotonic() + pause > deadline:
                raise failed(winerror.ERROR_SERVICE_MARKED_FOR_DELETE, "OpenServiceW")
            self._clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def _subject(name: str) -> str:
    return f"service {name}"


def _registration(definition: ServiceDefinition, fields: Collection[str], line: str) -> Registration:
    """What of these fields CreateService and ChangeServiceConfig set."""
    return Registration(
        name=definition.name,
        display_name=definition.display_name or definition.name if "display_name" in fields else None,
        start=_START_NUMBERS[definition.start] if "start" in fields else None,
        image_path=line if "command" in fields else None,
        dependencies=definition.dependencies if "dependencies" in fields else None,
        account=definition.account if "account" in fields else None,
    )


def _settings(definition: ServiceDefinition) -> dict[Setting, SettingValue]:
    """What ChangeServiceConfig2 sets."""
    recovery = definition.recovery
    actions = tuple((action.value, milliseconds) for action, milliseconds in recovery.actions)
    settings: dict[Setting, SettingValue] = {
        Setting.DESCRIPTION: definition.description,
        Setting.RECOVERY: RecoverySetting(actions, recovery.reset_seconds),
        Setting.ON_ERROR_EXIT: recovery.on_error_exit,
        Setting.SID_TYPE: definition.sid_type.value,
    }
    if _START_NUMBERS[definition.start] == _AUTOMATIC:
        # Of a service that doesn't start by itself the SCM refuses to hear of a delay.
        settings[Setting.DELAYED] = definition.start is StartType.DELAYED
    if definition.preshutdown_milliseconds is not None:
        settings[Setting.PRESHUTDOWN] = definition.preshutdown_milliseconds
    return settings


def _set(
    service: OpenService, present: Mapping[Setting, SettingValue], wanted: Mapping[Setting, SettingValue]
) -> list[str]:
    """Returns the fields that the SCM does not know, or takes but cannot tell."""
    unsupported: list[str] = []
    for setting, value in wanted.items():
        if present.get(setting) == value:
            continue
        try:
            service.set(setting, value)
            service.setting(setting)
        except Win32Error as failure:
            _note_unknown(setting, failure, unsupported)
    return unsupported


def _ask(service: OpenService) -> tuple[dict[Setting, SettingValue], list[str]]:
    """All settings, and the fields that the SCM does not know."""
    settings, unsupported = dict(_DEFAULTS), list[str]()
    for setting in Setting:
        try:
            settings[setting] = service.setting(setting)
        except Win32Error as failure:
            if setting is not Setting.DESCRIPTION or failure.winerror not in _NOT_LOADED:
                _note_unknown(setting, failure, unsupported)
    return settings, unsupported


def _note_unknown(setting: Setting, failure: Win32Error, unsupported: list[str]) -> None:
    if failure.winerror not in _UNKNOWN:
        raise failure
    if (field := _FIELDS[setting]) not in unsupported:
        unsupported.append(field)


def _definition(
    registration: Registration, settings: Mapping[Setting, Any], key: ServiceKey
) -> ServiceDefinition:
    start = _START_TYPES.get(registration.start or 0, StartType.AUTOMATIC)
    if start is StartType.AUTOMATIC and settings[Setting.DELAYED]:
        start = StartType.DELAYED
    actions, reset_seconds = settings[Setting.RECOVERY]
    return ServiceDefinition(
        name=registration.name,
        command=commandline.split(key.image_path) if key.image_path else (),
        display_name=registration.display_name or "",
        description=settings[Setting.DESCRIPTION],
        start=start,
        dependencies=key.dependencies,
        account=registration.account or "LocalSystem",
        recovery=Recovery(
            actions=tuple((RecoveryAction(kind), milliseconds) for kind, milliseconds in actions),
            reset_seconds=reset_seconds,
            on_error_exit=bool(settings[Setting.ON_ERROR_EXIT]),
        ),
        environment=dict(key.environment),
        preshutdown_milliseconds=settings.get(Setting.PRESHUTDOWN),
        sid_type=SidType(settings[Setting.SID_TYPE]),
    )
