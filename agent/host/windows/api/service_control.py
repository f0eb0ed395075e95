"""The service control manager's client functions (advapi32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes
from typing import TYPE_CHECKING, Any, Self

from agent.host.port import ServiceState, ServiceStatus
from agent.host.windows.api.binding import dll, succeeding
from agent.host.windows.api.security import SHUTDOWN, enable_privileges
from agent.host.windows.failure import Win32Failure
from agent.host.windows.scm import RecoverySetting, Registration, Setting, SettingValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CONNECT = 0x0001
CREATE_SERVICE = 0x0002
ENUMERATE = 0x0004
_OWN_PROCESS = 0x10
_ANY_WIN32 = 0x30
_IN_ANY_STATE = 3
_LOG_ERRORS = 1
_KEEP = 0xFFFF_FFFF
_REBOOT = 2
_NO_PASSWORD = ""
"""Said of an account that has none; NULL is the password that the service's account has already."""
_PROCESS_INFO = 0
_LIST_BUFFER = 256 * 1024
"""The most that EnumServicesStatusEx takes; all services of a server fit."""
_MORE_DATA = 234
_INSUFFICIENT_BUFFER = 122

_advapi32 = dll("advapi32")
_HANDLE = wintypes.HANDLE
_DWORD = wintypes.DWORD
_TEXT = wintypes.LPCWSTR
_POINTER = ctypes.c_void_p

_open_manager = succeeding(_advapi32, "OpenSCManagerW", _HANDLE, _TEXT, _TEXT, _DWORD)
_open_service = succeeding(_advapi32, "OpenServiceW", _HANDLE, _HANDLE, _TEXT, _DWORD)
_close = succeeding(_advapi32, "CloseServiceHandle", wintypes.BOOL, _HANDLE)
# fmt: off
_create = succeeding(
    _advapi32, "CreateServiceW", _HANDLE,
    _HANDLE, _TEXT, _TEXT, _DWORD, _DWORD, _DWORD, _DWORD, _TEXT, _TEXT, _POINTER, _POINTER, _TEXT, _TEXT,
)
_change = succeeding(
    _advapi32, "ChangeServiceConfigW", wintypes.BOOL,
    _HANDLE, _DWORD, _DWORD, _DWORD, _TEXT, _TEXT, _POINTER, _POINTER, _TEXT, _TEXT, _TEXT,
)
_query = succeeding(
    _advapi32, "QueryServiceConfigW", wintypes.BOOL, _HANDLE, _POINTER, _DWORD, ctypes.POINTER(_DWORD)
)
_query_level = succeeding(
    _advapi32, "QueryServiceConfig2W", wintypes.BOOL,
    _HANDLE, _DWORD, _POINTER, _DWORD, ctypes.POINTER(_DWORD),
)
_change_level = succeeding(_advapi32, "ChangeServiceConfig2W", wintypes.BOOL, _HANDLE, _DWORD, _POINTER)
_query_status = succeeding(
    _advapi32, "QueryServiceStatusEx", wintypes.BOOL,
    _HANDLE, ctypes.c_int, _POINTER, _DWORD, ctypes.POINTER(_DWORD),
)
_start = succeeding(
    _advapi32, "StartServiceW", wintypes.BOOL, _HANDLE, _DWORD, ctypes.POINTER(wintypes.LPWSTR)
)
_control = succeeding(_advapi32, "ControlService", wintypes.BOOL, _HANDLE, _DWORD, _POINTER)
_delete = succeeding(_advapi32, "DeleteService", wintypes.BOOL, _HANDLE)
_enumerate = succeeding(
    _advapi32, "EnumServicesStatusExW", wintypes.BOOL,
    _HANDLE, ctypes.c_int, _DWORD, _DWORD, _POINTER, _DWORD,
    ctypes.POINTER(_DWORD), ctypes.POINTER(_DWORD), ctypes.POINTER(_DWORD), _TEXT,
)
# fmt: on


