"""Files and folders. No reparse point is followed, and none can be slipped in while a path is walked."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path, PureWindowsPath
from threading import Lock
from typing import TypeVar

from agent.hashing import new_sha256
from agent.host import winerror
from agent.host.errors import InUse, NotFound, ProgramRunning
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
from agent.host.port import Clock, Watch
from agent.host.registry_contents import forget_removal
from agent.host.replacing import VolumeFiles, added, patiently
from agent.host.sddl import SecurityDescriptor
from agent.host.windows.api import files as api
from agent.host.windows.api import security
from agent.host.windows.api.files import symbolic_target
from agent.host.windows.failure import Win32Error, failed, telling
from agent.host.windows.file_watch import FileWatch, JointWatch
from agent.host.windows.registry import WindowsRegistry
from agent.host.windows.walking import expect, folder_of, kind_of, opened, refuse_link

Result = TypeVar("Result")

_FIRST_BLOCK = 1 << 14
"""Most files have no more, and a buffer is filled with zeros before anything is read into it."""
_LARGEST_BLOCK = 1 << 18
"""What a processor's cache holds, so that it is hashed there. Larger ones a heap does not keep: each would be
asked of Windows each time."""
_LARGE = 1 << 20
"""Of these the hash is remembered: kubelet.exe alone is 100 MB."""
_TICK_SECONDS = 0.1
"""More than file systems' clocks take from one time to the next. Of what was written less long ago, the same
time and size say nothing."""

_NEEDS_PRIVILEGE = {winerror.ERROR_ACCESS_DENIED, winerror.ERROR_INVALID_OWNER}
"""The other: only with SeRestorePrivilege may a file be given to anybody."""
_TO_LOOK = (security.BACKUP,)
_TO_REMOVE = (security.BACKUP, security.RESTORE)
_TO_MEND = (*_TO_REMOVE, security.TAKE_OWNERSHIP)


class WindowsFiles(VolumeFiles):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._digests = _Digests(clock)
        self._volume: _Volume = _Volume()

    def observe(self, path: PureWindowsPath) -> FileState | None:
        with suppress(NotFound), telling("look at", str(path)), _reached(path, 0) as handle:
            return _state(handle)
        return None

    def examine(self, path: PureWindowsPath, *, content: bool = False) -> Examined | None:
        with suppress(NotFound), telling("look at", str(path)):
            return self._examined(path, content=content)
        return None

    def _examined(self, path: PureWindowsPath, *, content: bool) -> Examined:
        access, share = api.READ_CONTROL, api.SHARE_ALL
        if content:
            access, share = access | api.READ_DATA, api.SHARE_READ | api.SHARE_DELETE
        with _reached(path, access, share=share) as handle:
            state = _state(handle)
            if state.kind is FileKind.LINK:
                return Examined(state, None)
            digest = None
            if content and state.kind is FileKind.FILE:
                digest = self._digests.of(path, handle, state)
            return Examined(state, _descriptor_of(handle), digest)

    def entries(self, path: PureWindowsPath) -> Iterator[Entry]:
        with telling("list", str(path)), _reached(path, api.LIST_DIRECTORY) as folder:
            expect(folder, FileKind.DIRECTORY)
            for name in sorted(api.names(folder), key=str.casefold):
                with suppress(NotFound):
                    yield self._entry(folder, path, name)

    def _entry(self, folder: int, path: PureWindowsPath, name: str) -> Entry:
        told = telling("look at", str(path / name))
        with told, _reached_in(folder, name, api.READ_CONTROL) as handle:
            kind = kind_of(api.attributes_of(handle))
            return Entry(name, kind, None if kind is FileKind.LINK else _descriptor_of(handle))

    def link_target(self, path: PureWindowsPath) -> PureWindowsPath:
        with telling("read the link", str(path)), opened(path, 0) as handle:
            target = symbolic_target(api.reparse_data(handle))
            if target is None:
                raise failed(winerror.ERROR_NOT_A_REPARSE_POINT, "DeviceIoControl")
            return PureWindowsPath(target)

    def read(self, path: PureWindowsPath, limit: int | None = None) -> bytes:
        with telling("read", str(path)), _file(path, api.SHARE_ALL) as handle:
            return b"".join(_blocks(handle, limit))

    def blocks(self, path: PureWindowsPath) -> Iterator[bytes]:
        with telling("read", str(path)), _file(path, api.SHARE_READ | api.SHARE_DELETE) as handle:
            yield from _blocks(handle)

    @contextmanager
    def reading(self, path: PureWindowsPath) -> Iterator[Reading]:
        with telling("read", str(path)), _file(path, api.SHARE_READ | api.SHARE_DELETE) as handle:
            yield _Reading(handle)

    def tail(self, path: PureWindowsPath, limit: int) -> bytes:
        with telling("read", str(path)), _file(path, api.SHARE_ALL) as handle:
            api.seek(handle, max(0, api.information(handle).size - limit))
            # Not to the end: whoever writes to it meanwhile could keep this busy for ever.
            tail = b""
            while len(tail) < limit and (part := api.read(handle, limit - len(tail))):
                tail += part
            return tail

    def native_path(self, path: PureWindowsPath) -> Path:
        with telling("read", str(path)), _file(path, api.SHARE_ALL):
            return Path(path)

    def list(self, path: PureWindowsPath) -> Sequence[str]:
        with telling("list", str(path)), _reached(path, api.LIST_DIRECTORY) as handle:
            expect(handle, FileKind.DIRECTORY)
            return sorted(api.names(handle), key=str.casefold)

    def make_directory(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        options = api.DIRECTORY | api.SYNCHRONOUS
        born = str(descriptor)
        with (
            telling("make folder", str(path)),
            opened(path, 0, disposition=api.CREATE, options=options, descriptor=born),
        ):
            pass

    def append(
        self, path: PureWindowsPath, content: Content, descriptor: SecurityDescriptor, *, flushed: bool = True
    ) -> None:
        with (
            telling("add to", str(path)),
            opened(
                path,
                api.APPEND_DATA,
                share=api.SHARE_READ if flushed else api.SHARE_ALL,
                disposition=api.OPEN_OR_CREATE,
                descriptor=str(descriptor),
            ) as handle,
        ):
            expect(handle, FileKind.FILE)

            def flush() -> None:
                if flushed:
                    api.flush(handle)

            added(content, lambda block: api.write(handle, block), flush)

    def set_aside(
        self,
        path: PureWindowsPath,
        target: PureWindowsPath,
        owners: Collection[str],
        descriptor: SecurityDescriptor,
    ) -> bool:
        return patiently(self._clock, lambda: self._volume.set_aside(path, target, owners, descriptor))

    def remove_directory(self, path: PureWindowsPath) -> None:
        def remove() -> None:
            with (
                telling("remove folder", str(path)),
                _reached(path, api.DELETE, privileges=_TO_REMOVE) as handle,
            ):
                expect(handle, FileKind.DIRECTORY)
                api.remove(handle)

        patiently(self._clock, remove)

    def remove_at_reboot(self, path: PureWindowsPath) -> None:
        with telling("remove at the next start of Windows", str(path)):
            with _reached(path, 0):
                pass
            # Windows keeps the path, not the file. The prefix spares it the limit of 260 characters.
            api.remove_at_reboot(f"\\\\?\\{path}")

    def keep_at_reboot(self, path: PureWindowsPath) -> None:
        check_path("keep", path)
        forget_removal(WindowsRegistry(), path)

    def descriptor(self, path: PureWindowsPath) -> SecurityDescriptor:
        told = telling("ask for the descriptor of", str(path))
        with told, _reached(path, api.READ_CONTROL) as handle:
            refuse_link(handle)
            return _descriptor_of(handle)

    def set_descriptor(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        with telling("set the descriptor of", str(path)):
            _by_right(lambda options: _set_descriptor(path, descriptor, options), _TO_MEND)

    def watch(self, path: PureWindowsPath, *, recursive: bool) -> Watch[FileChange]:
        return FileWatch(path, recursive, self._clock)

    def watch_all(
        self, paths: Sequence[PureWindowsPath], keys: Sequence[str] = (), *, routing: bool = False
    ) -> Watch[FileChange | KeyChange | RoutingChange]:
        return JointWatch(paths, self._clock, keys, routing=routing)


class _Digests:
    """What files contain, by hash; of large ones kept, in this process alone, until one is written to."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[PureWindowsPath, tuple[object, str]] = {}
        self._lock = Lock()

    def of(self, path: PureWindowsPath, handle: int, state: FileState) -> str:
        """It is read only if need be. Nobody may be writing: the handle shares no writing."""
        if state.size < _LARGE:
            return _sha256(api.views(handle, _FIRST_BLOCK))
        identity = api.index_of(handle), state.size, state.modified
        with self._lock:  # who asks while somebody else reads it need not read it, too
            seen, known = self._known.get(path, (None, ""))
            if seen == identity:
                return known
            settled = self._clock.now() - state.modified > _TICK_SECONDS
            found = _sha256(api.views(handle, _LARGEST_BLOCK))
            if settled:
                self._known[path] = identity, found
            return found


