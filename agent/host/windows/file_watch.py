"""Changes below a folder, by ReadDirectoryChanges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.host.port import Clock, FileChange, FileKind, KeyChange, RoutingChange
from agent.host.windows.api import files as api
from agent.host.windows.api.directory_changes import MOST_ROOM, Changes
from agent.host.windows.api.processes import wait_for_any
from agent.host.windows.closing import Closing
from agent.host.windows.failure import Win32Error, telling
from agent.host.windows.walking import expect, folder_of, kernel_name

if TYPE_CHECKING:
    from agent.host.windows.api.routing_changes import RoutingChanges
    from agent.host.windows.key_watch import KeyWatch

_LITTLE_ROOM = 0x1000
"""For each of many folders, in a process that stays."""


class FileWatch(Closing[FileChange]):
    def __init__(self, path: PureWindowsPath, recursive: bool, clock: Clock, room: int = MOST_ROOM) -> None:
        self._path = path
        self._clock = clock
        with telling("watch", str(path)):
            self._changes = Changes(_open(path), recursive, room)
        super().__init__()

    def wait(self, seconds: float) -> Sequence[FileChange]:
        deadline = self._clock.monotonic() + seconds
        with self._busy, telling("watch", str(self._path)):
            while not self._closed:
                if news := self.news():
                    return news
                left = deadline - self._clock.monotonic()
                if left <= 0 or wait_for_any([self._closing, self._changes.event], left) == 0:
                    break
        return []

    @property
    def event(self) -> int:
        """Signalled when there is news."""
        return self._changes.event

    def news(self) -> list[FileChange]:
        """Raises Win32Error when the folder is gone."""
        return [FileChange(self._path / name if name else None) for name in self._changes.take()]

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
        self._clock = clock
        self._watches: dict[PureWindowsPath, FileWatch] = {}
        self._keys: dict[str, KeyWatch] = {}
        self._routing: RoutingChanges | None = None
        try:
            if routing:
                self._routing = _routing_changes()
            for key in keys:
                self._keys[key] = _watch_of_key(key)
            for path in paths:
                self._watches[path] = FileWatch(path, recursive=False, clock=clock, room=_LITTLE_ROOM)
        except BaseException:
            self._let_go()
            raise
        super().__init__()

    def wait(self, seconds: float) -> Sequence[FileChange | KeyChange | RoutingChange]:
        deadline = self._clock.monotonic() + seconds
        with self._busy:
            while not self._closed:
                if news := [*self._all_news()]:
                    return news
                left = deadline - self._clock.monotonic()
                events = [watch.event for watch in self._watches.values()]
                events += [watch.event for watch in self._keys.values()]
                events += [] if self._routing is None else [self._routing.event]
                if left <= 0 or wait_for_any([self._closing, *events], left) == 0:
                    break
        return []

    def _all_news(self) -> Iterator[FileChange | KeyChange | RoutingChange]:
        for path in [*self._watches]:
            yield from self._news(path)
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

    def _news(self, path: PureWindowsPath) -> list[FileChange]:
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
    from agent.host.windows.api.routing_changes import RoutingChanges  # noqa: PLC0415 - loads iphlpapi.dll

    with telling("watch", "the routes"):
        return RoutingChanges()


def _watch_of_key(key: str) -> KeyWatch:
    from agent.host.windows.key_watch import KeyWatch  # noqa: PLC0415 - loads shell32.dll, 1.2 MB

    return KeyWatch(key)


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
