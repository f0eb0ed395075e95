"""This machine's services: the parts put together, and its service control manager, for `services`."""

import winreg
from collections.abc import Iterable, Mapping
from contextlib import suppress

from agent.host import winerror
from agent.host.port import Clock, ServiceProgram, ServiceStatus
from agent.host.protection import SERVICE_KEY
from agent.host.windows.api.processes import Process
from agent.host.windows.api.security import DACL, OWNER, PROTECTED_DACL, descriptor
from agent.host.windows.api.service_control import CONNECT, CREATE_SERVICE, ENUMERATE, Manager, ServiceHandle
from agent.host.windows.failure import Win32Error
from agent.host.windows.scm import Registration, ServiceKey
from agent.host.windows.service_program import serve
from agent.host.windows.service_watch import ServiceWatch, WatchedService
from agent.host.windows.services import WindowsServices

_WRITE_DAC = 0x4_0000
_WRITE_OWNER = 0x8_0000
_SERVICES = "SYSTEM\\CurrentControlSet\\Services\\"


def local_services(clock: Clock) -> WindowsServices:
    def watch(names: Iterable[str]) -> ServiceWatch:
        return ServiceWatch(names, clock)

    return WindowsServices(LocalServiceControlManager(), clock, _lives, WatchedService, watch, _serve)


def _serve(name: str, program: ServiceProgram) -> int:
    return serve(name, program)


def _lives(pid: int) -> bool:
    try:
        with Process(pid) as process:
            return process.exit_code() is None
    except Win32Error as failure:
        # One that may not be looked at is there.
        return failure.winerror != winerror.ERROR_INVALID_PARAMETER


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