def _sha256(content: Iterable[memoryview]) -> str:
    digest = new_sha256()
    for block in content:
        digest.update(block)
    return digest.hexdigest()


class _Reading:
    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.size = api.information(handle).size

    def read(self, size: int) -> bytes:
        return api.read(self._handle, min(size, _LARGEST_BLOCK))

    def seek(self, offset: int) -> None:
        api.seek(self._handle, offset)


class _Volume:
    """The primitives of agent.host.replacing."""

    def check_target(self, path: PureWindowsPath) -> None:
        with telling("write", str(path)):
            try:
                with _reached(path, 0) as handle:
                    expect(handle, FileKind.FILE)
            except Win32Error as failure:
                if failure.winerror != winerror.ERROR_FILE_NOT_FOUND:
                    raise

    def create(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> int:
        with telling("write", str(path)), folder_of(path) as folder:
            return api.open_in(
                folder,
                path.name,
                api.WRITE_DATA,
                share=api.SHARE_NOTHING,
                disposition=api.CREATE,
                options=api.NOT_DIRECTORY | api.SYNCHRONOUS,
                descriptor=str(descriptor),
            )

    def write(self, handle: int, block: bytes) -> None:
        with telling("write", "a new file"):
            api.write(handle, block)

    def flush(self, handle: int) -> None:
        with telling("flush", "a new file"):
            api.flush(handle)

    def close(self, handle: int) -> None:
        api.close(handle)

    def move_over(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        with telling("write", str(target)):
            try:
                _rename(path, target, replace=True)
            except Win32Error as failure:
                if failure.winerror == winerror.ERROR_ACCESS_DENIED and _is_held(target):
                    # The kernel says the same of a file that is open as of one that may not be replaced.
                    raise failed(winerror.ERROR_SHARING_VIOLATION, "NtSetInformationFile") from failure
                raise

    def move(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        with _telling_of_move(path, target):
            _rename(path, target, replace=False)

    def set_aside(
        self,
        path: PureWindowsPath,
        target: PureWindowsPath,
        owners: Collection[str],
        descriptor: SecurityDescriptor,
    ) -> bool:
        security.enable_privileges(*_TO_MEND)
        access = api.DELETE | api.READ_CONTROL | api.WRITE_DAC | api.WRITE_OWNER
        options = api.SYNCHRONOUS | api.WRITE_THROUGH | api.BACKUP_INTENT
        with (
            _telling_of_move(path, target),
            opened(path, access, options=options) as handle,
            folder_of(target) as folder,
        ):
            if _descriptor_of(handle).owner in (None, *owners):
                return False
            api.rename(handle, folder or 0, target.name, replace=False)
            if kind_of(api.attributes_of(handle)) is FileKind.DIRECTORY:
                _protect(handle, descriptor)
            return True

    def remove(self, path: PureWindowsPath) -> None:
        with telling("remove", str(path)):
            try:
                _remove(path)
            except Win32Error as failure:
                if failure.winerror == winerror.ERROR_ACCESS_DENIED and self.is_running(path):
                    raise ProgramRunning("remove", str(path), failure.winerror) from failure
                raise

    def is_running(self, path: PureWindowsPath) -> bool:
        """The kernel lets a running program be renamed, but not be opened for writing."""
        return _can_open(path, api.DELETE, api.SHARE_ALL) and not _can_open(
            path, api.WRITE_DATA, api.SHARE_ALL
        )


def _by_right(attempt: Callable[[int], Result], privileges: Sequence[str]) -> Result:
    """Give it options to open with: those for an administrator who is kept out only when it is refused.

    A descriptor may grant administrators nothing at all. Of such a file NTFS would tell the attributes to
    whoever may list its folder, and have it removed by whoever may remove what is in it, but SYNCHRONIZE,
    without which nothing is opened here, it grants nobody.
    """
    try:
        return attempt(api.SYNCHRONOUS)
    except Win32Error as failure:
        if failure.winerror not in _NEEDS_PRIVILEGE:
            raise
    security.enable_privileges(*privileges)
    return attempt(api.SYNCHRONOUS | api.BACKUP_INTENT)


@contextmanager
def _reached(
    path: PureWindowsPath, access: int, *, share: int = api.SHARE_ALL, privileges: Sequence[str] = _TO_LOOK
) -> Iterator[int]:
    with ExitStack() as held:

        def reach(options: int) -> int:
            return held.enter_context(opened(path, access, share=share, options=options))

        yield _by_right(reach, privileges)


@contextmanager
def _reached_in(folder: int, name: str, access: int) -> Iterator[int]:
    handle = _by_right(lambda options: api.open_in(folder, name, access, options=options), _TO_LOOK)
    try:
        yield handle
    finally:
        api.close(handle)


@contextmanager
def _file(path: PureWindowsPath, share: int) -> Iterator[int]:
    with _reached(path, api.READ_DATA, share=share) as handle:
        expect(handle, FileKind.FILE)
        yield handle


def _blocks(handle: int, limit: int | None = None) -> Iterator[bytes]:
    """Small ones at first, as most files are."""
    size = _FIRST_BLOCK
    left = math.inf if limit is None else limit
    while left > 0 and (block := api.read(handle, int(min(size, left)))):
        yield block
        left -= len(block)
        size = min(4 * size, _LARGEST_BLOCK)


def _remove(path: PureWindowsPath) -> None:
    with _reached(path, api.DELETE | api.WRITE_ATTRIBUTES, privileges=_TO_REMOVE) as handle:
        if kind_of(api.attributes_of(handle)) is FileKind.DIRECTORY:
            expect(handle, FileKind.FILE)
        api.remove(handle)


def _rename(path: PureWindowsPath, target: PureWindowsPath, *, replace: bool) -> None:
    # Write-through: the new name is on the disk when this returns.
    options = api.SYNCHRONOUS | api.WRITE_THROUGH
    with opened(path, api.DELETE, options=options) as handle, folder_of(target) as folder:
        refuse_link(handle)
        api.rename(handle, folder or 0, target.name, replace=replace)


@contextmanager
def _telling_of_move(path: PureWindowsPath, target: PureWindowsPath) -> Iterator[None]:
    subject = f"{path} to {target}"
    with telling("move", subject):
        try:
            yield
        except Win32Error as failure:
            if failure.winerror == winerror.ERROR_ACCESS_DENIED and _may_move_folder(path, target):
                # The kernel says the same of a folder in which anything is open.
                raise InUse("move", subject, failure.winerror) from failure
            raise


def _may_move_folder(path: PureWindowsPath, target: PureWindowsPath) -> bool:
    """Nobody can be asked who has something open in a folder: whether no right is lacking tells as much."""
    as_folder = api.DIRECTORY | api.SYNCHRONOUS
    try:
        with (
            opened(path, api.DELETE, options=as_folder),
            opened(target.parent, api.ADD_FOLDER, options=as_folder),
        ):
            return True
    except Win32Error:
        return False


def _is_held(path: PureWindowsPath) -> bool:
    return not _can_open(path, api.DELETE, api.SHARE_NOTHING)


def _can_open(path: PureWindowsPath, access: int, share: int) -> bool:
    """False when somebody's handle is in the way."""
    try:
        with opened(path, access, share=share):
            return True
    except Win32Error as failure:
        return failure.winerror != winerror.ERROR_SHARING_VIOLATION


def _state(handle: int) -> FileState:
    found = api.information(handle)
    kind = kind_of(found.attributes)
    return FileState(
        kind=kind,
        size=found.size if kind is FileKind.FILE else 0,
        modified=found.modified,
        read_only=bool(found.attributes & api.READ_ONLY),
    )


def _descriptor_of(handle: int) -> SecurityDescriptor:
    return _parsed(security.descriptor_text(handle, security.OWNER | security.GROUP | security.DACL))


_parsed = lru_cache(maxsize=256)(SecurityDescriptor.parse)  # hundreds of files have the same few


def _set_descriptor(path: PureWindowsPath, descriptor: SecurityDescriptor, options: int) -> None:
    access = api.WRITE_DAC | (api.WRITE_OWNER if descriptor.owner is not None else 0)
    with opened(path, access, options=options) as handle:
        refuse_link(handle)
        _protect(handle, descriptor)


def _protect(handle: int, descriptor: SecurityDescriptor) -> None:
    parts = security.DACL | (security.PROTECTED_DACL if descriptor.protected else security.UNPROTECTED_DACL)
    if descriptor.owner is not None:
        parts |= security.OWNER
    security.set_descriptor(handle, parts, str(descriptor))
