"""How a whole file is put in place of another, once for both hosts.

The file appears under a temporary name, born with its descriptor, so that it is never readable by more
people than it will be; it is flushed before it gets its name, so that after a power cut the name has
either all of the new content or all of the old.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import PureWindowsPath
from typing import Protocol, TypeVar

from agent.host.errors import AccessDenied, HostError, InUse, ProgramRunning
from agent.host.files import PATIENCE_SECONDS, Content
from agent.host.port import Clock
from agent.host.sddl import SecurityDescriptor

_LEFTOVER = re.compile(r"wmcb-[0-9a-f]{16}\.(tmp|old)", re.IGNORECASE)

Handle = TypeVar("Handle")
Result = TypeVar("Result")

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.32


def is_leftover(name: str) -> bool:
    """Whether an interrupted write left a file of this name, or a program was put aside under it."""
    return _LEFTOVER.fullmatch(name) is not None


class Volume(Protocol[Handle]):
    """What the algorithm asks of a host. Every method raises a HostError when it cannot."""

    def check_target(self, path: PureWindowsPath) -> None:
        """Refuse what waiting doesn't cure: a link on the way or at the end, a folder of that name."""

    def create(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> Handle:
        """Make a new file, with the descriptor in the same call, that nobody else can open meanwhile."""

    def write(self, handle: Handle, block: bytes) -> None: ...
    def flush(self, handle: Handle) -> None:
        """Down to the disk."""

    def close(self, handle: Handle) -> None: ...
    def move_over(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        """Rename, over what is there, with write-through. A read-only mark on the target does not hinder."""

    def move(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        """Rename with write-through; the target must not exist."""

    def remove(self, path: PureWindowsPath) -> None:
        """Remove a file, once, without waiting."""

    def is_running(self, path: PureWindowsPath) -> bool:
        """Whether a program runs from this file, so that it can be renamed but not replaced."""


def put_in_place(
    volume: Volume[Handle],
    clock: Clock,
    path: PureWindowsPath,
    content: Content,
    descriptor: SecurityDescriptor,
) -> PureWindowsPath | None:
    """`Files.write`: returns where a running program was put aside, if there was one."""
    volume.check_target(path)
    temporary = path.with_name(f"wmcb-{os.urandom(8).hex()}.tmp")
    with _told_of(path):
        handle = volume.create(temporary, descriptor)
    try:
        try:
            for block in (content,) if isinstance(content, bytes) else content:
                with _told_of(path):
                    volume.write(handle, block)
            with _told_of(path):
                volume.flush(handle)
        finally:
            volume.close(handle)
        # Windows denies access to a target that somebody has open. Whether that was it, a host can only ask
        # afterwards, when it may be closed again.
        return patiently(clock, lambda: _take_name(volume, temporary, path), (InUse, AccessDenied))
    except BaseException:
        # What went wrong first is what to tell; the leftover's name says whose it is.
        with suppress(HostError):
            patiently(clock, lambda: volume.remove(temporary))
        raise


class VolumeFiles(ABC):
    """What every host answers alike of its Files: by the volume's primitives, again while a file is held."""

    _volume: Volume[int]
    _clock: Clock

    @abstractmethod
    def set_descriptor(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None: ...

    def write(
        self, path: PureWindowsPath, content: Content, descriptor: SecurityDescriptor
    ) -> PureWindowsPath | None:
        return put_in_place(self._volume, self._clock, path, content, descriptor)

    def put(
        self, path: PureWindowsPath, lying: PureWindowsPath, descriptor: SecurityDescriptor
    ) -> PureWindowsPath | None:
        self.set_descriptor(lying, descriptor)
        self._volume.check_target(path)
        return patiently(self._clock, lambda: _take_name(self._volume, lying, path), (InUse, AccessDenied))

    def move(
        self, path: PureWindowsPath, target: PureWindowsPath, *, patience: float = PATIENCE_SECONDS
    ) -> None:
        patiently(self._clock, lambda: self._volume.move(path, target), patience=patience)

    def remove(self, path: PureWindowsPath) -> None:
        patiently(self._clock, lambda: self._volume.remove(path))


def added(content: Content, write: Callable[[bytes], None], flush: Callable[[], None]) -> None:
    """`Files.append`, to a file that is open."""
    try:
        for block in (content,) if isinstance(content, bytes) else content:
            write(block)
    finally:
        flush()


@contextmanager
def _told_of(path: PureWindowsPath) -> Iterator[None]:
    """Whatever a file is called until it is whole, a person knows it by the name that it is to get."""
    try:
        yield
    except HostError as failure:
        raise type(failure)(failure.action, str(path), failure.code, failure.advice) from failure


def patiently(
    clock: Clock,
    attempt: Callable[[], Result],
    reasons: tuple[type[HostError], ...] = (InUse,),
    patience: float = PATIENCE_SECONDS,
) -> Result:
    """Try again, with growing pauses, while another program has the file open; not while it runs from it."""
    deadline = clock.monotonic() + patience
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return attempt()
        except ProgramRunning:
            raise
        except reasons:
            if clock.monotonic() + pause > deadline:
                raise
        clock.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def _take_name(
    volume: Volume[Handle], temporary: PureWindowsPath, path: PureWindowsPath
) -> PureWindowsPath | None:
    try:
        volume.move_over(temporary, path)
    except (InUse, AccessDenied):
        if not volume.is_running(path):
            raise
        return _put_aside_and_take_name(volume, temporary, path)
    return None


def _put_aside_and_take_name(
    volume: Volume[Handle], temporary: PureWindowsPath, path: PureWindowsPath
) -> PureWindowsPath:
    aside = path.with_name(f"wmcb-{os.urandom(8).hex()}.old")
    volume.move(path, aside)
    try:
        volume.move(temporary, path)
    except BaseException:
        volume.move(aside, path)
        raise
    return aside
