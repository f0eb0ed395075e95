"""Reboots (advapi32)."""

from ctypes import wintypes

from agent.host.windows.api.binding import coded, dll
from agent.host.windows.api.security import SHUTDOWN, enable_privileges

_FORCE_OTHERS = 0x1
_FORCE_SELF = 0x2
_RESTART = 0x4
_PLANNED_RECONFIGURATION = 0x8000_0000 | 0x0002_0000 | 0x0000_0004
"""SHTDN_REASON_: FLAG_PLANNED, MAJOR_OPERATINGSYSTEM, MINOR_RECONFIG"""

_advapi32 = dll("advapi32")
# fmt: off
_initiate = coded(
    _advapi32, "InitiateShutdownW",
    wintypes.LPCWSTR, wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, wintypes.DWORD,
)
# fmt: on


def announce_reboot(reason: str, seconds: int) -> None:
    enable_privileges(SHUTDOWN)
    _initiate(None, reason, seconds, _FORCE_OTHERS | _FORCE_SELF | _RESTART, _PLANNED_RECONFIGURATION)
