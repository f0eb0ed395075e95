"""NotifyServiceStatusChange (advapi32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from collections import deque
from ctypes import wintypes
from typing import TYPE_CHECKING

from agent.host.windows.api.binding import coded, dll
from agent.host.windows.api.processes import run_queued_calls
from agent.host.windows.api.service_control import CONNECT, Manager, StatusProcess
from agent.host.windows.failure import Win32Failure
from agent.host.windows.scm import QUERY_STATUS

if TYPE_CHECKING:
    from agent.host.port import ServiceStatus

_ALL_STATES = 0x7F
_DELETE_PENDING = 0x200
_STATUS_CHANGE = 2
_CLIENT_LAGGING = 1294

_CALLBACK = ctypes.WINFUNCTYPE(None, ctypes.c_void_p)


class _Notify(ctypes.Structure):
    """SERVICE_NOTIFY_2W"""

    _fields_ = (
        ("version", wintypes.DWORD),
        ("callback", _CALLBACK),
        ("context", ctypes.c_void_p),
        ("failure", wintypes.DWORD),
        ("status", StatusProcess),
        ("triggered", wintypes.DWORD),
        ("names", ctypes.c_void_p),
    )


_notify = coded(
    dll("advapi32"), "NotifyServiceStatusChangeW", wintypes.HANDLE, wintypes.DWORD, ctypes.POINTER(_Notify)
)


# What the SCM may still be about to call, in this thread or another one, after its handle was closed: the
# memory must not be somebody else's by then. Such a call comes at once or never, so the last few are enough.
_retired: deque[_Notify] = deque(maxlen=256)


class Subscription:
    """One service's changes of state, told to the thread that asks for `status` and then waits alertably.

    A subscription that is armed before the status is asked for loses nothing. The SCM speaks once for each
    time it is armed, and at once of a state that the service is in already: so the one last seen is left out.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._closed = True
        self._armed = False
        self._seen = 0
        self._notify = _Notify(version=_STATUS_CHANGE, callback=_CALLBACK(self._told))
        self._open()

    def status(self) -> ServiceStatus:
        """As it is now. Raises Win32Failure MARKED_FOR_DELETE when the service was deleted."""
        if not self._armed:
            self._arm()
        status = self._service.status()
        self._seen = status.state.value
        return status

    def __del__(self) -> None:
        # Forgotten instead of closed: the SCM would call what is no longer there.
        self.close()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._service.close()
        run_queued_calls()
        if self._armed:
            _retired.append(self._notify)

    def _open(self) -> None:
        with Manager(CONNECT) as manager:
            self._service = manager.open(self._name, QUERY_STATUS)
        self._closed = False

    def _arm(self) -> None:
        try:
            self._notify_once()
        except Win32Failure as failure:
            if failure.code != _CLIENT_LAGGING:
                raise
            # Too many changes were missed for the handle to be of use any longer.
            self._service.close()
            self._closed = True
            self._open()
            self._notify_once()

    def _notify_once(self) -> None:
        states = _ALL_STATES & ~(1 << self._seen >> 1)
        _notify(self._service.value, states | _DELETE_PENDING, self._notify)
        self._armed = True

    def _told(self, _: int) -> None:
        self._armed = False
