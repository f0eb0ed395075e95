"""What `services` asks of the service control manager, so that tests can stand in for it.

Every method raises Win32Error. The numbers are those of winsvc.h.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

from agent.host.services import ServiceStatus

QUERY_CONFIG = 0x0001
CHANGE_CONFIG = 0x0002
QUERY_STATUS = 0x0004
START = 0x0010
STOP = 0x0020
CONTINUE = 0x0040
"""SERVICE_PAUSE_CONTINUE, and new parameters"""
DELETE = 0x1_0000


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
    """An open handle."""

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
