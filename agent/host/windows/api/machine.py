"""What Windows says of its machine, where pywin32 does not ask it or costs too much (kernel32)."""

import ctypes
from ctypes import wintypes

from agent.host.windows.api.binding import dll, succeeding

_PHYSICAL_DNS_HOST_NAME = 5
"""ComputerNamePhysicalDnsHostname"""
_THIS_PROCESS = -1
_LONGEST_NAME = 1024

_kernel32 = dll("kernel32")
_WORD = ctypes.POINTER(wintypes.WORD)
_machine = succeeding(_kernel32, "IsWow64Process2", wintypes.BOOL, wintypes.HANDLE, _WORD, _WORD)
_set_computer_name = succeeding(
    _kernel32, "SetComputerNameExW", wintypes.BOOL, ctypes.c_int, wintypes.LPCWSTR
)
_windows_directory = succeeding(
    _kernel32, "GetSystemWindowsDirectoryW", wintypes.UINT, wintypes.LPWSTR, wintypes.UINT
)


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
