"""Job objects: a process and all that it starts, ended together (kernel32, ntdll)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes
from typing import Self

from agent.host.windows.api.binding import coded, dll, succeeding

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
_assign = succeeding(_kernel32, "AssignProcessToJobObject", _BOOL, _HANDLE, _HANDLE)
_close = succeeding(_kernel32, "CloseHandle", _BOOL, _HANDLE)
# Undocumented, but the only one that needs no handle of the thread, which subprocess doesn't keep.
_resume = coded(dll("ntdll"), "NtResumeProcess", _HANDLE)


class Job:
    """Ends whatever still runs in it when it is closed, also by this process' own end."""

    def __init__(self) -> None:
        self._handle = _create(None, None)
        self._limit(_KILL_ON_JOB_CLOSE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _close(self._handle)

    def take_in(self, suspended_process: int) -> None:
        """A process that was made suspended: it goes on, and whatever it starts belongs to the job too."""
        _assign(self._handle, suspended_process)
        _resume(suspended_process)

    def let_go(self) -> None:
        """What still runs in it goes on."""
        self._limit(0)

    def _limit(self, flags: int) -> None:
        limits = _Limits(flags=flags)
        _set(self._handle, _EXTENDED_LIMITS, limits, ctypes.sizeof(limits))
