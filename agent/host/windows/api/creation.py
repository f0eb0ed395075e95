"""A process that is in a job from its first moment (kernel32).

One that is taken into a job when it is there already stays for ever, suspended, where whoever made it is
killed in between. Python's subprocess knows no jobs.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import wintypes

import win32file

from agent.host.windows.api.binding import dll, judged, last_failure, succeeding
from agent.host.windows.api.processes import Process

NO_CONSOLE = 0x0000_0008
"""DETACHED_PROCESS"""
UNSEEN_CONSOLE = 0x0800_0000
"""CREATE_NO_WINDOW"""

_UNICODE_ENVIRONMENT = 0x0000_0400
_WITH_ATTRIBUTES = 0x0008_0000
_WITH_STREAMS = 0x0100
_HANDLES, _JOBS = 0x0002_0002, 0x0002_000D

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t


class _Start(ctypes.Structure):
    """STARTUPINFOEXW"""

    # fmt: off
    _fields_ = (
        ("size", _DWORD), ("texts", _POINTER * 3), ("window", _DWORD * 7), ("flags", _DWORD),
        ("show", wintypes.WORD), ("reserved_size", wintypes.WORD), ("reserved", _POINTER),
        ("streams", _HANDLE * 3), ("attributes", _POINTER),
    )
    # fmt: on


class _Made(ctypes.Structure):
    """PROCESS_INFORMATION"""

    _fields_ = (("process", _HANDLE), ("thread", _HANDLE), ("pid", _DWORD), ("thread_id", _DWORD))


_kernel32 = dll("kernel32")
_delete_list = judged(_kernel32, "DeleteProcThreadAttributeList", None, _POINTER)
# fmt: off
_initialize_list = judged(
    _kernel32, "InitializeProcThreadAttributeList", _BOOL,
    _POINTER, _DWORD, _DWORD, ctypes.POINTER(_SIZE),
)
_add_to_list = succeeding(
    _kernel32, "UpdateProcThreadAttribute", _BOOL,
    _POINTER, _DWORD, _SIZE, _POINTER, _SIZE, _POINTER, _POINTER,
)
_create = succeeding(
    _kernel32, "CreateProcessW", _BOOL,
    wintypes.LPCWSTR, wintypes.LPWSTR, _POINTER, _POINTER, _BOOL, _DWORD, wintypes.LPCWSTR, wintypes.LPCWSTR,
    ctypes.POINTER(_Start), ctypes.POINTER(_Made),
)
# fmt: on


def created(
    job: int,
    program: str,
    line: str,
    streams: Sequence[int],
    environment: Mapping[str, str] | None,
    directory: str | None,
    console: int,
) -> Process:
    """`streams` are handles for its input, its output and its errors. It inherits no others."""
    for handle in streams:
        os.set_handle_inheritable(handle, True)
    with _attributes(job, streams) as attributes:
        start = _Start(
            size=ctypes.sizeof(_Start), flags=_WITH_STREAMS, streams=tuple(streams), attributes=attributes
        )
        made = _Made()
        block = None if environment is None else ctypes.create_unicode_buffer(_block(environment))
        flags = console | _WITH_ATTRIBUTES | _UNICODE_ENVIRONMENT
        text = ctypes.create_unicode_buffer(line)
        _create(program, text, None, None, True, flags, block, directory, start, made)
    win32file.CloseHandle(made.thread)
    return Process.made(made.pid, made.process)


@contextmanager
def _attributes(job: int, streams: Sequence[int]) -> Iterator[int]:
    size = _SIZE()
    _initialize_list(None, 2, 0, size)  # fails, and says how much room it takes
    room = ctypes.create_string_buffer(size.value)
    attributes = ctypes.addressof(room)
    if not _initialize_list(attributes, 2, 0, size):
        raise last_failure("InitializeProcThreadAttributeList")
    # Windows keeps the addresses of these. A handle may be named once only.
    jobs, handles = (_HANDLE * 1)(job), (_HANDLE * len({*streams}))(*{*streams})
    try:
        for kind, values in ((_JOBS, jobs), (_HANDLES, handles)):
            _add_to_list(attributes, 0, kind, values, ctypes.sizeof(values), None, None)
        yield attributes
    finally:
        _delete_list(attributes)


def _block(environment: Mapping[str, str]) -> str:
    """As Windows has it: in the order of names, each with an end of its own. Raises ValueError for a NUL."""
    named = sorted(environment.items(), key=lambda item: item[0].upper())
    if any("\0" in name + value for name, value in named):
        raise ValueError("a variable cannot contain a NUL character")
    return "".join(f"{name}={value}\0" for name, value in named) or "\0"
