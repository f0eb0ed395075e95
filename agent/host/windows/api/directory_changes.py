"""ReadDirectoryChanges with overlapped input, by pywin32."""

from contextlib import suppress
from ctypes import c_void_p, wintypes

import pywintypes
import win32event
import win32file

from agent.host import winerror
from agent.host.windows.api.binding import dll, judged
from agent.host.windows.failure import Win32Error

# FILE_NOTIFY_CHANGE_: FILE_NAME, DIR_NAME, SIZE, LAST_WRITE, SECURITY
_WATCHED = 0x001 | 0x002 | 0x008 | 0x010 | 0x100
MOST_ROOM = 0x1_0000
"""The largest that works everywhere."""

_LOST = {winerror.ERROR_OPERATION_ABORTED, winerror.ERROR_NOTIFY_ENUM_DIR}
"""The first when the thread that asked has ended; the other when too much happened."""

# win32file has CancelIo, which cancels what the calling thread asked for and nothing else.
_cancel = judged(dll("kernel32"), "CancelIoEx", wintypes.BOOL, wintypes.HANDLE, c_void_p)
_ALL_OF_THE_HANDLE = None


class Changes:
    """Asks at once, so that what happens from now on is told. Takes the folder's handle over."""

    def __init__(self, folder: int, recursive: bool, room: int = MOST_ROOM) -> None:
        """`room` is for names, in bytes; what there is no room for Windows loses count of."""
        self._folder = folder
        self._recursive = recursive
        # pywin32 keeps no reference to these while Windows writes to them.
        self._buffer = win32file.AllocateReadBuffer(room)
        self._overlapped = pywintypes.OVERLAPPED()
        self.event = self._overlapped.hEvent = win32event.CreateEvent(None, True, False, None)
        self._asked = False
        self._closed = False
        try:
            self._ask()
        except BaseException:
            self.close()
            raise

    def take(self) -> list[str | None]:
        """Paths below the folder; None stands for changes that Windows lost count of. Empty if none."""
        size = 0
        try:
            size = win32file.GetOverlappedResult(self._folder, self._overlapped, False)
        except Win32Error as failure:
            if failure.winerror == winerror.ERROR_IO_INCOMPLETE:
                return []
            if failure.winerror not in _LOST:
                raise
        names: list[str | None] = [None]
        if size:
            found = win32file.FILE_NOTIFY_INFORMATION(self._buffer, size)  # type: ignore[arg-type]
            names = list(dict.fromkeys(name for _, name in found))
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
            _cancel(self._folder, _ALL_OF_THE_HANDLE)
            with suppress(Win32Error):
                win32file.GetOverlappedResult(self._folder, self._overlapped, True)
        win32file.CloseHandle(self._folder)
        win32file.CloseHandle(self.event)

    def _ask(self) -> None:
        self._asked = False
        win32file.ReadDirectoryChangesW(
            self._folder, self._buffer, self._recursive, _WATCHED, self._overlapped
        )
        self._asked = True
