"""Processes and other things that are waited for by handle, by pywin32."""

import _winapi
import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Self

import win32event
import win32file
import win32process

from agent.host import winerror
from agent.host.windows.failure import Win32Error, failed

# PROCESS_TERMINATE, PROCESS_QUERY_LIMITED_INFORMATION
TERMINATE = 0x0001
QUERY_LIMITED = 0x1000
SYNCHRONIZE = win32event.SYNCHRONIZE

_LONGEST_WAIT = 0xFFFF_FFFE
"""In milliseconds: one more stands for ever."""


def wait_for_any(handles: Sequence[int], seconds: float) -> int | None:
    """Return the place of the handle that is signalled; None when the time is up."""
    if not handles:
        time.sleep(max(seconds, 0))
        return None
    # Rounded up: one that waits too briefly would spin until its deadline.
    milliseconds = win32event.INFINITE
    if seconds != math.inf:
        milliseconds = min(math.ceil(max(seconds, 0) * 1000), _LONGEST_WAIT)
    result: int = win32event.WaitForMultipleObjects(list(handles), False, milliseconds)
    return None if result == win32event.WAIT_TIMEOUT else result - win32event.WAIT_OBJECT_0


def is_signalled(handle: int) -> bool:
    """Look without waiting."""
    return wait_for_any([handle], 0) == 0


class Process(AbstractContextManager["Process"]):
    """An open process. Its id is not given to another one while it is open."""

    def __init__(self, pid: int, access: int = SYNCHRONIZE | QUERY_LIMITED) -> None:
        self.pid = pid
        try:
            # win32api has it too, and loads shell32: 1.2 MB.
            self.handle = _winapi.OpenProcess(access, False, pid)
        except OSError as failure:
            raise failed(failure.winerror, "_winapi.OpenProcess") from failure

    @classmethod
    def made(cls, pid: int, handle: int) -> Self:
        """One that is open already, since it was made here."""
        process = cls.__new__(cls)
        process.pid, process.handle = pid, handle
        return process

    def wait(self, seconds: float) -> None:
        """Until it ends or the time is up."""
        wait_for_any([self.handle], seconds)

    def exit_code(self) -> int | None:
        """None while it runs."""
        if not is_signalled(self.handle):
            return None
        # pywin32 reads it as a signed number.
        return win32process.GetExitCodeProcess(self.handle) & 0xFFFF_FFFF

    def terminate(self, exit_code: int) -> None:
        win32process.TerminateProcess(self.handle, exit_code)

    def close(self) -> None:
        win32file.CloseHandle(self.handle)

    def __exit__(self, *_: object) -> None:
        self.close()


def lives(pid: int) -> bool:
    try:
        with Process(pid) as process:
            return process.exit_code() is None
    except Win32Error as failure:
        # One that may not be looked at is there.
        return failure.winerror != winerror.ERROR_INVALID_PARAMETER
