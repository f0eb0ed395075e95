"""Changes below folders, by ReadDirectoryChanges with overlapped input, and of keys of the registry."""

from __future__ import annotations

import winreg
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ctypes import c_void_p, wintypes
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

import pywintypes
import win32event
import win32file

from agent.host import winerror
from agent.host.files import FileChange, FileKind, KeyChange, RoutingChange
from agent.host.port import Clock
from agent.host.windows.api import files as api
from agent.host.windows.api.binding import dll, judged
from agent.host.windows.api.processes import is_signalled
from agent.host.windows.closing import Closing
from agent.host.windows.failure import Win32Error, telling
from agent.host.windows.walking import expect, folder_of, kernel_name

if TYPE_CHECKING:
    from agent.host.windows.routes import RoutingChanges

# FILE_NOTIFY_CHANGE_: FILE_NAME, DIR_NAME, SIZE, LAST_WRITE, SECURITY
_WATCHED = 0x001 | 0x002 | 0x008 | 0x010 | 0x100
MOST_ROOM = 0x1_0000
"""The largest that works everywhere."""

_LOST = {winerror.ERROR_OPERATION_ABORTED, winerror.ERROR_NOTIFY_ENUM_DIR}
"""The first when the thread that asked has ended; the other when too much happened."""

# win32file has CancelIo, which cancels what the calling thread asked for and nothing else.
_cancel = judged(dll("kernel32"), "CancelIoEx", wintypes.BOOL, wintypes.HANDLE, c_void_p)
_ALL_OF_THE_HANDLE = None
_LITTLE_ROOM = 0x1000
"""For each of many folders, in a process that stays."""
_NAMES_AND_VALUES = 0x1 | 0x4
"""REG_NOTIFY_CHANGE_NAME, REG_NOTIFY_CHANGE_LAST_SET"""
_WHOEVER_ASKED = 0x1000_0000
"""REG_NOTIFY_THREAD_AGNOSTIC: the thread that asks may end, or not be the one that waits."""


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


class KeyWatch:
    """Of its values, and the names of the keys below, told by an event that is waited for beside others."""

    def __init__(self, key: str) -> None:
        with telling("watch", f"registry key HKLM\\{key}"):
            access = winreg.KEY_NOTIFY | winreg.KEY_WOW64_64KEY
            self._key = winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, access)
            self.event = win32event.CreateEvent(None, True, False, None)
            try:
                self._ask()
            except BaseException:
                self.close()
                raise

    def has_changed(self) -> bool:
        """Since it was asked last. Raises Win32Error when the key is gone."""
        if not is_signalled(self.event):
            return False
        win32event.ResetEvent(self.event)
        self._ask()
        return True

    def close(self) -> None:
        self._key.Close()
        win32file.CloseHandle(self.event)

    def _ask(self) -> None:
        import win32api  # noqa: PLC0415 - loads shell32.dll, 1.2 MB

        # It takes a handle of winreg's as a number.
        key = int(self._key)
        win32api.RegNotifyChangeKeyValue(key, False, _NAMES_AND_VALUES | _WHOEVER_ASKED, self.event, True)  # type: ignore[arg-type]


class FileWatch(Closing[FileChange]):
    def __init__(self, path: PureWindowsPath, recursive: bool, clock: Clock, room: int = MOST_ROOM) -> None:
        self._path = path
        with telling("watch", str(path)):
            self._changes = Changes(_open(path), recursive, room)
        super().__init__(clock)

    @property
    def event(self) -> int:
        """Signalled when there is news."""
        return self._changes.event

    def news(self) -> list[FileChange]:
        """Raises Win32Error when the folder is gone."""
        return [FileChange(self._path / name if name else None) for name in self._changes.take()]

    def _news(self) -> Sequence[FileChange]:
        with telling("watch", str(self._path)):
            return self.news()

    def _events(self) -> Sequence[int]:
        return [self.event]

    def _let_go(self) -> None:
        self._changes.close()


class JointWatch(Closing[FileChange | KeyChange | RoutingChange]):
    """Folders, keys of the registry and routes, waited for in one thread: each further one would cost a
    megabyte.
    """

    def __init__(
        self,
        paths: Sequence[PureWindowsPath],
        clock: Clock,
        keys: Sequence[str] = (),
        *,
        routing: bool = False,
    ) -> None:
        self._watches: dict[PureWindowsPath, FileWatch] = {}
        self._keys: dict[str, KeyWatch] = {}
        self._routing: RoutingChanges | None = None
        try:
            if routing:
                self._routing = _routing_changes()
            for key in keys:
                self._keys[key] = KeyWatch(key)
            for path in paths:
                self._watches[path] = FileWatch(path, recursive=False, clock=clock, room=_LITTLE_ROOM)
        except BaseException:
            self._let_go()
            raise
        super().__init__(clock)

    def _events(self) -> Sequence[int]:
        events = [watch.event for watch in self._watches.values()]
        events += [watch.event for watch in self._keys.values()]
        return events if self._routing is None else [*events, self._routing.event]

    def _news(self) -> Sequence[FileChange | KeyChange | RoutingChange]:
        return [*self._all_news()]

    def _all_news(self) -> Iterator[FileChange | KeyChange | RoutingChange]:
        for path in [*self._watches]:
            yield from self._news_of(path)
        for key in [*self._keys]:
            if self._has_changed(key):
                yield KeyChange(key)
        if self._routing is not None and self._routing.any():
            yield RoutingChange()

    def _has_changed(self, key: str) -> bool:
        try:
            return self._keys[key].has_changed()
        except Win32Error:
            self._keys.pop(key).close()
            return True

    def _news_of(self, path: PureWindowsPath) -> list[FileChange]:
        try:
            news = self._watches[path].news()
        except Win32Error:
            # As long as it is open, a folder that was removed keeps its name.
            self._watches.pop(path).close()
            return [FileChange(path)]
        return [FileChange(change.path or path) for change in news]

    def _let_go(self) -> None:
        while self._watches:
            self._watches.popitem()[1].close()
        while self._keys:
            self._keys.popitem()[1].close()
        if self._routing is not None:
            self._routing.close()
            self._routing = None


def _routing_changes() -> RoutingChanges:
    from agent.host.windows.routes import RoutingChanges  # noqa: PLC0415 - loads iphlpapi.dll

    with telling("watch", "the routes"):
        return RoutingChanges()


def _open(path: PureWindowsPath) -> int:
    # Not SYNCHRONOUS: such a handle could not be closed while it waits for a change.
    with folder_of(path) as folder:
        handle = api.open_in(folder, path.name or kernel_name(path), api.LIST_DIRECTORY)
    try:
        expect(handle, FileKind.DIRECTORY)
    except BaseException:
        api.close(handle)
        raise
    return handle
