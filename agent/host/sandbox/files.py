"""Files and folders in the sandbox's C:, and their changes, for which it looks again and again."""

import hashlib
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from agent.host import winerror
from agent.host.errors import AccessDenied, AlreadyExists, NotEmpty, NotFound, WrongKind, host_error
from agent.host.files import (
    Content,
    Entry,
    Examined,
    FileChange,
    FileKind,
    FileState,
    KeyChange,
    Reading,
    RoutingChange,
)
from agent.host.names import check_path
from agent.host.port import Clock, T_co, Watch
from agent.host.registry_contents import forget_removal
from agent.host.replacing import VolumeFiles, added, patiently
from agent.host.sandbox import held
from agent.host.sandbox.descriptors import ADD_FOLDER, APPEND_DATA, READ_DATA, Descriptors, SandboxAccess
from agent.host.sandbox.failure import telling
from agent.host.sandbox.networks import SandboxRoutes
from agent.host.sandbox.places import Drive, Place
from agent.host.sandbox.power import remove_at_reboot
from agent.host.sandbox.registry import SandboxRegistry
from agent.host.sandbox.state import FOLDER_NAME
from agent.host.sandbox.volume import SandboxVolume
from agent.host.sddl import READ_CONTROL, WRITE_DAC, SecurityDescriptor

_ASK = "ask for the protection of"
_BLOCK = 1 << 20


