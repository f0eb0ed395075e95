"""Changes below a folder, by ReadDirectoryChanges."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import threading
from typing import TYPE_CHECKING, Self

from agent.host.port import FileChange, FileKind
from agent.host.windows.api import files as api
from agent.host.windows.api.directory_changes import Changes
from agent.host.windows.api.processes import close, event, set_event, wait_for_any
from agent.host.windows.failure import telling
from agent.host.windows.walking import expect, folder_of, kernel_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PureWindowsPath

    from agent.host.port import Clock


class FileWatch:
    """Watch[FileChange]. One thread at a time waits; any may close it."""

    def __init__(self, path: PureWindowsPath, recursive: bool, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._busy = threading.Lock()
        self._closed = False
        with telling("watch", str(path)):
            self._changes = Changes(_open(path), recursive)
        self._closing = event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, seconds: float) -> Sequence[FileChange]:
        deadline = self._clock.monotonic() + seconds
        with self._busy, telling("watch", str(self._path)):
            while not self._closed:
                names = self._changes.take()
                if names:
                    return [FileChange(self._path / name if name else None) for name in names]
                left = deadline - self._clock.monotonic()
                if left <= 0 or wait_for_any([self._closing, self._changes.event], left) == 0:
                    break
        return []

    def close(self) -> None:
        if self._closed:
            return
        set_event(self._closing)
        with self._busy:
            if not self._closed:
                self._closed = True
                self._changes.close()
                close(self._closing)


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
