"""Processes and other waitable objects, by handle (kernel32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
import math
import time
from ctypes import wintypes
from typing import TYPE_CHECKING, Self

from agent.host.windows.api.binding import dll, last_failure, succeeding
from agent.host.windows.failure import Win32Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TERMINATE = 0x0001
QUERY_LIMITED = 0x1000
SYNCHRONIZE = 0x10_0000

_ALL_PROCESSES = 0x2
_NO_MORE_FILES = 18
_LONGEST_PATH = 0x8000

_INFINITE = 0xFFFF_FFFF
_TICKS_A_SECOND = 10_000_000
_1601_TO_1970_SECONDS = 11_644_473_600
_INVALID_HANDLE = ctypes.c_void_p(-1).value
_TIMEOUT = 258
_APC_RAN = 192

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_POINTER = ctypes.c_void_p

_kernel32 = dll("kernel32")
close = succeeding(_kernel32, "CloseHandle", _BOOL, _HANDLE)
_open_process = succeeding(_kernel32, "OpenProcess", _HANDLE, _DWORD, _BOOL, _DWORD)
_exit_code = succeeding(_kernel32, "GetExitCodeProcess", _BOOL, _HANDLE, ctypes.POINTER(_DWORD))
_terminate = succeeding(_kernel32, "TerminateProcess", _BOOL, _HANDLE, ctypes.c_uint)
_create_event = succeeding(_kernel32, "CreateEventW", _HANDLE, _POINTER, _BOOL, _BOOL, wintypes.LPCWSTR)
# fmt: off
_image_path = succeeding(
    _kernel32, "QueryFullProcessImageNameW", _BOOL,
    _HANDLE, _DWORD, wintypes.LPWSTR, ctypes.POINTER(_DWORD),
)
_times = succeeding(
    _kernel32, "GetProcessTimes", _BOOL,
    _HANDLE, *[ctypes.POINTER(ctypes.c_uint64)] * 4,
)
# fmt: on
set_event = succeeding(_kernel32, "SetEvent", _BOOL, _HANDLE)
reset_event = succeeding(_kernel32, "ResetEvent", _BOOL, _HANDLE)


class _Entry(ctypes.Structure):
    """PROCESSENTRY32W"""

    _fields_ = (
        ("size", _DWORD),
        ("usage", _DWORD),
        ("pid", _DWORD),
        ("heap", ctypes.c_size_t),
        ("module", _DWORD),
        ("threads", _DWORD),
        ("parent", _DWORD),
        ("priority", wintypes.LONG),
        ("flags", _DWORD),
        ("file", wintypes.WCHAR * 260),
    )


def _check_wait(value: int, *_: object) -> int:
    if value == _INFINITE:
        raise last_failure("WaitForMultipleObjectsEx")
    return value


_wait = _kernel32.WaitForMultipleObjectsEx
_wait.argtypes = (_DWORD, ctypes.POINTER(_HANDLE), _BOOL, _DWORD, _BOOL)
_wait.restype = _DWORD
_wait.errcheck = _check_wait  # type: ignore[assignment]
_sleep = _kernel32.SleepEx
_sleep.argtypes = (_DWORD, _BOOL)
_sleep.restype = _DWORD


_snapshot = _kernel32.CreateToolhelp32Snapshot
_snapshot.argtypes = (_DWORD, _DWORD)
_snapshot.restype = _HANDLE
_first = succeeding(_kernel32, "Process32FirstW", _BOOL, _HANDLE, ctypes.POINTER(_Entry))
_next = succeeding(_kernel32, "Process32NextW", _BOOL, _HANDLE, ctypes.POINTER(_Entry))


def event() -> int:
    """A new event that stays set once it is."""
    handle: int = _create_event(None, True, False, None)
    return handle


def wait_for_any(handles: Sequence[int], seconds: float) -> int | None:
    """Which handle is signalled; None when the time is up or a call queued to this thread has run."""
    milliseconds = _milliseconds(seconds)
    if not handles:
        _sleep(milliseconds, True)
        return None
    result: int = _wait(len(handles), (_HANDLE * len(handles))(*handles), False, milliseconds, True)
    return None if result in (_TIMEOUT, _APC_RAN) else result


def is_signalled(handle: int) -> bool:
    """A look, in which no call queued to this thread runs: whoever waits for that one would miss it."""
    result: int = _wait(1, (_HANDLE * 1)(handle), False, 0, False)
    return result == 0


def run_queued_calls() -> None:
    """Those queued to this thread (APCs)."""
    while _sleep(0, True) == _APC_RAN:
        pass


def _milliseconds(seconds: float) -> int:
    # Rounded up: one that waits too briefly would spin until its deadline.
    return min(math.ceil(max(seconds, 0) * 1000), _INFINITE - 1) if seconds != math.inf else _INFINITE


class Process:
    """An open process. Its id is not given to another one while it is open."""

    def __init__(self, pid: int, access: int = SYNCHRONIZE | QUERY_LIMITED) -> None:
        self.pid = pid
        self.handle: int = _open_process(access, False, pid)

    @classmethod
    def made(cls, pid: int, handle: int) -> Self:
        """One that is open already, since it was made here."""
        process = cls.__new__(cls)
        process.pid, process.handle = pid, handle
        return process

    def wait(self, seconds: float) -> None:
        """Until it ends or the time is up."""
        deadline = time.monotonic() + seconds
        # A call queued to this thread ends a wait early.
        while wait_for_any([self.handle], left := deadline - time.monotonic()) is None and left > 0:
            pass

    def exit_code(self) -> int | None:
        """None while it runs."""
        if not is_signalled(self.handle):
            return None
        code = _DWORD()
        _exit_code(self.handle, code)
        return code.value

    def started_at(self) -> float:
        created, *others = (ctypes.c_uint64() for _ in range(4))
        _times(self.handle, created, *others)
        return created.value / _TICKS_A_SECOND - _1601_TO_1970_SECONDS

    def terminate(self, exit_code: int) -> None:
        _terminate(self.handle, exit_code)

    def close(self) -> None:
        close(self.handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def image_path(process: int) -> str:
    room = _DWORD(_LONGEST_PATH)
    text = ctypes.create_unicode_buffer(_LONGEST_PATH)
    _image_path(process, 0, text, room)
    return text.value


def snapshot() -> Iterator[tuple[int, int]]:
    """Each process and its parent. The parent may be gone, and its id another's by now."""
    handle = _snapshot(_ALL_PROCESSES, 0)
    if handle in (None, _INVALID_HANDLE):
        raise last_failure("CreateToolhelp32Snapshot")
    entry = _Entry(size=ctypes.sizeof(_Entry))
    step = _first
    try:
        while True:
            step(handle, entry)
            yield entry.pid, entry.parent
            step = _next
    except Win32Failure as failure:
        if failure.code != _NO_MORE_FILES:
            raise
    finally:
        close(handle)
