"""Changes below a folder, seen by looking again every 50 ms: Python's standard library has nothing better."""

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import NotFound
from agent.host.port import FileChange, KeyChange, RoutingChange, T_co, Watch
from agent.host.sandbox.places import Place
from agent.host.sandbox.registry import SandboxRegistry

_POLL_SECONDS = 0.05

_Look = tuple[int, int, int, int]


class _PollingWatch(Watch[T_co]):
    _closed = False

    def wait(self, seconds: float) -> Sequence[T_co]:
        deadline = time.monotonic() + seconds
        while not self._closed:
            if news := self.news():
                return news
            left = deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(left, _POLL_SECONDS))
        return []

    def close(self) -> None:
        self._closed = True

    @abstractmethod
    def news(self) -> Sequence[T_co]:
        """What is other than at the last look."""


class FileWatch(_PollingWatch[FileChange]):
    def __init__(self, folder: Place, *, recursive: bool) -> None:
        self._folder = folder
        self._recursive = recursive
        self._seen = self._look()

    def news(self) -> Sequence[FileChange]:
        before, self._seen = self._seen, self._look()
        return [self._change(file) for file in sorted(_differing(before, self._seen))]

    def _look(self) -> dict[str, _Look]:
        return dict(self._entries(self._folder.file))

    def _entries(self, folder: str) -> Iterator[tuple[str, _Look]]:
        # What vanishes while it is looked at is a change of its own.
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    state = entry.stat(follow_symlinks=False)
                    yield entry.path, (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
                if self._recursive and entry.is_dir(follow_symlinks=False):
                    yield from self._entries(entry.path)

    def _change(self, file: str) -> FileChange:
        below = os.path.relpath(file, self._folder.file)
        return FileChange(self._folder.path / below)


class JointWatch(_PollingWatch[FileChange | KeyChange | RoutingChange]):
    """Several folders, keys of the registry and, if they can be asked for, routes as one."""

    def __init__(
        self,
        folders: Sequence[Place],
        registry: SandboxRegistry,
        keys: Sequence[str],
        routing: Callable[[], object] | None,
    ) -> None:
        self._registry = registry
        self._keys = {key: self._held(key) for key in keys}
        for key, held in self._keys.items():
            if held is None:
                raise NotFound("watch", f"registry key {key}", winerror.ERROR_FILE_NOT_FOUND)
        self._watches = {folder.path: FileWatch(folder, recursive=False) for folder in folders}
        self._files = {folder.path: folder.file for folder in folders}
        self._routing = routing
        self._routed = None if routing is None else routing()

    def news(self) -> Sequence[FileChange | KeyChange | RoutingChange]:
        news: list[FileChange | KeyChange | RoutingChange] = [
            change for path in [*self._watches] for change in self._news(path)
        ]
        news += [KeyChange(key) for key in [*self._keys] if self._has_changed(key)]
        return [*news, RoutingChange()] if self._is_routed_otherwise() else news

    def _has_changed(self, key: str) -> bool:
        before, now = self._keys[key], self._held(key)
        if now is None:
            del self._keys[key]
        else:
            self._keys[key] = now
        return before != now

    def _is_routed_otherwise(self) -> bool:
        before = self._routed
        self._routed = None if self._routing is None else self._routing()
        return before != self._routed

    def _held(self, key: str) -> object:
        try:
            return self._registry.values(key), self._registry.keys(key)
        except NotFound:
            return None

    def _news(self, path: PureWindowsPath) -> Sequence[FileChange]:
        if not os.path.isdir(self._files[path]):  # noqa: PTH112 - asked twenty times a second
            del self._watches[path]
            return [FileChange(path)]
        return self._watches[path].news()


def _differing(before: dict[str, _Look], after: dict[str, _Look]) -> set[str]:
    return {file for file in before.keys() | after.keys() if before.get(file) != after.get(file)}
