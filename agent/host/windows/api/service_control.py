"""The service control manager's client functions, by pywin32."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import win32service

from agent.host.port import ServiceState, ServiceStatus
from agent.host.windows.api.security import SHUTDOWN, enable_privileges
from agent.host.windows.scm import RecoverySetting, Registration, Setting, SettingValue

if TYPE_CHECKING:
    from _win32typing import PySC_HANDLE


CONNECT = win32service.SC_MANAGER_CONNECT
CREATE_SERVICE = win32service.SC_MANAGER_CREATE_SERVICE
ENUMERATE = win32service.SC_MANAGER_ENUMERATE_SERVICE

_NO_PASSWORD = ""
"""Said of an account that has none; None is the password that the service's account has already."""

_ALL_SERVICES = (win32service.SERVICE_WIN32, win32service.SERVICE_STATE_ALL, None)


class ServiceHandle:
    """An open service."""

    def __init__(self, handle: PySC_HANDLE, name: str) -> None:
        self._handle = handle
        self._name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        win32service.CloseServiceHandle(self._handle)

    def registration(self) -> Registration:
        _, start, _, image_path, _, _, dependencies, account, display_name = win32service.QueryServiceConfig(
            self._handle
        )
        return Registration(
            name=self._name,
            display_name=display_name or "",
            start=start,
            image_path=image_path or "",
            dependencies=tuple(dependencies or ()),
            account=account or "",
        )

    def register(self, registration: Registration) -> None:
        account = registration.account
        # fmt: off
        win32service.ChangeServiceConfig(
            self._handle,
            win32service.SERVICE_NO_CHANGE,
            win32service.SERVICE_NO_CHANGE if registration.start is None else registration.start,
            win32service.SERVICE_NO_CHANGE,
            registration.image_path, None, False, registration.dependencies,
            account, _NO_PASSWORD if _is_of_windows(account) else None, registration.display_name,
        )
        # fmt: on

    def setting(self, setting: Setting) -> SettingValue:
        found: Any = win32service.QueryServiceConfig2(self._handle, setting)
        if setting is Setting.DESCRIPTION:
            return found or ""
        if setting is Setting.RECOVERY:
            actions = tuple((kind, _unsigned(milliseconds)) for kind, milliseconds in found["Actions"])
            return RecoverySetting(actions, _unsigned(found["ResetPeriod"]))
        return int(found)

    def set(self, setting: Setting, value: SettingValue) -> None:
        win32service.ChangeServiceConfig2(self._handle, setting, _level_data(value))

    def status(self) -> ServiceStatus:
        return _service_status(win32service.QueryServiceStatusEx(self._handle))

    def start(self, arguments: Sequence[str]) -> None:
        win32service.StartService(self._handle, arguments)

    def control(self, control: int) -> None:
        win32service.ControlService(self._handle, control)

    def delete(self) -> None:
        win32service.DeleteService(self._handle)


class Manager:
    """A connection to this machine's service control manager."""

    def __init__(self, access: int) -> None:
        self._handle = win32service.OpenSCManager(None, None, access)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        win32service.CloseServiceHandle(self._handle)

    def open(self, name: str, access: int) -> ServiceHandle:
        return ServiceHandle(win32service.OpenService(self._handle, name, access), name)

    def create(self, registration: Registration, access: int) -> ServiceHandle:
        # Of a new service all of these are given.
        assert registration.display_name is not None
        assert registration.start is not None
        assert registration.image_path is not None
        # fmt: off
        handle = win32service.CreateService(
            self._handle, registration.name, registration.display_name, access,
            win32service.SERVICE_WIN32_OWN_PROCESS, registration.start, win32service.SERVICE_ERROR_NORMAL,
            registration.image_path, None, False, registration.dependencies or (), registration.account, None,
        )
        # fmt: on
        return ServiceHandle(handle, registration.name)

    def services(self) -> Iterator[tuple[str, ServiceStatus]]:
        for found in win32service.EnumServicesStatusEx(self._handle, *_ALL_SERVICES):
            yield found["ServiceName"], _service_status(found)


def _service_status(found: Any) -> ServiceStatus:
    return ServiceStatus(
        state=ServiceState(found["CurrentState"]),
        pid=found["ProcessId"] or None,
        exit_code=_unsigned(found["Win32ExitCode"]),
        service_exit_code=_unsigned(found["ServiceSpecificExitCode"]),
        checkpoint=_unsigned(found["CheckPoint"]),
        wait_hint_milliseconds=_unsigned(found["WaitHint"]),
    )


def _is_of_windows(account: str | None) -> bool:
    """Whether it is one of Windows' own accounts for services."""
    return account is not None and account.casefold().startswith(("localsystem", "nt authority\\"))


def _level_data(value: SettingValue) -> object:
    if not isinstance(value, RecoverySetting):
        return value
    if any(kind == win32service.SC_ACTION_REBOOT for kind, _ in value.actions):
        # The right to have the SCM reboot the machine takes the right to reboot it.
        enable_privileges(SHUTDOWN)
    # An empty tuple takes the actions away; None would leave them as they are, as it does the other two.
    return {
        "ResetPeriod": _signed(value.reset_seconds),
        "RebootMsg": None,
        "Command": None,
        "Actions": tuple((kind, _signed(milliseconds)) for kind, milliseconds in value.actions),
    }


def _unsigned(number: int) -> int:
    """A DWORD as it is; pywin32 reads it as a signed number."""
    return number & 0xFFFF_FFFF


def _signed(number: int) -> int:
    """A DWORD as pywin32 takes it where it reads a signed number: INFINITE is -1."""
    return number - (1 << 32) if number >= 1 << 31 else number
