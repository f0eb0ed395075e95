"""Parts of Windows that can be switched on, by the DISM API (dismapi.dll), for the Windows that runs."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from ctypes import wintypes
from functools import cache
from typing import Any

from agent.host import winerror
from agent.host.errors import Unsupported
from agent.host.port import Clock, FeatureState
from agent.host.windows.api.binding import dll, judged
from agent.host.windows.failure import Advices, Win32Error, code_of, failed, telling

_ADVICES: Advices = {
    Unsupported: "it has no dismapi.dll",
    winerror.ERROR_ELEVATION_REQUIRED: "run this as an administrator",
    winerror.CBS_E_SOURCE_MISSING: (
        "its files are not on this machine: add it by Windows' installation medium"
    ),
    0x800F_0902: "Windows installs something else just now; try again later",
    0xC004_000D: "what it is part of is not enabled; say withParents: true",
}
_STATES = {
    0: FeatureState.DISABLED,  # not present
    1: FeatureState.DISABLE_PENDING,
    2: FeatureState.DISABLED,  # staged
    3: FeatureState.REMOVED,
    4: FeatureState.ENABLED,
    5: FeatureState.ENABLE_PENDING,
    6: FeatureState.DISABLED,  # superseded
    7: FeatureState.DISABLED,  # in part
}
"""By DismPackageFeatureState."""
_JUST_NOW_SECONDS = 5.0
"""A look starts a program of Windows' and takes seconds itself, and a run looks several times."""

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


_HOW = (wintypes.HANDLE, _POINTER, _POINTER)
"""An event that ends it, who is told how far it is, and what with."""
# fmt: off
_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "DismInitialize": (ctypes.c_int, _TEXT, _TEXT),
    "DismShutdown": (),
    "DismOpenSession": (_TEXT, _TEXT, _TEXT, ctypes.POINTER(_UINT)),
    "DismCloseSession": (_UINT,),
    "DismDelete": (_POINTER,),
    "DismGetFeatureInfo": (_UINT, _TEXT, _TEXT, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(_Feature))),
    "DismEnableFeature": (
        _UINT, _TEXT, _TEXT, ctypes.c_int, wintypes.BOOL, ctypes.POINTER(_TEXT), _UINT, wintypes.BOOL, *_HOW,
    ),
    "DismDisableFeature": (_UINT, _TEXT, _TEXT, wintypes.BOOL, *_HOW),
}
# fmt: on


class WindowsFeatures:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[float, FeatureState | None]] = {}

    def state(self, name: str) -> FeatureState | None:
        seen = self._seen.get(name.lower())
        if seen is None or self._clock.monotonic() > seen[0] + _JUST_NOW_SECONDS:
            state = self._state(name)
            self._seen[name.lower()] = seen = self._clock.monotonic(), state
        return seen[1]

    def _state(self, name: str) -> FeatureState | None:
        with _telling("read", name):
            try:
                with session() as opened:
                    return _STATES[state_number(opened, name)]
            except Win32Error as failure:
                if failure.winerror == winerror.DISMAPI_E_UNKNOWN_FEATURE:
                    return None
                raise

    def enable(self, name: str, *, with_parents: bool) -> bool:
        self._seen.clear()
        with _telling("enable", name), session() as opened:
            return enable(opened, name, with_parents=with_parents)

    def disable(self, name: str) -> bool:
        self._seen.clear()
        with _telling("disable", name), session() as opened:
            return _ask("DismDisableFeature", opened, name, None, False, None, None, None)


def _telling(action: str, name: str) -> AbstractContextManager[None]:
    return telling(action, f"Windows feature {name}", advices=_ADVICES)


@contextmanager
def session() -> Iterator[int]:
    """With this Windows. What it needs a program of its own for goes on until the end."""
    _ask("DismInitialize", _LOG_ERRORS, None, None)
    try:
        opened = _UINT()
        _ask("DismOpenSession", _ONLINE, None, None, ctypes.byref(opened))
        try:
            yield opened.value
        finally:
            _ask("DismCloseSession", opened)
    finally:
        _ask("DismShutdown")


def state_number(opened: int, name: str) -> int:
    found = ctypes.POINTER(_Feature)()
    _ask("DismGetFeatureInfo", opened, name, None, _NO_PACKAGE, ctypes.byref(found))
    try:
        return int(found.contents.state)
    finally:
        _ask("DismDelete", found)


def enable(opened: int, name: str, *, with_parents: bool) -> bool:
    """Files that are not on this disk Windows may ask its update service for."""
    how = (None, _NO_PACKAGE, False, None, 0, with_parents, None, None, None)
    return _ask("DismEnableFeature", opened, name, *how)


def _ask(name: str, *arguments: object) -> bool:
    """Whether a success needs a restart; a failure is raised, also that this Windows has no such DLL."""
    result = _function(name)(*arguments)
    if result < 0:
        raise failed(code_of(result), name)
    return bool(result == winerror.ERROR_SUCCESS_REBOOT_REQUIRED)


@cache
def _function(name: str) -> Callable[..., int]:
    return judged(dll("dismapi"), name, ctypes.c_int32, *_PARAMETERS[name])