class _Configuration(ctypes.Structure):
    """QUERY_SERVICE_CONFIGW"""

    _fields_ = (
        ("type", _DWORD),
        ("start", _DWORD),
        ("error_control", _DWORD),
        ("image_path", wintypes.LPWSTR),
        ("group", wintypes.LPWSTR),
        ("tag", _DWORD),
        ("dependencies", _POINTER),
        ("account", wintypes.LPWSTR),
        ("display_name", wintypes.LPWSTR),
    )


class StatusProcess(ctypes.Structure):
    """SERVICE_STATUS_PROCESS"""

    _fields_ = (
        ("type", _DWORD),
        ("state", _DWORD),
        ("accepted", _DWORD),
        ("exit_code", _DWORD),
        ("service_exit_code", _DWORD),
        ("checkpoint", _DWORD),
        ("wait_hint", _DWORD),
        ("pid", _DWORD),
        ("flags", _DWORD),
    )


class _Entry(ctypes.Structure):
    """ENUM_SERVICE_STATUS_PROCESSW"""

    _fields_ = (("name", wintypes.LPWSTR), ("display_name", wintypes.LPWSTR), ("status", StatusProcess))


class _Text(ctypes.Structure):
    """SERVICE_DESCRIPTIONW"""

    _fields_ = (("value", wintypes.LPWSTR),)


class _Number(ctypes.Structure):
    """What the other levels have in common: their structures hold one DWORD"""

    _fields_ = (("value", _DWORD),)


class _Action(ctypes.Structure):
    """SC_ACTION"""

    _fields_ = (("type", ctypes.c_int), ("milliseconds", _DWORD))


class _FailureActions(ctypes.Structure):
    """SERVICE_FAILURE_ACTIONSW"""

    _fields_ = (
        ("reset_seconds", _DWORD),
        ("reboot_message", wintypes.LPWSTR),
        ("command", wintypes.LPWSTR),
        ("count", _DWORD),
        ("actions", ctypes.POINTER(_Action)),
    )


class ServiceHandle:
    """An open service."""

    def __init__(self, handle: int, name: str) -> None:
        self.value = handle
        self._name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        _close(self.value)

    def registration(self) -> Registration:
        buffer = _filled(lambda data, size, needed: _query(self.value, data, size, needed))
        found = _Configuration.from_buffer(buffer)
        return Registration(
            name=self._name,
            display_name=found.display_name or "",
            start=found.start,
            image_path=found.image_path or "",
            dependencies=tuple(_texts(found.dependencies)),
            account=found.account or "",
        )

    def register(self, registration: Registration) -> None:
        account = registration.account
        start = _KEEP if registration.start is None else registration.start
        dependencies = registration.dependencies
        # fmt: off
        _change(
            self.value, _KEEP, start, _KEEP, registration.image_path, None, None,
            None if dependencies is None else _text_list(dependencies),
            account, _NO_PASSWORD if _is_of_windows(account) else None, registration.display_name,
        )
        # fmt: on

    def setting(self, setting: Setting) -> SettingValue:
        buffer = _filled(lambda data, size, needed: _query_level(self.value, setting, data, size, needed))
        if setting is Setting.DESCRIPTION:
            return _Text.from_buffer(buffer).value or ""
        if setting is Setting.RECOVERY:
            found = _FailureActions.from_buffer(buffer)
            # Without actions the pointer is NULL, which cannot be sliced.
            actions = found.actions[: found.count] if found.count else []
            pairs = tuple((action.type, action.milliseconds) for action in actions)
            return RecoverySetting(pairs, found.reset_seconds)
        return int(_Number.from_buffer(buffer).value)

    def set(self, setting: Setting, value: SettingValue) -> None:
        if isinstance(value, RecoverySetting) and any(kind == _REBOOT for kind, _ in value.actions):
            # Whoever has the SCM reboot the machine must be allowed to reboot it.
            enable_privileges(SHUTDOWN)
        _change_level(self.value, setting, ctypes.byref(_level_data(value)))

    def status(self) -> ServiceStatus:
        found, needed = StatusProcess(), _DWORD()
        _query_status(self.value, _PROCESS_INFO, ctypes.byref(found), ctypes.sizeof(found), needed)
        return service_status(found)

    def start(self, arguments: Sequence[str]) -> None:
        _start(self.value, len(arguments), (wintypes.LPWSTR * len(arguments))(*arguments))

    def control(self, control: int) -> None:
        # SERVICE_STATUS: what the service answered is asked for by QueryServiceStatusEx instead.
        _control(self.value, control, ctypes.byref((_DWORD * 7)()))

    def delete(self) -> None:
        _delete(self.value)


