"""A service control manager in memory that fails where it is told to, with the code that it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from agent.host.services import ServiceState, ServiceStatus
from agent.host.windows.failure import failed
from agent.host.windows.services import RecoverySetting, Registration, ServiceKey, Setting, SettingValue

DOES_NOT_EXIST = 1060
EXISTS = 1073


class FakeScm:
    def __init__(self) -> None:
        self.services: dict[str, FakeService] = {}
        self.calls: list[str] = []
        self._failures: dict[str, list[int]] = {}

    def fail(self, call: str, *codes: int) -> None:
        """The next calls of that name fail with these codes, one after the other; with 0 one succeeds."""
        self._failures[call] = list(codes)

    def called(self, call: str) -> None:
        self.calls.append(call)
        if (codes := self._failures.get(call)) and (code := codes.pop(0)):
            raise failed(code, call)

    def open(self, name: str, access: int) -> FakeService:  # noqa: ARG002 - every right is had
        self.called("open")
        service = self.services.get(name)
        if service and service.marked and not service.open_elsewhere:
            del self.services[name]
        elif service:
            service.open_elsewhere -= service.marked
            return service
        raise failed(DOES_NOT_EXIST, "open")

    def create(self, registration: Registration, access: int) -> FakeService:  # noqa: ARG002 - likewise
        self.called("create")
        if registration.name in self.services:
            raise failed(EXISTS, "create")
        self.services[registration.name] = service = FakeService(self, registration)
        return service

    def list(self) -> Mapping[str, ServiceStatus]:
        self.called("list")
        return {name: service.state for name, service in self.services.items()}

    def key(self, name: str) -> ServiceKey:
        self.called("key")
        service = self.services[name]
        registration = service.registered
        return ServiceKey(service.environment, registration.dependencies or (), registration.image_path or "")

    def set_environment(self, name: str, environment: Mapping[str, str]) -> None:
        self.called("set environment")
        self.services[name].environment = environment


class FakeService:
    def __init__(self, scm: FakeScm, registration: Registration) -> None:
        self._scm = scm
        self.registered = registration
        self.environment: Mapping[str, str] = {}
        self.marked = False
        self.open_elsewhere = 0
        """How often it can be opened, once deleted, until the last handle of somebody else is closed."""
        self.state = ServiceStatus(ServiceState.STOPPED, None, 1077, 0, 0, 0)
        self.settings: dict[Setting, SettingValue] = {
            Setting.DESCRIPTION: "",
            Setting.RECOVERY: RecoverySetting((), 0),
            Setting.DELAYED: 0,
            Setting.ON_ERROR_EXIT: 0,
            Setting.SID_TYPE: 0,
            Setting.PRESHUTDOWN: 10_000,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        pass

    def registration(self) -> Registration:
        self._scm.called("registration")
        return self.registered

    def register(self, registration: Registration) -> None:
        self._scm.called("register")
        old, new = self.registered, registration
        self.registered = Registration(
            name=old.name,
            display_name=old.display_name if new.display_name is None else new.display_name,
            start=old.start if new.start is None else new.start,
            image_path=old.image_path if new.image_path is None else new.image_path,
            dependencies=old.dependencies if new.dependencies is None else new.dependencies,
            account=old.account if new.account is None else new.account,
        )
        self.last_change = registration

    def setting(self, setting: Setting) -> SettingValue:
        self._scm.called(f"ask {setting.name}")
        return self.settings[setting]

    def set(self, setting: Setting, value: SettingValue) -> None:
        self._scm.called(f"set {setting.name}")
        self.settings[setting] = value

    def status(self) -> ServiceStatus:
        self._scm.called("status")
        return self.state

    def start(self, arguments: Sequence[str]) -> None:
        self._scm.called(f"start {' '.join(arguments)}".strip())

    def control(self, control: int) -> None:
        self._scm.called(f"control {control}")

    def delete(self) -> None:
        self._scm.called("delete")
        self.marked = True
        if not self.open_elsewhere:
            del self._scm.services[self.registered.name]
