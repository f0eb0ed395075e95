"""Job objects: a process and all that it starts, ended together (kernel32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes
from typing import Self

from agent.host.windows.api.binding import dll, succeeding

_EXTENDED_LIMITS = 9
_KILL_ON_JOB_CLOSE = 0x2000

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION"""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", _DWORD),
        ("least_working_set", _SIZE),
        ("most_working_set", _SIZE),
        ("most_processes", _DWORD),
        ("affinity", _SIZE),
        ("priority", _DWORD),
        ("scheduling", _DWORD),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", _SIZE),
        ("job_memory", _SIZE),
        ("peak_process_memory", _SIZE),
        ("peak_job_memory", _SIZE),
    )


_kernel32 = dll("kernel32")
_create = succeeding(_kernel32, "CreateJobObjectW", _HANDLE, _POINTER, wintypes.LPCWSTR)
_set = succeeding(
    _kernel32, "SetInformationJobObject", _BOOL, _HANDLE, ctypes.c_int, ctypes.POINTER(_Limits), _DWORD
)
_close = succeeding(_kernel32, "CloseHandle", _BOOL, _HANDLE)


class Job:
    """Ends whatever still runs in it when it is closed, also by this process' own end."""

    def __init__(self) -> None:
        self.handle: int = _create(None, None)
        self._limit(_KILL_ON_JOB_CLOSE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _close(self.handle)

    def let_go(self) -> None:
        """What still runs in it goes on."""
        self._limit(0)

    def _limit(self, flags: int) -> None:
        limits = _Limits(flags=flags)
        _set(self.handle, _EXTENDED_LIMITS, limits, ctypes.sizeof(limits))
