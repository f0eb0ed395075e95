"""Job objects: a process and all that it starts, ended together."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from typing import Self

import win32file
import win32job


class Job:
    """Ends whatever still runs in it when it is closed, also by this process' own end."""

    def __init__(self) -> None:
        # What the types say of it is not what it does. An empty name is none.
        self.handle: int = win32job.CreateJobObject(None, "")  # type: ignore[func-returns-value,assignment]
        self._limit(win32job.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        win32file.CloseHandle(self.handle)

    def let_go(self) -> None:
        """What still runs in it goes on."""
        self._limit(0)

    def _limit(self, flags: int) -> None:
        kind = win32job.JobObjectExtendedLimitInformation
        limits = win32job.QueryInformationJobObject(self.handle, kind)
        limits["BasicLimitInformation"]["LimitFlags"] = flags
        win32job.SetInformationJobObject(self.handle, kind, limits)
