"""What may be asked of a machine's files and folders: a part of agent.host.port."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # 0.4 MB of a service without a node
    from pathlib import Path, PureWindowsPath

    from agent.host.port import Watch
    from agent.host.sddl import SecurityDescriptor

Content = bytes | Iterable[bytes]
"""Of a file: as a whole, or piece by piece."""
PATIENCE_SECONDS = 2.0
"""How long a virus scanner may hold a file: it looks into each new one, mostly for less than a second."""


class FileKind(enum.Enum):
    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    """Any reparse point: symbolic link, junction, mount point."""


@dataclass(frozen=True, slots=True)
class FileState:
    kind: FileKind
    size: int
    modified: float
    """Seconds since 1970, UTC."""
    read_only: bool


@dataclass(frozen=True, slots=True)
class FileChange:
    """Something below a watched folder changed; `path` is None when Windows lost count: look at it all."""

    path: PureWindowsPath | None


@dataclass(frozen=True, slots=True)
class KeyChange:
    """Something in a watched key of the registry changed, or it is gone."""

    key: str


@dataclass(frozen=True, slots=True)
class RoutingChange:
    """Windows' routes are others than before, or what its interfaces do with packets."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What lies somewhere, seen in one look: all of it is true of the same file."""

    state: FileState
    descriptor: SecurityDescriptor | None
    """None of a link."""
    sha256: str | None = None
    """In hexadecimal; of a file's content, if it was asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Of a folder."""

    name: str
    kind: FileKind
    descriptor: SecurityDescriptor | None
    """None of a link."""


class Reading(Protocol):
    """A file that is open, and read here and there."""

    size: int

    def read(self, size: int) -> bytes:
        """Up to so many bytes from where it is; none at the end."""

    def seek(self, offset: int) -> None: ...


MOST_WATCHED = 60
"""Folders: Windows waits for no more than 64 things at once."""


class Files(Protocol):
    """Nothing here follows a reparse point: one on the way, or at the end, raises ReparsePoint."""

    def observe(self, path: PureWindowsPath) -> FileState | None:
        """What is there, or None. The last element may be a reparse point and is then told as LINK."""

    def examine(self, path: PureWindowsPath, *, content: bool = False) -> Examined | None:
        """`observe`, `descriptor` and the content's hash in one: a fraction of their time.

        With `content` as `blocks`: InUse while somebody has the file open for writing.
        """

    def entries(self, path: PureWindowsPath) -> Iterator[Entry]:
        """What is in a folder. What is removed meanwhile may be left out."""

    def link_target(self, path: PureWindowsPath) -> PureWindowsPath:
        """Where the symbolic link that lies there leads, as it says itself: perhaps from its own folder on,
        perhaps to nothing.
        """

    def read(self, path: PureWindowsPath, limit: int | None = None) -> bytes:
        """The whole content, or its first `limit` bytes."""

    def blocks(self, path: PureWindowsPath) -> Iterator[bytes]:
        """The content piece by piece, for files too large to hold. Others may read, and rename, meanwhile."""

    def reading(self, path: PureWindowsPath) -> AbstractContextManager[Reading]:
        """The same for what is not read from its beginning to its end."""

    def tail(self, path: PureWindowsPath, limit: int) -> bytes:
        """The last `limit` bytes of a file that another program may be writing to."""

    def native_path(self, path: PureWindowsPath) -> Path:
        """The path of a file for a library of this process that opens files itself, and follows links.

        Nothing holds what lies there: only for what administrators alone can exchange.
        """

    def list(self, path: PureWindowsPath) -> Sequence[str]:
        """Names in a folder, sorted without regard to case."""

    def make_directory(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        """One folder, born with its descriptor. Its parent must exist, it must not."""

    def write(
        self, path: PureWindowsPath, content: Content, descriptor: SecurityDescriptor
    ) -> PureWindowsPath | None:
        """Put a whole file in place: new content and descriptor, or the old ones, and nothing in between.

        Written under a temporary name in the same folder that is born with the descriptor, flushed, moved
        over with write-through. A target that is held open is tried again within a limit; a program that is
        running is renamed aside, and where it then lies is returned (to be removed once nothing runs it).
        A mark as read-only doesn't hinder, and isn't taken over. No more than one piece is held in memory.
        """

    def put(
        self, path: PureWindowsPath, lying: PureWindowsPath, descriptor: SecurityDescriptor
    ) -> PureWindowsPath | None:
        """The same by moving a file of the same volume, however large, that is flushed and nobody's yet."""

    def append(
        self, path: PureWindowsPath, content: Content, descriptor: SecurityDescriptor, *, flushed: bool = True
    ) -> None:
        """Add to a file, flushed before this returns; a new one is born with the descriptor. For journals.

        Piece by piece: what had come stays, flushed, when the rest does not come. Not `flushed` it outlives
        this process, and not a power cut: enough for what is told a person, which others may be adding to.
        """

    def move(
        self, path: PureWindowsPath, target: PureWindowsPath, *, patience: float = PATIENCE_SECONDS
    ) -> None:
        """Rename within a volume, write-through. The target must not exist.

        A file held open, or a folder in which anything is, is tried again for so many seconds.
        """

    def set_aside(
        self,
        path: PureWindowsPath,
        target: PureWindowsPath,
        owners: Collection[str],
        descriptor: SecurityDescriptor,
    ) -> bool:
        """Move what lies there unless one of `owners` (SIDs) owns it, and return whether it was moved.

        A folder then gets the descriptor. The owner is read, and the rest done, through one handle: what
        another program puts in its place meanwhile stays. A link is moved itself. The target must not exist.
        Something held open, also in a folder, is tried again within a limit.
        """

    def remove(self, path: PureWindowsPath) -> None:
        """Remove a file, marked as read-only or not, or a reparse point itself, of a folder too.

        One held open is tried again within a limit. Of one that a program runs from ProgramRunning, an InUse,
        says so at once.
        """

    def remove_directory(self, path: PureWindowsPath) -> None:
        """Remove an empty folder. One held open is tried again within a limit."""

    def remove_at_reboot(self, path: PureWindowsPath) -> None:
        """For what is still running: Windows removes it when it starts next."""

    def keep_at_reboot(self, path: PureWindowsPath) -> None:
        """Takes that back; for what is gone meanwhile, too. Nothing happens where nobody asked for it."""

    def descriptor(self, path: PureWindowsPath) -> SecurityDescriptor:
        """Owner, group and DACL as they are."""

    def set_descriptor(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        """Owner and DACL of an existing file or folder, for drift. New ones are born with theirs."""

    def watch(self, path: PureWindowsPath, *, recursive: bool) -> Watch[FileChange]:
        """Told of changes below a folder: names, content, descriptors."""

    def watch_all(
        self, paths: Sequence[PureWindowsPath], keys: Sequence[str] = (), *, routing: bool = False
    ) -> Watch[FileChange | KeyChange | RoutingChange]:
        """The same of up to MOST_WATCHED folders, in one wait and without what is in folders below.

        Of one that goes away its own path is told, and nothing further. `keys` are of the registry, and count
        among the folders: their values are watched, and the names of the keys below. So does `routing`, that
        of IPv4.
        """
