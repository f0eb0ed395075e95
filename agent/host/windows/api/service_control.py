"""The service control manager's client functions, by pywin32."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import win32service

from agent.host.services import ServiceState, ServiceStatus
from agent.host.windows.api.security import SHUTDOWN, enable_privileges
from agent.host.windows.services import RecoverySetting, Registration, Setting, SettingValue

if TYPE_CHECKING:
    from _win32typing import PySC_HANDLE

import winreg
from collections.abc import Mapping
from contextlib import suppress

from agent.host.protection import SERVICE_KEY
from agent.host.windows.api.security import DACL, OWNER, PROTECTED_DACL, descriptor
from agent.host.windows.services import ServiceKey

CONNECT = win32service.SC_MANAGER_CONNECT
CREATE_SERVICE = win32service.SC_MANAGER_CREATE_SERVICE
ENUMERATE = win32service.SC_MANAGER_ENUMERATE_SERVICE

_NO_PASSWORD = ""
"""Said of an account that has none; None is the password that the service's account has already."""

_ALL_SERVICES = (win32service.SERVICE_WIN32, win32service.SERVICE_STATE_ALL, None)


class ServiceHandle(AbstractContextManager["ServiceHandle"]):
    """An open service."""

    def __init__(self, handle: PySC_HANDLE, name: str) -> None:
        self._handle = handle
        self._name = name

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


class Manager(AbstractContextManager["Manager"]):
    """A connection to this machine's service control manager."""

    def __init__(self, access: int) -> None:
        self._handle = win32service.OpenSCManager(None, None, access)

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


_WRITE_DAC = 0x4_0000
_WRITE_OWNER = 0x8_0000
_SERVICES = "SYSTEM\\CurrentControlSet\\Services\\"


class LocalServiceControlManager:
    """Connects for each question: that is quick, and a connection kept would not survive everything."""

    def open(self, name: str, access: int) -> ServiceHandle:
        with Manager(CONNECT) as manager:
            return manager.open(name, access)

    def create(self, registration: Registration, access: int) -> ServiceHandle:
        with Manager(CONNECT | CREATE_SERVICE) as manager:
            return manager.create(registration, access)

    def list(self) -> Mapping[str, ServiceStatus]:
        with Manager(CONNECT | ENUMERATE) as manager:
            return dict(manager.services())

    def key(self, name: str) -> ServiceKey:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _SERVICES + name) as key:
            pairs = (line.partition("=") for line in _strings(key, "Environment"))
            services = _strings(key, "DependOnService")
            groups = _strings(key, "DependOnGroup")
            image_path = _text(key, "ImagePath")
        return ServiceKey(
            environment={variable: value for variable, _, value in pairs},
            dependencies=(*services, *(f"+{group}" for group in groups)),
            image_path=image_path,
        )

    def set_environment(self, name: str, environment: Mapping[str, str]) -> None:
        import win32api  # noqa: PLC0415 - loads shell32.dll, 1.2 MB, and few services have variables

        rights = winreg.KEY_SET_VALUE | _WRITE_DAC | _WRITE_OWNER
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _SERVICES + name, 0, rights) as key:
            if environment:
                # First closed to users, then filled.
                parts = OWNER | DACL | PROTECTED_DACL
                win32api.RegSetKeySecurity(int(key), parts, descriptor(str(SERVICE_KEY)))  # type: ignore[arg-type]
                lines = [f"{variable}={value}" for variable, value in environment.items()]
                winreg.SetValueEx(key, "Environment", 0, winreg.REG_MULTI_SZ, lines)
            else:
                with suppress(FileNotFoundError):
                    winreg.DeleteValue(key, "Environment")


def _text(key: winreg.HKEYType, name: str) -> str:
    with suppress(FileNotFoundError):
        value, kind = winreg.QueryValueEx(key, name)
        if kind in (winreg.REG_SZ, winreg.REG_EXPAND_SZ):
            return value or ""
    return ""


def _strings(key: winreg.HKEYType, name: str) -> list[str]:
    try:
        value, kind = winreg.QueryValueEx(key, name)
    except FileNotFoundError:
        return []
    return list(value or []) if kind == winreg.REG_MULTI_SZ else []
