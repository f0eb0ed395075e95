"""What a service program says to the SCM and hears from it (advapi32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes

from agent.host.windows.api.binding import dll, succeeding

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_POINTER = ctypes.c_void_p
_TEXT = wintypes.LPCWSTR

ServiceMain = ctypes.WINFUNCTYPE(None, _DWORD, ctypes.POINTER(wintypes.LPWSTR))
Handler = ctypes.WINFUNCTYPE(_DWORD, _DWORD, _DWORD, _POINTER, _POINTER)


class TableEntry(ctypes.Structure):
    """SERVICE_TABLE_ENTRYW"""

    _fields_ = (("name", wintypes.LPWSTR), ("main", ServiceMain))


class Status(ctypes.Structure):
    """SERVICE_STATUS"""

    _fields_ = (
        ("type", _DWORD),
        ("state", _DWORD),
        ("accepted", _DWORD),
        ("exit_code", _DWORD),
        ("service_exit_code", _DWORD),
        ("checkpoint", _DWORD),
        ("wait_hint", _DWORD),
    )


_advapi32 = dll("advapi32")
_dispatch = succeeding(_advapi32, "StartServiceCtrlDispatcherW", _BOOL, ctypes.POINTER(TableEntry))
_register = succeeding(_advapi32, "RegisterServiceCtrlHandlerExW", _HANDLE, _TEXT, Handler, _POINTER)
_set_status = succeeding(_advapi32, "SetServiceStatus", _BOOL, _HANDLE, ctypes.POINTER(Status))


def dispatch(name: str, main: ctypes._FuncPointer) -> None:
    """Talk with the SCM in this thread, and run `main` in another, until the service is STOPPED."""
    # The second, empty entry ends the table.
    _dispatch((TableEntry * 2)(TableEntry(name, main)))


def register(name: str, handler: ctypes._FuncPointer) -> int:
    handle: int = _register(name, handler, None)
    return handle


def set_status(handle: int, status: Status) -> None:
    _set_status(handle, status)
