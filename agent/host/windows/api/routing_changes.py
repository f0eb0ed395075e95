"""Changes of IPv4 routes, and of what interfaces do with packets, told by an event (iphlpapi)."""

import ctypes
from ctypes import wintypes

import win32event
import win32file

from agent.host.windows.api.binding import coded, dll, judged
from agent.host.windows.api.processes import is_signalled

_IPV4 = 2
_NOW = False
"""Whether it is told once at the beginning, too."""

_iphlpapi = dll("iphlpapi")
_set_event = ctypes.cast(
    judged(dll("kernel32"), "SetEvent", wintypes.BOOL, wintypes.HANDLE),  # type: ignore[arg-type]
    ctypes.c_void_p,
)
"""Windows calls back in a thread of its own, which had better run no Python. The context comes first and is
all that this function looks at; what it answers nobody does.
"""
# fmt: off
_NOTIFICATIONS = [
    coded(
        _iphlpapi, name, wintypes.USHORT, ctypes.c_void_p, wintypes.HANDLE, wintypes.BOOLEAN,
        ctypes.POINTER(wintypes.HANDLE),
    )
    for name in ("NotifyRouteChange2", "NotifyIpInterfaceChange")
]
# fmt: on
_cancel = coded(_iphlpapi, "CancelMibChangeNotify2", wintypes.HANDLE)


class RoutingChanges:
    def __init__(self) -> None:
        self.event = win32event.CreateEvent(None, True, False, None)
        self._asked: list[int] = []
        try:
            for notify in _NOTIFICATIONS:
                handle = wintypes.HANDLE()
                notify(_IPV4, _set_event, int(self.event), _NOW, ctypes.byref(handle))
                if handle.value is not None:  # as Wine does, which never tells
                    self._asked.append(handle.value)
        except BaseException:
            self.close()
            raise

    def any(self) -> bool:
        """Since it was asked last."""
        if not is_signalled(self.event):
            return False
        win32event.ResetEvent(self.event)
        return True

    def close(self) -> None:
        while self._asked:
            _cancel(self._asked.pop())  # nothing is called back any more when it returns
        win32file.CloseHandle(self.event)
