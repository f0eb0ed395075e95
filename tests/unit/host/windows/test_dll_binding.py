"""Why a function of a DLL failed is known by the code that it leaves, whichever form that has."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes
from typing import Any

import pytest

from agent.host.errors import HostError, InUse, NotFound
from agent.host.windows.api.binding import dll, last_failure, succeeding
from agent.host.windows.failure import telling
from agent.host.winerror import ERROR_MOD_NOT_FOUND

CODES = {
    "of Win32": (32, InUse, 32),
    "of crypt32": (0x8009_2004, NotFound, 0x8009_2004),
    "of crypt32, unknown": (0x8009_000B, HostError, 0x8009_000B),
    "of Win32 in an HRESULT": (0x8007_0002, NotFound, 2),
}


@pytest.mark.parametrize(("left", "kind", "code"), CODES.values(), ids=CODES)
def test_the_code_that_was_left_is_known(left: int, kind: type[HostError], code: int) -> None:
    ctypes.set_last_error(ctypes.c_int(left).value)
    with pytest.raises(HostError) as told, telling("do", "it"):
        raise last_failure("it")
    assert (type(told.value), told.value.code) == (kind, code)


def test_what_a_store_of_certificates_does_not_have_is_not_found() -> None:
    """crypt32 leaves an HRESULT, which ctypes reads as a number below zero."""
    in_memory, anything = 2, 0
    pointer, number = ctypes.c_void_p, wintypes.DWORD
    crypt32 = dll("crypt32")
    make = succeeding(crypt32, "CertOpenStore", pointer, pointer, number, pointer, number, pointer)
    find = succeeding(
        crypt32, "CertFindCertificateInStore", pointer, pointer, number, number, number, pointer, pointer
    )
    store = make(in_memory, 0, None, 0, None)
    with pytest.raises(NotFound) as told, telling("find", "a certificate"):
        find(store, 1, 0, anything, None, None)
    assert "(Windows error 0x80092004)" in str(told.value)


def test_a_library_that_is_not_there_is_known_by_its_code_in_the_exe_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = ctypes.WinDLL

    def of_pyinstaller(name: str, **options: Any) -> ctypes.WinDLL:
        try:
            return system(name, **options)
        except OSError as failure:
            raise OSError("Failed to load dynlib/dll") from failure

    monkeypatch.setattr(ctypes, "WinDLL", of_pyinstaller)
    with pytest.raises(HostError) as told, telling("use", "it"):
        dll("nosuchlibrary")
    assert told.value.code == ERROR_MOD_NOT_FOUND
