"""What Windows says of itself and its machine (ntdll, kernel32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes
from typing import NamedTuple

from agent.host.windows.api.binding import coded, dll, judged, succeeding

_PHYSICAL_DNS_HOST_NAME = 5
_WORKSTATION = 1
_LONGEST_NAME = 1024

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_NUMBER = ctypes.c_uint64


class _Version(ctypes.Structure):
    """OSVERSIONINFOEXW"""

    _fields_ = (
        ("size", _DWORD),
        ("major", _DWORD),
        ("minor", _DWORD),
        ("build", _DWORD),
        ("platform", _DWORD),
        ("service_pack", wintypes.WCHAR * 128),
        ("service_pack_major", wintypes.WORD),
        ("service_pack_minor", wintypes.WORD),
        ("suites", wintypes.WORD),
        ("product_type", ctypes.c_ubyte),
        ("reserved", ctypes.c_ubyte),
    )


class _Memory(ctypes.Structure):
    """MEMORYSTATUSEX"""

    _fields_ = (("size", _DWORD), ("load", _DWORD), ("physical", _NUMBER), ("others", _NUMBER * 6))


class Version(NamedTuple):
    major: int
    minor: int
    build: int
    workstation: bool


class Space(NamedTuple):
    available: int
    total: int


_ntdll = dll("ntdll")
_kernel32 = dll("kernel32")
_WORD = ctypes.POINTER(wintypes.WORD)
_version = coded(_ntdll, "RtlGetVersion", ctypes.POINTER(_Version))
_this_process = judged(_kernel32, "GetCurrentProcess", _HANDLE)
_machine = succeeding(_kernel32, "IsWow64Process2", _BOOL, _HANDLE, _WORD, _WORD)
_memory = succeeding(_kernel32, "GlobalMemoryStatusEx", _BOOL, ctypes.POINTER(_Memory))
# fmt: off
_disk = succeeding(
    _kernel32, "GetDiskFreeSpaceExW", _BOOL,
    wintypes.LPCWSTR, ctypes.POINTER(_NUMBER), ctypes.POINTER(_NUMBER), ctypes.POINTER(_NUMBER),
)
_computer_name = succeeding(
    _kernel32, "GetComputerNameExW", _BOOL, ctypes.c_int, wintypes.LPWSTR, ctypes.POINTER(_DWORD)
)
_set_computer_name = succeeding(_kernel32, "SetComputerNameExW", _BOOL, ctypes.c_int, wintypes.LPCWSTR)
_windows_directory = succeeding(
    _kernel32, "GetSystemWindowsDirectoryW", wintypes.UINT, wintypes.LPWSTR, wintypes.UINT
)
# fmt: on


def version() -> Version:
    """The real one: GetVersionEx tells what the exe's manifest wants to hear."""
    found = _Version(size=ctypes.sizeof(_Version))
    _version(found)
    return Version(found.major, found.minor, found.build, found.product_type == _WORKSTATION)


def native_machine() -> int:
    """IMAGE_FILE_MACHINE_ of the processor, also for a program that is emulated on it."""
    process, native = wintypes.WORD(), wintypes.WORD()
    _machine(_this_process(), process, native)
    return native.value


def physical_memory() -> int:
    found = _Memory(size=ctypes.sizeof(_Memory))
    _memory(found)
    return int(found.physical)


def disk_space(folder: str) -> Space:
    available, total, free = _NUMBER(), _NUMBER(), _NUMBER()
    _disk(folder, available, total, free)
    return Space(available.value, total.value)


def dns_host_name() -> str:
    text = ctypes.create_unicode_buffer(_LONGEST_NAME)
    _computer_name(_PHYSICAL_DNS_HOST_NAME, text, _DWORD(_LONGEST_NAME))
    return text.value


def set_dns_host_name(name: str) -> None:
    """From the next start on."""
    _set_computer_name(_PHYSICAL_DNS_HOST_NAME, name)


def windows_directory() -> str:
    """Windows' own folder; GetWindowsDirectory can tell a user's instead."""
    text = ctypes.create_unicode_buffer(_LONGEST_NAME)
    _windows_directory(text, _LONGEST_NAME)
    return text.value
