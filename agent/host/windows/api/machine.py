"""What Windows says of its machine, and is told of it, where pywin32 does not do so or costs too much."""

import ctypes
from collections.abc import Callable
from ctypes import wintypes
from functools import cache
from typing import Any

from agent.host.windows.api.binding import coded, dll, judged, succeeding
from agent.host.windows.api.security import SHUTDOWN, enable_privileges

_PHYSICAL_DNS_HOST_NAME = 5
"""ComputerNamePhysicalDnsHostname"""
_THIS_PROCESS = -1
_LONGEST_NAME = 1024
_TIME_OF_DAY = 3
_FORCE_OTHERS, _FORCE_SELF, _RESTART = 0x1, 0x2, 0x4
_PLANNED_RECONFIGURATION = 0x8000_0000 | 0x0002_0000 | 0x0000_0004
"""SHTDN_REASON_: FLAG_PLANNED, MAJOR_OPERATINGSYSTEM, MINOR_RECONFIG"""
_EVERYBODY, _SETTING_CHANGE, _GIVE_UP_ON_HUNG = 0xFFFF, 0x001A, 0x0002
_MILLISECONDS_A_WINDOW = 100


class _TimeOfDay(ctypes.Structure):
    # fmt: off
    _fields_ = (
        ("boot_time", ctypes.c_int64), ("current_time", ctypes.c_int64), ("time_zone_bias", ctypes.c_int64),
        ("time_zone", wintypes.ULONG), ("reserved", wintypes.ULONG), ("boot_time_bias", ctypes.c_uint64),
        ("sleep_time_bias", ctypes.c_uint64),
    )
    # fmt: on


_kernel32 = dll("kernel32")
_WORD = ctypes.POINTER(wintypes.WORD)
_machine = succeeding(_kernel32, "IsWow64Process2", wintypes.BOOL, wintypes.HANDLE, _WORD, _WORD)
# fmt: off
_set_computer_name = succeeding(
    _kernel32, "SetComputerNameExW", wintypes.BOOL, ctypes.c_int, wintypes.LPCWSTR
)
_windows_directory = succeeding(
    _kernel32, "GetSystemWindowsDirectoryW", wintypes.UINT, wintypes.LPWSTR, wintypes.UINT
)
_query = coded(
    dll("ntdll"), "NtQuerySystemInformation", ctypes.c_int, ctypes.POINTER(_TimeOfDay), wintypes.ULONG,
    wintypes.PULONG,
)
_initiate = coded(
    dll("advapi32"), "InitiateShutdownW",
    wintypes.LPCWSTR, wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, wintypes.DWORD,
)
# fmt: on


def native_machine() -> int:
    """IMAGE_FILE_MACHINE_ of the processor, also for a program that is emulated on it."""
    process, native = wintypes.WORD(), wintypes.WORD()
    _machine(_THIS_PROCESS, process, native)
    return native.value


def set_dns_host_name(name: str) -> None:
    """From the next start on."""
    _set_computer_name(_PHYSICAL_DNS_HOST_NAME, name)


def windows_directory() -> str:
    """Windows' own folder; GetWindowsDirectory can tell a user's instead."""
    text = ctypes.create_unicode_buffer(_LONGEST_NAME)
    _windows_directory(text, _LONGEST_NAME)
    return text.value


def started_at() -> int:
    """In intervals of 100 ns since 1601, exactly the same at each call.

    Now less the time that it has been up would be another each time, and hours off once the clock is set, as
    many a machine's is in its first minutes. The kernel moves its own note of the start along with the clock,
    by as much as it adds to the bias: without that it is what it noted when it started.
    """
    found = _TimeOfDay()
    _query(_TIME_OF_DAY, found, ctypes.sizeof(found), None)
    return int(found.boot_time - found.boot_time_bias)


def announce_reboot(reason: str, seconds: int) -> None:
    enable_privileges(SHUTDOWN)
    _initiate(None, reason, seconds, _FORCE_OTHERS | _FORCE_SELF | _RESTART, _PLANNED_RECONFIGURATION)


def tell_of_environment() -> None:
    """The shell takes the machine's variables over for what it starts from now on.

    Without waiting for whom it doesn't reach: what is stored counts all the same.
    """
    send = _message_sender()
    send(_EVERYBODY, _SETTING_CHANGE, 0, "Environment", _GIVE_UP_ON_HUNG, _MILLISECONDS_A_WINDOW, None)


@cache
def _message_sender() -> Callable[..., Any]:
    """Return the function that tells windows on the desktop. It loads user32.dll, which is seldom needed."""
    # fmt: off
    return judged(
        dll("user32"), "SendMessageTimeoutW", ctypes.c_ssize_t, wintypes.HWND, wintypes.UINT, wintypes.WPARAM,
        wintypes.LPCWSTR, wintypes.UINT, wintypes.UINT, ctypes.c_void_p,
    )
    # fmt: on
