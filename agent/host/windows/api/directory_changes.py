"""ReadDirectoryChanges with overlapped input (kernel32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from contextlib import suppress
from ctypes import wintypes

from agent.host.windows.api.binding import dll, judged, succeeding
from agent.host.windows.api.files import linked_names
from agent.host.windows.api.processes import close, event
from agent.host.windows.failure import Win32Failure

# FILE_NOTIFY_CHANGE_: FILE_NAME, DIR_NAME, SIZE, LAST_WRITE, SECURITY
_WATCHED = 0x001 | 0x002 | 0x008 | 0x010 | 0x100
MOST_ROOM = 0x1_0000
"""The largest that works everywhere."""

_IO_INCOMPLETE = 996
_LOST = {995, 1022}
"""OPERATION_ABORTED, when the thread that asked has ended; NOTIFY_ENUM_DIR, when too much happened."""

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_POINTER = ctypes.c_void_p


class _Overlapped(ctypes.Structure):
    """OVERLAPPED"""

    _fields_ = (
        ("status", ctypes.c_size_t),
        ("size", ctypes.c_size_t),
        ("offset", ctypes.c_uint64),
        ("event", _HANDLE),
    )


_kernel32 = dll("kernel32")
# fmt: off
_read_changes = succeeding(
    _kernel32, "ReadDirectoryChangesW", _BOOL,
    _HANDLE, _POINTER, _DWORD, _BOOL, _DWORD, _POINTER, ctypes.POINTER(_Overlapped), _POINTER,
)
_result = succeeding(
    _kernel32, "GetOverlappedResult", _BOOL,
    _HANDLE, ctypes.POINTER(_Overlapped), ctypes.POINTER(_DWORD), _BOOL,
)
_cancel = judged(_kernel32, "CancelIoEx", _BOOL, _HANDLE, ctypes.POINTER(_Overlapped))
# fmt: on


class Changes:
    """Asks at once, so that what happens from now on is told. Takes the folder's handle over."""

    def __init__(self, folder: int, recursive: bool, room: int = MOST_ROOM) -> None:
        """`room` is for names, in bytes; what there is no room for Windows loses count of."""
        self._room = room
        self._folder = folder
        self._recursive = recursive
        self._buffer = ctypes.create_string_buffer(room)
        self.event = event()
        self._overlapped = _Overlapped(event=self.event)
        self._asked = False
        self._closed = False
        try:
            self._ask()
        except BaseException:
            self.close()
            raise

    def take(self) -> list[str | None]:
        """Paths below the folder; None stands for changes that Windows lost count of. Empty if none."""
        count = _DWORD()
        try:
            _result(self._folder, self._overlapped, count, False)
        except Win32Failure as failure:
            if failure.code == _IO_INCOMPLETE:
                return []
            if failure.code not in _LOST:
                raise
        names: list[str | None] = [None]
        if count.value:
            names = list(dict.fromkeys(linked_names(self._buffer.raw[: count.value], name_offset=12)))
        self._ask()
        return names

    def __del__(self) -> None:
        # Forgotten instead of closed: the kernel would go on writing into what is no longer ours.
        self.close()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._asked:
            # The kernel writes into the buffer until it says that it has stopped.
            _cancel(self._folder, self._overlapped)
            with suppress(Win32Failure):
                _result(self._folder, self._overlapped, _DWORD(), True)
        close(self._folder)
        close(self.event)

    def _ask(self) -> None:
        self._asked = False
        # fmt: off
        _read_changes(
            self._folder, self._buffer, self._room, self._recursive, _WATCHED, None, self._overlapped, None
        )
        # fmt: on
        self._asked = True
