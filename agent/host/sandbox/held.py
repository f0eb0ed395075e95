"""Who else has a file open, and what runs from it.

A lock by flock stands for a handle that shares less: an exclusive one for a handle that shares nothing, a
shared one for a handle that lets others only read. On Windows itself the real handles count.
"""

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from agent.host import winerror
from agent.host.errors import InUse
from agent.host.sandbox.failure import telling
from agent.host.sandbox.places import Place

_PROBE_SECONDS = 0.002


@contextmanager
def opened(action: str, place: Place, flags: int) -> Iterator[int]:
    """The file, open for reading or writing; raises InUse where somebody's handle does not share that."""
    with telling(action, place):
        descriptor = os.open(place.file, flags | getattr(os, "O_BINARY", 0))
    try:
        _probe(action, place, descriptor, for_reading=not flags & os.O_WRONLY)
        with telling(action, place):
            yield descriptor
    finally:
        os.close(descriptor)


def check_free(action: str, place: Place) -> None:
    """Raises InUse where somebody has the file open, so that Windows would neither rename nor remove it."""
    if is_held(place):
        raise InUse(action, str(place.path), winerror.ERROR_SHARING_VIOLATION)


if sys.platform == "win32":

    def _probe(action: str, place: Place, descriptor: int, *, for_reading: bool) -> None:
        pass

    def hold(descriptor: int) -> None:
        pass

    def is_held(place: Place) -> bool:  # noqa: ARG001 - Windows will say so itself
        return False

    def is_running(place: Place) -> bool:
        if place.state is None or not place.state.st_mode & 0o200:
            return False
        try:
            os.close(os.open(place.file, os.O_RDWR))
        except PermissionError:
            return True
        return False

else:
    import fcntl

    def _probe(action: str, place: Place, descriptor: int, *, for_reading: bool) -> None:
        if not _takes(descriptor, fcntl.LOCK_SH if for_reading else fcntl.LOCK_EX):
            raise InUse(action, str(place.path), winerror.ERROR_SHARING_VIOLATION)
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _takes(descriptor: int, lock: int) -> bool:
        for pause in (_PROBE_SECONDS, 0):
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
                return True
            # Perhaps it was only another probe, like this one.
            time.sleep(pause)
        return False

    def hold(descriptor: int) -> None:
        """Let nobody else open the file while this descriptor is open."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def is_held(place: Place) -> bool:
        with telling("open", place):
            descriptor = os.open(place.file, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return not _takes(descriptor, fcntl.LOCK_EX)
        finally:
            os.close(descriptor)

    def is_running(place: Place) -> bool:
        """Linux, too, lets nobody write to a program that runs."""
        try:
            os.close(os.open(place.file, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as failure:
            return failure.errno == errno.ETXTBSY
        return False
