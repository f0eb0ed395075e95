"""What an access check of Windows' is given: a SID in binary form, and a descriptor that it accepts."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import wintypes
from dataclasses import replace

from agent.host.sddl import SYSTEM, SecurityDescriptor, specific
from agent.host.windows.api.binding import dll, judged, succeeding

_POINTER = ctypes.c_void_p

_free = judged(dll("kernel32"), "LocalFree", _POINTER, _POINTER)
_sid_from_text = succeeding(
    dll("advapi32"), "ConvertStringSidToSidW", wintypes.BOOL, wintypes.LPCWSTR, ctypes.POINTER(_POINTER)
)


@contextmanager
def binary_sid(text: str) -> Iterator[int]:
    """Yield the address of a SID, valid inside the block."""
    address = _POINTER()
    _sid_from_text(text, address)
    try:
        yield address.value or 0
    finally:
        _free(address)


def judgeable(descriptor: SecurityDescriptor) -> SecurityDescriptor:
    """Return the descriptor with a group, which an access check needs, and without generic rights.

    Authz maps no generic right to a file's own.
    """
    aces = descriptor.aces and tuple(replace(ace, mask=specific(ace.mask)) for ace in descriptor.aces)
    return replace(descriptor, group=descriptor.group or SYSTEM, aces=aces)