@dataclass(eq=False, repr=False)
class SandboxFiles(VolumeFiles):
    _drive: Drive
    _volume: SandboxVolume
    _descriptors: Descriptors
    _access: SandboxAccess
    _registry: SandboxRegistry
    _routes: SandboxRoutes
    _clock: Clock

    def observe(self, path: PureWindowsPath) -> FileState | None:
        try:
            place = self._drive.locate("look at", path)
        except NotFound:
            return None
        return _state(place)

    def examine(self, path: PureWindowsPath, *, content: bool = False) -> Examined | None:
        try:
            place = self._drive.locate("look at", path)
        except NotFound:
            return None
        state = _state(place)
        if state is None or state.kind is FileKind.LINK:
            return Examined(state, None) if state else None
        descriptor = self._descriptor(place)
        if not content or state.kind is not FileKind.FILE:
            return Examined(state, descriptor)
        self._access.require_of("read", place, descriptor, READ_DATA)
        with held.opened("read", place, os.O_RDONLY) as opened:
            return Examined(state, descriptor, _sha256(opened, state.size))

    def entries(self, path: PureWindowsPath) -> Iterator[Entry]:
        folder = self._drive.existing("list", path)
        for name in self.list(path):
            place = self._drive.inside(folder, name)
            state = _state(place)
            if state is not None:
                descriptor = None if state.kind is FileKind.LINK else self._descriptor(place)
                yield Entry(name, state.kind, descriptor)

    def link_target(self, path: PureWindowsPath) -> PureWindowsPath:
        place = self._drive.locate("read the link", path)
        if not place.is_link:
            code = (
                winerror.ERROR_FILE_NOT_FOUND if place.state is None else winerror.ERROR_NOT_A_REPARSE_POINT
            )
            raise host_error("read the link", str(path), code)
        target = os.readlink(place.file)  # noqa: PTH115 - it may be a path of Windows
        inside = self._drive.path_of(target) if os.path.isabs(target) else None  # noqa: PTH117
        return inside or PureWindowsPath(target)

    def read(self, path: PureWindowsPath, limit: int | None = None) -> bytes:
        with held.opened("read", self._readable(path), os.O_RDONLY) as descriptor:
            return _read(descriptor, os.fstat(descriptor).st_size + _BLOCK if limit is None else limit)

    def blocks(self, path: PureWindowsPath) -> Iterator[bytes]:
        with held.opened("read", self._readable(path), os.O_RDONLY) as descriptor:
            source = os.fdopen(os.dup(descriptor), "rb", buffering=0)

        def pieces() -> Iterator[bytes]:
            with source, telling("read", path):
                while block := source.read(_BLOCK):
                    yield block

        return pieces()

    @contextmanager
    def reading(self, path: PureWindowsPath) -> Iterator[Reading]:
        with held.opened("read", self._readable(path), os.O_RDONLY) as descriptor:
            yield _Reading(descriptor)

    def tail(self, path: PureWindowsPath, limit: int) -> bytes:
        with held.opened("read", self._readable(path), os.O_RDONLY) as descriptor:
            os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - limit), os.SEEK_SET)
            return _read(descriptor, limit)

    def native_path(self, path: PureWindowsPath) -> Path:
        return Path(self._readable(path).file)

    def list(self, path: PureWindowsPath) -> Sequence[str]:
        place = self._folder("list", path)
        self._access.require("list", place, READ_DATA)
        with telling("list", path):
            names = os.listdir(place.file)  # noqa: PTH208 - names are all that is wanted
        if place.folder is None:
            names = [name for name in names if name != FOLDER_NAME]
        return sorted(names, key=str.casefold)

    def make_directory(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        place = self._drive.locate("create", path)
        if place.state is not None or place.folder is None:
            raise AlreadyExists("create", str(path), winerror.ERROR_ALREADY_EXISTS)
        self._access.require("create", place.folder, ADD_FOLDER)
        self._descriptors.expect(place, descriptor)
        mode = self._descriptors.mode(descriptor)
        with telling("create", path):
            os.mkdir(place.file, mode)  # noqa: PTH102
            os.chmod(place.file, mode)  # noqa: PTH101

    def append(
        self,
        path: PureWindowsPath,
        content: Content,
        descriptor: SecurityDescriptor,
        *,
        flushed: bool = True,  # noqa: ARG002 - no power is cut here, see agent.host.sandbox.state
    ) -> None:
        self._volume.check_target(path)
        place = self._drive.locate("append to", path)
        if place.state is None:
            handle = self._volume.create(path, descriptor)
            try:
                self._add(handle, content)
            finally:
                self._volume.close(handle)
            return
        self._access.require("append to", place, APPEND_DATA)
        if not place.state.st_mode & 0o200:
            # This system would let its superuser.
            raise AccessDenied("append to", str(path), winerror.ERROR_ACCESS_DENIED, "it is marked read-only")
        with held.opened("append to", place, os.O_WRONLY | os.O_APPEND) as opened:
            self._add(opened, content)

    def _add(self, handle: int, content: Content) -> None:
        volume = self._volume
        added(content, lambda block: volume.write(handle, block), lambda: volume.flush(handle))

    def set_aside(
        self,
        path: PureWindowsPath,
        target: PureWindowsPath,
        owners: Collection[str],
        descriptor: SecurityDescriptor,
    ) -> bool:
        place = self._drive.locate("move", path)
        if place.state is None:
            raise host_error("move", str(path), winerror.ERROR_FILE_NOT_FOUND)
        if self._descriptors.of(place).owner in (None, *owners):
            return False
        if place.is_link:
            self._move_link(place, target)
            return True
        patiently(self._clock, lambda: held.check_free("move", place))
        self.move(path, target)
        if place.is_folder:
            self.set_descriptor(target, descriptor)
        return True

    def _move_link(self, place: Place, target: PureWindowsPath) -> None:
        free = self._drive.locate("move", target)
        if free.state is not None:
            raise AlreadyExists("move", f"{place} to {target}", winerror.ERROR_ALREADY_EXISTS)
        with telling("move", place.path):
            os.rename(place.file, free.file)  # noqa: PTH104

    def remove_directory(self, path: PureWindowsPath) -> None:
        patiently(self._clock, lambda: self._remove_directory(path))

    def _remove_directory(self, path: PureWindowsPath) -> None:
        place = self._folder("remove", path)
        self._access.require_removal("remove", place)
        held.check_free("remove", place)
        try:
            with telling("remove", path):
                os.rmdir(place.file)  # noqa: PTH106
        except AlreadyExists as failure:
            # What some systems say of a folder that isn't empty.
            raise NotEmpty("remove", str(path), winerror.ERROR_DIR_NOT_EMPTY) from failure
        self._descriptors.forget(place)

    def remove_at_reboot(self, path: PureWindowsPath) -> None:
        remove_at_reboot(self._registry, self._drive.existing("remove", path).path)

    def keep_at_reboot(self, path: PureWindowsPath) -> None:
        check_path("keep", path)
        forget_removal(self._registry, path)

    def descriptor(self, path: PureWindowsPath) -> SecurityDescriptor:
        return self._descriptor(self._drive.existing(_ASK, path))

    def _descriptor(self, place: Place) -> SecurityDescriptor:
        descriptor = self._descriptors.of(place)
        if not self._access.is_administrator():
            # An administrator may look at anything, by the privilege to back it up.
            self._access.require_of(_ASK, place, descriptor, READ_CONTROL)
        return descriptor

    def set_descriptor(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        place = self._drive.existing("protect", path)
        if not self._access.is_administrator():
            # Administrators need no right: they may take ownership of anything.
            self._access.require("protect", place, WRITE_DAC)
        with telling("protect", path):
            self._descriptors.set(place, descriptor)

    def watch(self, path: PureWindowsPath, *, recursive: bool) -> Watch[FileChange]:
        return FileWatch(self._folder("watch", path), recursive=recursive)

    def watch_all(
        self, paths: Sequence[PureWindowsPath], keys: Sequence[str] = (), *, routing: bool = False
    ) -> Watch[FileChange | KeyChange | RoutingChange]:
        folders = [self._folder("watch", path) for path in paths]
        return JointWatch(folders, self._registry, keys, self._routes.in_force if routing else None)

    def _readable(self, path: PureWindowsPath) -> Place:
        place = self._drive.existing("read", path)
        if place.is_folder:
            raise WrongKind("read", str(path), winerror.ERROR_DIRECTORY_NOT_SUPPORTED)
        self._access.require("read", place, READ_DATA)
        return place

    def _folder(self, action: str, path: PureWindowsPath) -> Place:
        place = self._drive.existing(action, path)
        if not place.is_folder:
            raise WrongKind(action, str(path), winerror.ERROR_DIRECTORY)
        return place


class _Reading:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read(self, size: int) -> bytes:
        return os.read(self._descriptor, min(size, _BLOCK))

    def seek(self, offset: int) -> None:
        os.lseek(self._descriptor, offset, os.SEEK_SET)


def _state(place: Place) -> FileState | None:
    state = place.state
    if state is None:
        return None
    kind = FileKind.LINK if place.is_link else FileKind.DIRECTORY if place.is_folder else FileKind.FILE
    size = state.st_size if kind is FileKind.FILE else 0
    return FileState(kind, size, state.st_mtime, read_only=not state.st_mode & 0o200)


def _sha256(descriptor: int, size: int) -> str:
    digest = hashlib.sha256()
    while block := os.read(descriptor, min(size + 1, _BLOCK)):
        digest.update(block)
    return digest.hexdigest()


def _read(descriptor: int, limit: int) -> bytes:
    """A read of the operating system may give less than there is."""
    parts = []
    while limit > 0 and (part := os.read(descriptor, min(limit, _BLOCK))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


_POLL_SECONDS = 0.05
"""Between two looks: Python's standard library has nothing better."""

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
        self._keys = {key: self._content(key) for key in keys}
        for key, content in self._keys.items():
            if content is None:
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
        before, now = self._keys[key], self._content(key)
        if now is None:
            del self._keys[key]
        else:
            self._keys[key] = now
        return before != now

    def _is_routed_otherwise(self) -> bool:
        before = self._routed
        self._routed = None if self._routing is None else self._routing()
        return before != self._routed

    def _content(self, key: str) -> object:
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
