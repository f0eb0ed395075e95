"""The folder in which a sandbox keeps what Windows keeps outside its files: C: doesn't show it.

Several processes use a sandbox at once. Whoever changes a document holds the lock from reading it to writing
it; whoever only reads needs none, because a document is replaced as a whole. A bell that every process hears
tells of each change, so that nobody polls. Nothing is flushed down to the disk: a sandbox has to outlive the
kill of a process, not the loss of power, and a flush takes longer than all the rest.
"""

import errno
import json
import os
import pathlib
import select
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

FOLDER_NAME = ".sandbox"
_RETRY_SECONDS = 0.005

Document = dict[str, Any]


_POLL_SECONDS = 0.05
"""Between two looks where the system has neither named pipes nor descriptors of processes: Windows has both,
and Python's standard library neither."""


if sys.platform == "linux":

    class Bell:
        """Hears what rings from its making on: what rang before `wait` ends it at once.

        Who waits has a named pipe in the folder of bells; who rings writes a byte to each. Linux tells of the
        end of any process by a descriptor.
        """

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


class State:
    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.folder = directory / FOLDER_NAME
        self._folder_name = os.fspath(self.folder)
        self._locks = self.folder / "locks"
        self._bells = self.folder / "bells"
        for folder in (self._locks, self._bells):
            folder.mkdir(parents=True, exist_ok=True)

    def read(self, name: str) -> Document:
        """Empty where there is none yet."""
        try:
            with open(f"{self._folder_name}/{name}", "rb") as file:  # noqa: PTH123 - asked at each access
                content = file.read()
        except FileNotFoundError:
            return {}
        document: Document = json.loads(content)
        return document

    @contextmanager
    def changing(self, name: str) -> Iterator[Document]:
        """The document, to be changed in place; written at the block's end unless that fails."""
        with self._lock(name):
            document = self.read(name)
            before = json.dumps(document)
            yield document
            after = json.dumps(document)
            if after != before:
                _replace(self.folder / name, after.encode())
                ring(self._bells)

    def add_line(self, name: str, line: Document) -> None:
        with self._lock(name), (self.folder / name).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    def bell(self) -> Bell:
        """Rung whenever any process changes a document."""
        return Bell(self._bells)

    @contextmanager
    def exclusive(self, name: str) -> Iterator[bool]:
        """Whether this caller has the lock; freed when its process dies."""
        lock = _take(self._locks / name)
        try:
            if lock is not None:
                self._holder(name).write_text(f"{os.getpid()}\n")
            yield lock is not None
        finally:
            if lock is not None:
                os.close(lock)

    def is_held(self, name: str) -> bool:
        return _is_taken(self._locks / name)

    def holder(self, name: str) -> int | None:
        """Return the process that took it."""
        with suppress(OSError, ValueError):
            # Not in the lock itself: where Windows runs the sandbox no other process can read that.
            return int(self._holder(name).read_text()) if self.is_held(name) else None
        return None

    def _holder(self, name: str) -> pathlib.Path:
        return self._locks / f"{name}.holder"

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        lock = _take_waiting(self._locks / name)
        try:
            yield
        finally:
            os.close(lock)


def _replace(path: pathlib.Path, content: bytes) -> None:
    """All or nothing, also for a reader who holds no lock and for a process that is killed here."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    _rename_over(temporary, path)


if sys.platform == "win32":

    def _rename_over(temporary: pathlib.Path, path: pathlib.Path) -> None:
        while True:
            # Refused while somebody reads the old one.
            with suppress(PermissionError):
                temporary.replace(path)
                return
            time.sleep(_RETRY_SECONDS)

    def _take(path: pathlib.Path) -> int | None:
        # Windows removes a temporary file when its last handle is closed, also when its process is killed.
        with suppress(FileExistsError, PermissionError):
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_TEMPORARY)
        return None

    def _is_taken(path: pathlib.Path) -> bool:
        return path.exists()

    def _take_waiting(path: pathlib.Path) -> int:
        while (lock := _take(path)) is None:
            time.sleep(_RETRY_SECONDS)
        return lock

else:
    import fcntl

    def _rename_over(temporary: pathlib.Path, path: pathlib.Path) -> None:
        temporary.replace(path)

    def _take(path: pathlib.Path) -> int | None:
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock

    def _is_taken(path: pathlib.Path) -> bool:
        try:
            lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def _take_waiting(path: pathlib.Path) -> int:
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock
