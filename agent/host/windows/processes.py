"""Processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.amounts import in_seconds
from agent.host import winerror
from agent.host.errors import AccessDenied, HostError, InUse, NotFound, TimedOut
from agent.host.port import Completed, Facts, ProcessInfo
from agent.host.protection import PRIVATE_FILE
from agent.host.windows.api import files
from agent.host.windows.api.machine import started_at
from agent.host.windows.api.processes import QUERY_LIMITED, SYNCHRONIZE, TERMINATE, Process
from agent.host.windows.failure import Win32Error, telling
from agent.host.windows.walking import opened

if TYPE_CHECKING:
    import psutil


_HELD = {winerror.ERROR_SHARING_VIOLATION, winerror.ERROR_DELETE_PENDING}
"""The other while its holder is letting go."""
_PID_DIGITS = 10
_ENDED_BY_US = 1


class WindowsProcesses:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def list(self) -> Sequence[ProcessInfo]:
        import psutil  # noqa: PLC0415 - psutil, 2.7 MB of the resident service

        # What psutil remembers of a process hides another that has got its id.
        psutil.process_iter.cache_clear()
        found: list[ProcessInfo] = []
        with telling("list", "processes"):
            for process in psutil.process_iter():
                with suppress(psutil.Error):
                    found.append(ProcessInfo(process.pid, process.ppid(), _program(process)))
        return found

    def run(
        self,
        command: Sequence[str],
        *,
        seconds: float,
        environment: Mapping[str, str] | None = None,
        directory: PureWindowsPath | None = None,
        limit: int = 1 << 20,
        console: bool = False,
    ) -> Completed:
        from agent.host.windows.running import run  # noqa: PLC0415 - win32job, for programs that wmcb starts

        return run(command, seconds, environment, directory, limit, console=console)

    def run_logged(
        self,
        command: Sequence[str],
        log: PureWindowsPath,
        *,
        seconds: float,
        directory: PureWindowsPath | None = None,
    ) -> int:
        from agent.host.windows.running import run_logged  # noqa: PLC0415 - win32job, for programs that wmcb starts

        return run_logged(command, log, seconds, directory)

    def wait(self, pid: int, seconds: float) -> int:
        with _open("wait for", pid, SYNCHRONIZE | QUERY_LIMITED) as process:
            process.wait(seconds)
            code = process.exit_code()
        if code is None:
            raise TimedOut(
                "wait for",
                _subject(pid),
                winerror.ERROR_TIMEOUT,
                f"it still runs after {in_seconds(seconds)}",
            )
        return code

    def end(self, pid: int) -> None:
        with _open("end", pid, TERMINATE | SYNCHRONIZE | QUERY_LIMITED) as process:
            try:
                process.terminate(_ENDED_BY_US)
            except Win32Error as failure:
                # So it says of a process that has ended of itself meanwhile.
                if failure.winerror != winerror.ERROR_ACCESS_DENIED or process.exit_code() is None:
                    raise

    def started_at(self, pid: int) -> float:
        import psutil  # noqa: PLC0415 - psutil, 2.7 MB of the resident service

        try:
            with telling("look at", _subject(pid)):
                return psutil.Process(pid).create_time()
        except psutil.NoSuchProcess as failure:
            raise NotFound("look at", _subject(pid), winerror.ERROR_INVALID_PARAMETER) from failure
        except psutil.AccessDenied as failure:
            raise AccessDenied("look at", _subject(pid), winerror.ERROR_ACCESS_DENIED) from failure

    @contextmanager
    def exclusive(self, name: str) -> Iterator[bool]:
        """By a file that only one process can have open to change it, and that Windows removes with its last
        handle. It holds that process's id.

        Not by a mutex: any user could make one of that name first, and a private namespace, which guards
        against it, Wine doesn't have. In the Windows folder only administrators can make files.

        A power cut leaves the file, since that it is to be removed is on no disk. So its time names the start
        of Windows in which it was held; who looks at that is in nobody's way.
        """
        with ExitStack() as held:
            with telling("lock", name):
                acquired = _acquire(held, self._facts.system_directory() / f"wmcb-{name}.lock")
            yield acquired

    def is_held(self, name: str) -> bool:
        path = self._facts.system_directory() / f"wmcb-{name}.lock"
        try:
            with telling("look at the lock", name), opened(path, 0) as file:
                return files.written_at(file) == started_at()
        except AccessDenied:
            return True  # so Windows says to a plain user of what is there
        except (NotFound, InUse):
            return False  # the other: it is being let go

    def holder(self, name: str) -> int | None:
        path = self._facts.system_directory() / f"wmcb-{name}.lock"
        try:
            with telling("look at the lock", name), opened(path, files.READ_DATA) as file:
                is_held = files.written_at(file) == started_at()
                return int(files.read(file, _PID_DIGITS)) if is_held else None
        except (HostError, ValueError):
            return None


def _acquire(held: ExitStack, path: PureWindowsPath) -> bool:
    try:
        file = held.enter_context(
            opened(
                path,
                files.DELETE | files.WRITE_ATTRIBUTES | files.WRITE_DATA,
                share=files.SHARE_READ,
                disposition=files.OPEN_OR_CREATE,
                options=files.SYNCHRONOUS | files.DELETE_ON_CLOSE,
                descriptor=str(PRIVATE_FILE),
            )
        )
    except Win32Error as failure:
        if failure.winerror not in _HELD:
            raise
        return False
    held.callback(_give_up_name, file)
    # Of one width, since it is written over what a power cut left; before the time, which it would change.
    files.write(file, f"{os.getpid():>{_PID_DIGITS}}".encode())
    files.set_written_at(file, started_at())
    return True


def _give_up_name(file: int) -> None:
    """What goes with its last handle keeps its name till then, and nobody can have the lock: any user may
    keep one that only looks. Windows removes it in any case if this process comes to no end of its own.
    """
    with suppress(Win32Error):
        files.remove(file)


@contextmanager
def _open(action: str, pid: int, access: int) -> Iterator[Process]:
    with telling(action, _subject(pid)):
        try:
            process = Process(pid, access)
        except Win32Error as failure:
            if failure.winerror == winerror.ERROR_INVALID_PARAMETER:
                raise NotFound(action, _subject(pid), failure.winerror) from failure
            raise
        with process:
            yield process


def _program(process: psutil.Process) -> PureWindowsPath | None:
    """None also where Windows has a name of its own, as of the process that is called Registry."""
    import psutil  # noqa: PLC0415 - psutil, 2.7 MB of the resident service

    try:
        path = PureWindowsPath(process.exe())
    except (psutil.Error, OSError):
        # Of one that ends at that moment psutil passes on what Windows says, which is not always the same.
        return None
    return path if path.is_absolute() else None


def _subject(pid: int) -> str:
    return f"process {pid}"
