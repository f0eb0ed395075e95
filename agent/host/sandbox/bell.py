"""A bell that every process of a sandbox hears, and the end of other processes: to wait without polling.

Whoever waits has a named pipe in the folder of bells; whoever rings writes a byte to each. Linux tells of
the end of any process by a descriptor. Where the system has no such things (Windows has neither in Python's
standard library) one looks again after 50 ms.
"""

import errno
import os
import pathlib
import select
import sys
import time
from collections.abc import Collection
from contextlib import suppress

_POLL_SECONDS = 0.05


if sys.platform == "linux":

    class Bell:
        """Hears what rings from its making on: what rang before `wait` ends it at once."""

        def __init__(self, folder: pathlib.Path) -> None:
            name = os.urandom(8).hex()
            self._path = folder / name
            hung_up_elsewhere = folder.parent / f"bell-{name}"
            os.mkfifo(hung_up_elsewhere, 0o600)
            # For writing too, or the pipe would be at its end whenever nobody rings.
            self._pipe = os.open(hung_up_elsewhere, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            # Only now, for whoever rings removes a pipe that nobody has open.
            hung_up_elsewhere.rename(self._path)

        def wait(self, seconds: float, pids: Collection[int] = ()) -> None:
            """Until it rings, one of the processes is gone, or the time is up."""
            processes = [process for pid in pids if (process := _process(pid)) is not None]
            try:
                if len(processes) < len(pids):
                    return
                poll = select.poll()
                for descriptor in (self._pipe, *processes):
                    poll.register(descriptor, select.POLLIN)
                poll.poll(max(0.0, seconds) * 1000)
                with suppress(BlockingIOError):
                    os.read(self._pipe, 1 << 16)
            finally:
                for process in processes:
                    os.close(process)

        def ring(self) -> None:
            """For this one alone, from another thread."""
            with suppress(BlockingIOError):
                os.write(self._pipe, b"!")

        def close(self) -> None:
            self._path.unlink(missing_ok=True)
            os.close(self._pipe)

    def ring(folder: pathlib.Path) -> None:
        for bell in folder.iterdir():
            try:
                pipe = os.open(bell, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            except OSError as failure:
                if failure.errno != errno.ENXIO:
                    raise
                # Whoever made it was killed: nobody has it open for reading.
                bell.unlink(missing_ok=True)
                continue
            # A full pipe rings already; one that is closed meanwhile has nobody waiting.
            with suppress(BlockingIOError, BrokenPipeError):
                os.write(pipe, b"!")
            os.close(pipe)

    def _process(pid: int) -> int | None:
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:
            return None

else:

    class Bell:
        def __init__(self, folder: pathlib.Path) -> None:
            pass

        def wait(self, seconds: float, pids: Collection[int] = ()) -> None:  # noqa: ARG002 - looked at after
            time.sleep(max(0.0, min(seconds, _POLL_SECONDS)))

        def ring(self) -> None:
            pass

        def close(self) -> None:
            pass

    def ring(folder: pathlib.Path) -> None:
        pass
