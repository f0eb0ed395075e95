"""The DISM API (dismapi.dll), for the Windows that runs."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import wintypes
from typing import Any

from agent.host import winerror
from agent.host.windows.api.binding import dll, judged
from agent.host.windows.failure import code_of, failed

_ONLINE = "DISM_{53BFAE52-B167-4E2F-A258-0A37B57FF845}"
_LOG_ERRORS = 0
_NO_PACKAGE = 0

_TEXT = wintypes.LPCWSTR
_UINT = wintypes.UINT
_POINTER = ctypes.c_void_p


class _Feature(ctypes.Structure):
    """DismFeatureInfo, without gaps."""

    _layout_ = "ms"
    _pack_ = 1
    # fmt: off
    _fields_ = (
        ("name", _TEXT), ("state", ctypes.c_int), ("display_name", _TEXT), ("description", _TEXT),
        ("restart", ctypes.c_int), ("properties", _POINTER), ("property_count", _UINT),
    )
    # fmt: on


_dismapi = dll("dismapi")


def _resulting(name: str, *arguments: Any) -> Any:
    """Whether a success needs a restart; a failure is raised."""
    function = judged(_dismapi, name, ctypes.c_int32, *arguments)

    def call(*given: object) -> bool:
        result = function(*given)
        if result < 0:
            raise failed(code_of(result), name)
        return bool(result == winerror.ERROR_SUCCESS_REBOOT_REQUIRED)

    return call


_initialize = _resulting("DismInitialize", ctypes.c_int, _TEXT, _TEXT)
_shut_down = _resulting("DismShutdown")
_open = _resulting("DismOpenSession", _TEXT, _TEXT, _TEXT, ctypes.POINTER(_UINT))
_close = _resulting("DismCloseSession", _UINT)
_delete = _resulting("DismDelete", _POINTER)
_HOW = (wintypes.HANDLE, _POINTER, _POINTER)
"""An event that ends it, who is told how far it is, and what with."""
# fmt: off
_info = _resulting(
    "DismGetFeatureInfo", _UINT, _TEXT, _TEXT, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(_Feature))
)
_enable = _resulting(
    "DismEnableFeature",
    _UINT, _TEXT, _TEXT, ctypes.c_int, wintypes.BOOL, ctypes.POINTER(_TEXT), _UINT, wintypes.BOOL, *_HOW,
)
_disable = _resulting("DismDisableFeature", _UINT, _TEXT, _TEXT, wintypes.BOOL, *_HOW)
# fmt: on


@contextmanager
def session() -> Iterator[int]:
    """With this Windows. What it needs a program of its own for goes on until the end."""
    _initialize(_LOG_ERRORS, None, None)
    try:
        opened = _UINT()
        _open(_ONLINE, None, None, ctypes.byref(opened))
        try:
            yield opened.value
        finally:
            _close(opened)
    finally:
        _shut_down()


def state(opened: int, name: str) -> int:
    """DismPackageFeatureState."""
    found = ctypes.POINTER(_Feature)()
    _info(opened, name, None, _NO_PACKAGE, ctypes.byref(found))
    try:
        return int(found.contents.state)
    finally:
        _delete(found)


def enable(opened: int, name: str, *, with_parents: bool) -> bool:
    """Whether a restart is needed. Files that are not on this disk Windows may ask its update service for."""
    return bool(_enable(opened, name, None, _NO_PACKAGE, False, None, 0, with_parents, None, None, None))


def disable(opened: int, name: str) -> bool:
    """Whether a restart is needed. Its files stay."""
    return bool(_disable(opened, name, None, False, None, None, None))