class Manager:
    """A connection to this machine's service control manager."""

    def __init__(self, access: int) -> None:
        self._handle = _open_manager(None, None, access)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _close(self._handle)

    def open(self, name: str, access: int) -> ServiceHandle:
        return ServiceHandle(_open_service(self._handle, name, access), name)

    def create(self, registration: Registration, access: int) -> ServiceHandle:
        # fmt: off
        handle = _create(
            self._handle, registration.name, registration.display_name, access,
            _OWN_PROCESS, registration.start, _LOG_ERRORS, registration.image_path,
            None, None, _text_list(registration.dependencies or ()), registration.account, None,
        )
        # fmt: on
        return ServiceHandle(handle, registration.name)

    def services(self) -> Iterator[tuple[str, ServiceStatus]]:
        resume = _DWORD()
        while True:
            buffer = ctypes.create_string_buffer(_LIST_BUFFER)
            needed, count = _DWORD(), _DWORD()
            more = False
            try:
                # fmt: off
                _enumerate(
                    self._handle, _PROCESS_INFO, _ANY_WIN32, _IN_ANY_STATE, buffer, _LIST_BUFFER,
                    needed, count, resume, None,
                )
                # fmt: on
            except Win32Failure as failure:
                if failure.code != _MORE_DATA:
                    raise
                more = True
            for entry in (_Entry * count.value).from_buffer(buffer):
                yield entry.name, service_status(entry.status)
            if not more:
                return


def service_status(found: StatusProcess) -> ServiceStatus:
    return ServiceStatus(
        state=ServiceState(found.state),
        pid=found.pid or None,
        exit_code=found.exit_code,
        service_exit_code=found.service_exit_code,
        checkpoint=found.checkpoint,
        wait_hint_milliseconds=found.wait_hint,
    )


def _is_of_windows(account: str | None) -> bool:
    """Whether it is one of Windows' own accounts for services."""
    return account is not None and account.casefold().startswith(("localsystem", "nt authority\\"))


def _level_data(value: SettingValue) -> ctypes.Structure:
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, RecoverySetting):
        # An array that is there but empty takes the actions away; NULL would leave them as they are.
        actions = (_Action * max(1, len(value.actions)))(*(_Action(*action) for action in value.actions))
        return _FailureActions(value.reset_seconds, None, None, len(value.actions), actions)
    return _Number(value)


def _filled(ask: Callable[[Any, int, Any], object]) -> ctypes.Array[ctypes.c_char]:
    """The answer of a function that says how large a buffer it needs."""
    needed = _DWORD(1024)
    while True:
        size = needed.value
        buffer = ctypes.create_string_buffer(size)
        try:
            ask(buffer, size, needed)
        except Win32Failure as failure:
            if failure.code != _INSUFFICIENT_BUFFER or needed.value <= size:
                raise
        else:
            return buffer


def _text_list(texts: Sequence[str]) -> ctypes.Array[ctypes.c_wchar]:
    """Ended by an empty text; so none at all takes away what was there."""
    return ctypes.create_unicode_buffer("".join(f"{text}\0" for text in texts))


def _texts(address: int | None) -> Iterator[str]:
    while address and (text := ctypes.wstring_at(address)):
        yield text
        address += (len(text) + 1) * ctypes.sizeof(ctypes.c_wchar)
