"""What of a service only its registry key has."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import secrets
import winreg
from collections.abc import Iterator
from typing import Any

import pytest
import win32security
import win32service as ws

from agent.host.sddl import AUTHENTICATED_USERS, EVERYONE, USERS, SecurityDescriptor
from agent.host.services import ServiceDefinition, Services, StartType
from agent.host.windows.api.service_control import LocalServiceControlManager
from agent.host.windows.machine import open_windows

SERVICES = "SYSTEM\\CurrentControlSet\\Services"


@pytest.fixture
def services() -> Services:
    return open_windows().services


@pytest.fixture
def name(services: Services) -> Iterator[str]:
    name = f"wmcb-unit-{secrets.token_hex(4)}"
    yield name
    services.delete(name)


def definition(name: str, **environment: str) -> ServiceDefinition:
    return ServiceDefinition(name, ("C:\\p.exe",), start=StartType.MANUAL, environment=environment)


def test_variables_are_in_a_key_that_users_cannot_read(services: Services, name: str) -> None:
    services.create(definition(name, HTTP_PROXY="http://user:password@proxy"))
    found = SecurityDescriptor.parse(_descriptor(name))
    assert found.protected
    assert found.granted({USERS, EVERYONE, AUTHENTICATED_USERS}) == 0


def test_the_key_is_closed_before_the_variables_are_written(
    services: Services, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    real = winreg.SetValueEx

    def write(key: winreg.HKEYType, value: str, reserved: int, kind: int, data: Any) -> None:
        seen.append(SecurityDescriptor.parse(_descriptor(name)).protected)
        real(key, value, reserved, kind, data)

    services.create(definition(name))
    monkeypatch.setattr(winreg, "SetValueEx", write)
    services.change(definition(name, A="1"))
    assert seen == [True]


def test_variables_stand_where_the_scm_looks_for_them(services: Services, name: str) -> None:
    services.create(definition(name, A="1", B="x=y"))
    assert _value(name) == (["A=1", "B=x=y"], winreg.REG_MULTI_SZ)


def test_no_variables_leave_no_value(services: Services, name: str) -> None:
    services.create(definition(name, A="1"))
    for _ in range(2):
        LocalServiceControlManager().set_environment(name, {})
        with pytest.raises(FileNotFoundError):
            _value(name)


def test_groups_are_dependencies_too(services: Services, name: str) -> None:
    services.create(definition(name))
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, f"{SERVICES}\\{name}", 0, winreg.KEY_SET_VALUE) as key:
        winreg.SetValueEx(key, "DependOnService", 0, winreg.REG_MULTI_SZ, ["RpcSs"])
        winreg.SetValueEx(key, "DependOnGroup", 0, winreg.REG_MULTI_SZ, ["TDI"])
    assert LocalServiceControlManager().key(name).dependencies == ("RpcSs", "+TDI")


@pytest.mark.parametrize(
    ("kind", "data"), [(winreg.REG_SZ, "A=1"), (winreg.REG_BINARY, b"x"), (winreg.REG_MULTI_SZ, [])]
)
def test_what_somebody_else_put_in_their_place_is_none(
    services: Services, name: str, kind: int, data: Any
) -> None:
    services.create(definition(name))
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, f"{SERVICES}\\{name}", 0, winreg.KEY_SET_VALUE) as key:
        winreg.SetValueEx(key, "Environment", 0, kind, data)
    assert LocalServiceControlManager().key(name).environment == {}


def test_what_a_definition_does_not_name_stays_as_somebody_made_it(services: Services, name: str) -> None:
    theirs = (ws.SERVICE_WIN32_SHARE_PROCESS, ws.SERVICE_DEMAND_START, ws.SERVICE_ERROR_SEVERE)
    manager = ws.OpenSCManager(None, None, ws.SC_MANAGER_ALL_ACCESS)
    path = r"C:\Program Files\nssm.exe"
    # fmt: off
    service = ws.CreateService(
        manager, name, name, ws.SERVICE_ALL_ACCESS, *theirs, path, "TDI", False, None,
        "NT AUTHORITY\\NetworkService", None,
    )
    # fmt: on
    try:
        before = services.read(name)
        assert before is not None
        assert (before.image_path, before.definition.account) == (path, "NT AUTHORITY\\NetworkService")
        services.change(ServiceDefinition(name, ("C:\\ours.exe",), description="Ours."))
        services.restore(before)
        assert services.read(name) == before
        service_type, start, errors, _, group, *_ = ws.QueryServiceConfig(service)
        assert ((service_type, start, errors), group) == (theirs, "TDI")
    finally:
        ws.CloseServiceHandle(service)
        ws.CloseServiceHandle(manager)


def test_a_service_whose_dependencies_windows_leaves_out_has_none(
    services: Services, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.create(definition(name))
    ask = ws.QueryServiceConfig

    def without_dependencies(handle: Any) -> tuple[Any, ...]:
        found = ask(handle)
        return (*found[:6], None, *found[7:])

    monkeypatch.setattr(ws, "QueryServiceConfig", without_dependencies)
    installed = services.read(name)
    assert installed is not None
    assert installed.definition.dependencies == ()


def test_a_command_line_is_told_with_its_variables_in_it(services: Services, name: str) -> None:
    services.create(definition(name))
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, f"{SERVICES}\\{name}", 0, winreg.KEY_SET_VALUE) as key:
        winreg.SetValueEx(key, "ImagePath", 0, winreg.REG_EXPAND_SZ, r"%SystemRoot%\p.exe")
    installed = services.read(name)
    assert installed is not None
    assert installed.image_path == r"%SystemRoot%\p.exe"


def _value(name: str) -> tuple[object, int]:
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, f"{SERVICES}\\{name}") as key:
        return winreg.QueryValueEx(key, "Environment")


def _descriptor(name: str) -> str:
    parts = win32security.OWNER_SECURITY_INFORMATION | win32security.DACL_SECURITY_INFORMATION
    found = win32security.GetNamedSecurityInfo(
        f"MACHINE\\{SERVICES}\\{name}", win32security.SE_REGISTRY_KEY, parts
    )
    return str(
        win32security.ConvertSecurityDescriptorToStringSecurityDescriptor(
            found, win32security.SDDL_REVISION_1, parts
        )
    )
