"""ReportEvent (advapi32)."""

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
_WORD = wintypes.WORD

_advapi32 = dll("advapi32")
_register = succeeding(_advapi32, "RegisterEventSourceW", _HANDLE, wintypes.LPCWSTR, wintypes.LPCWSTR)
_deregister = succeeding(_advapi32, "DeregisterEventSource", _BOOL, _HANDLE)
# fmt: off
_report = succeeding(
    _advapi32, "ReportEventW", _BOOL,
    _HANDLE, _WORD, _WORD, _DWORD, _POINTER, _WORD, _DWORD, ctypes.POINTER(wintypes.LPCWSTR), _POINTER,
)
# fmt: on


def report(source: str, level: int, event_id: int, text: str) -> None:
    """The text takes the place of %1 in the source's message of that number."""
    handle = _register(None, source)
    try:
        _report(handle, level, 0, event_id, None, 1, 0, (wintypes.LPCWSTR * 1)(text), None)
    finally:
        _deregister(handle)
