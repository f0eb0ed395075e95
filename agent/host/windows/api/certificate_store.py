"""The certificates that the whole machine believes: the system store ROOT (crypt32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from contextlib import contextmanager
from ctypes import wintypes
from typing import TYPE_CHECKING, Any

from agent.host.windows.api.binding import dll, judged, succeeding
from agent.host.windows.failure import Win32Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

_DWORD = wintypes.DWORD
_POINTER = ctypes.c_void_p

_SYSTEM_STORE = 10
"""CERT_STORE_PROV_SYSTEM_W: a number in the place of a name."""
_OF_THE_MACHINE, _EXISTING, _READ_ONLY = 0x2_0000, 0x4000, 0x8000
_NAME = "ROOT"
_ENCODING = 0x1 | 0x1_0000
"""X.509, PKCS #7."""
_BY_SHA1 = 0x1_0000
_REPLACE = 3
_COMMIT = 3
_NOT_FOUND = 0x8009_2004
"""CRYPT_E_NOT_FOUND"""


class _Blob(ctypes.Structure):
    """CRYPT_DATA_BLOB"""

    _fields_ = (("size", _DWORD), ("data", ctypes.c_char_p))


class _Certificate(ctypes.Structure):
    """CERT_CONTEXT"""

    _fields_ = (
        ("encoding", _DWORD),
        ("encoded", _POINTER),
        ("size", _DWORD),
        ("information", _POINTER),
        ("store", _POINTER),
    )


_FOUND = ctypes.POINTER(_Certificate)
_crypt32 = dll("crypt32")
# fmt: off
_open = succeeding(
    _crypt32, "CertOpenStore", _POINTER, _POINTER, _DWORD, _POINTER, _DWORD, wintypes.LPCWSTR
)
_close = judged(_crypt32, "CertCloseStore", wintypes.BOOL, _POINTER, _DWORD)
_find = judged(
    _crypt32, "CertFindCertificateInStore", _FOUND,
    _POINTER, _DWORD, _DWORD, _DWORD, ctypes.POINTER(_Blob), _POINTER,
)
_add = succeeding(
    _crypt32, "CertAddEncodedCertificateToStore", wintypes.BOOL,
    _POINTER, _DWORD, ctypes.c_char_p, _DWORD, _DWORD, _POINTER,
)
_control = judged(_crypt32, "CertControlStore", wintypes.BOOL, _POINTER, _DWORD, _DWORD, _POINTER)
_delete = succeeding(_crypt32, "CertDeleteCertificateFromStore", wintypes.BOOL, _FOUND)
_free = judged(_crypt32, "CertFreeCertificateContext", wintypes.BOOL, _FOUND)
# fmt: on


def read(thumbprint: str) -> bytes | None:
    """DER; None for one that is not there."""
    with _opened(_READ_ONLY) as store, _found(store, thumbprint) as found:
        return ctypes.string_at(found.contents.encoded, found.contents.size) if found else None


def add(encoded: bytes) -> None:
    """In the place of what it has of that certificate, such as a purpose that it is not for."""
    with _opened() as store:
        _add(store, _ENCODING, encoded, len(encoded), _REPLACE, None)


def remove(thumbprint: str) -> None:
    """Raises Win32Failure, of one that is not there, too."""
    with _opened() as store:
        found = _look_for(store, thumbprint)
        if not found:
            raise Win32Failure(_NOT_FOUND, "CertFindCertificateInStore")
        _delete(found)  # which frees it, however that goes
        # Windows writes at once. Wine's store does when it is closed, but a deletion keeps it open for good.
        _control(store, 0, _COMMIT, None)


@contextmanager
def _opened(how: int = 0) -> Iterator[Any]:
    store = _open(_SYSTEM_STORE, 0, None, _OF_THE_MACHINE | _EXISTING | how, _NAME)
    try:
        yield store
    finally:
        _close(store, 0)


@contextmanager
def _found(store: Any, thumbprint: str) -> Iterator[Any]:
    found = _look_for(store, thumbprint)
    try:
        yield found
    finally:
        if found:
            _free(found)


def _look_for(store: Any, thumbprint: str) -> Any:
    digest = bytes.fromhex(thumbprint)
    return _find(store, _ENCODING, 0, _BY_SHA1, _Blob(len(digest), digest), None)
