"""Secrets sealed by a key of this machine (crypt32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes
from typing import TYPE_CHECKING

from agent.host.windows.api.binding import dll, judged, succeeding

if TYPE_CHECKING:
    from collections.abc import Callable

_WITHOUT_ASKING = 0x1
_FOR_THE_MACHINE = 0x4
"""Not for one account: who bootstraps is an administrator, who keeps the node is SYSTEM."""


class _Blob(ctypes.Structure):
    """DATA_BLOB"""

    _fields_ = (("size", wintypes.DWORD), ("data", ctypes.c_void_p))


_POINTER = ctypes.c_void_p
_BLOB = ctypes.POINTER(_Blob)
_crypt32 = dll("crypt32")
# fmt: off
_protect = succeeding(
    _crypt32, "CryptProtectData", wintypes.BOOL,
    _BLOB, wintypes.LPCWSTR, _BLOB, _POINTER, _POINTER, wintypes.DWORD, _BLOB,
)
_unprotect = succeeding(
    _crypt32, "CryptUnprotectData", wintypes.BOOL,
    _BLOB, _POINTER, _BLOB, _POINTER, _POINTER, wintypes.DWORD, _BLOB,
)
# fmt: on
_free = judged(dll("kernel32"), "LocalFree", wintypes.HANDLE, _POINTER)


def protected(secret: bytes) -> bytes:
    return _made(_protect, secret, "")


def unprotected(sealed: bytes) -> bytes:
    return _made(_unprotect, sealed, None)


def _made(call: Callable[..., object], given: bytes, description: str | None) -> bytes:
    held = ctypes.create_string_buffer(given, len(given) or 1)
    made = _Blob()
    call(
        _Blob(len(given), ctypes.addressof(held)),
        description,
        None,
        None,
        None,
        _FOR_THE_MACHINE | _WITHOUT_ASKING,
        made,
    )
    try:
        return ctypes.string_at(made.data, made.size)
    finally:
        _free(made.data)
