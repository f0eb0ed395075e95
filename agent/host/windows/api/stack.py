"""The calling thread's stack (kernel32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes

from agent.host.windows.api.binding import dll, judged, succeeding

_PAGE = 0x1000
_COMMITTED = 0x1000
_WRITABLE = 0x04
_IN_USE = 0x1_0000
"""Below the stack pointer, for the calls that are made here; more than any of them takes."""
_CONTEXT_SIZE, _CONTEXT_ALIGNMENT, _STACK_POINTER = 0x4D0, 0x10, 0x98
"""CONTEXT (x64), and in it Rsp."""

_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t


class _Region(ctypes.Structure):
    """MEMORY_BASIC_INFORMATION"""

    _fields_ = (
        ("start", _SIZE),
        ("allocation", _SIZE),
        ("first_protection", wintypes.DWORD),
        ("partition", wintypes.DWORD),
        ("size", _SIZE),
        ("state", wintypes.DWORD),
        ("protection", wintypes.DWORD),
        ("type", wintypes.DWORD),
    )


_kernel32 = dll("kernel32")
_limits = judged(_kernel32, "GetCurrentThreadStackLimits", None, ctypes.POINTER(_SIZE), ctypes.POINTER(_SIZE))
_capture = judged(_kernel32, "RtlCaptureContext", None, _POINTER)
_query = succeeding(_kernel32, "VirtualQuery", _SIZE, _SIZE, ctypes.POINTER(_Region), _SIZE)
_discard = judged(_kernel32, "DiscardVirtualMemory", wintypes.DWORD, _SIZE, _SIZE)


def give_back_stack() -> int:
    """What this thread reached once and does not use any more, as far down as that is; how many bytes.

    Windows itself takes none of it back for as long as the thread lives.
    """
    end = (_stack_pointer() - _IN_USE) & -_PAGE
    low, high = _SIZE(), _SIZE()
    _limits(ctypes.byref(low), ctypes.byref(high))
    region = _Region(start=low.value)
    # Lowest is what was never reached, then the page at which the stack grows.
    while region.start < end and not (region.state == _COMMITTED and region.protection == _WRITABLE):
        _query(region.start + region.size, ctypes.byref(region), ctypes.sizeof(region))
    size: int = end - region.start
    return size if size > 0 and _discard(region.start, size) == 0 else 0


def _stack_pointer() -> int:
    room = ctypes.create_string_buffer(_CONTEXT_SIZE + _CONTEXT_ALIGNMENT)
    context = (ctypes.addressof(room) + _CONTEXT_ALIGNMENT) & -_CONTEXT_ALIGNMENT
    _capture(context)
    return _SIZE.from_address(context + _STACK_POINTER).value
