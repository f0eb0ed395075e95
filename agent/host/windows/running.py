"""Running a program to its end. Apart from `processes`, which the resident service needs without this."""

import msvcrt
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PureWindowsPath
from typing import Self

import win32file
import win32job

from agent.amounts import in_seconds
from agent.host import commandline, winerror
from agent.host.errors import BadName, TimedOut
from agent.host.port import Completed, FileKind
from agent.host.windows.api import files
from agent.host.windows.api.creation import NO_CONSOLE, UNSEEN_CONSOLE, created
from agent.host.windows.api.processes import Process
from agent.host.windows.failure import telling
from agent.host.windows.walking import expect, folder_of

_BLOCK = 1 << 16


class Job:
    """A job object: a process and all that it starts, ended together.

    Ends whatever still runs in it when it is closed, also by this process' own end.
    """

    def __init__(self) -> None:
        # What the types say of it is not what it does. An empty name is none.
        self.handle: int = win32job.CreateJobObject(None, "")  # type: ignore[func-returns-value,assignment]
        self._limit(win32job.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        win32file.CloseHandle(self.handle)

    def let_go(self) -> None:
        """What still runs in it goes on."""
        self._limit(0)

    def _limit(self, flags: int) -> None:
        kind = win32job.JobObjectExtendedLimitInformation
        limits = win32job.QueryInformationJobObject(self.handle, kind)
        limits["BasicLimitInformation"]["LimitFlags"] = flags
        win32job.SetInformationJobObject(self.handle, kind, limits)


def run(
    command: Sequence[str],
    seconds: float,
    environment: Mapping[str, str] | None,
    directory: PureWindowsPath | None,
    limit: int,
    *,
    console: bool,
) -> Completed:
    program = _checked(command)
    with telling("run", program):
        with Job() as job:
            output, errors = _Kept(limit), _Kept(limit)
            with output.pipe() as to_output, errors.pipe() as to_errors:
                # To make a console is to start another program, and to wait for it.
                kind = UNSEEN_CONSOLE if console else NO_CONSOLE
                child = _start(job, command, environment, directory, to_output, to_errors, kind)
            with child:
                child.wait(seconds)
                exit_code = child.exit_code()
        # Nothing of it runs any longer, so nobody can hold the pipes open.
        output.join()
        errors.join()
    if exit_code is None:
        raise TimedOut("run", program, winerror.ERROR_TIMEOUT, f"it was ended after {in_seconds(seconds)}")
    return Completed(exit_code, output.kept, errors.kept)


def run_logged(
    command: Sequence[str], log: PureWindowsPath, seconds: float, directory: PureWindowsPath | None
) -> int:
    program = _checked(command)
    with _end_of(log) as output, telling("run", program), Job() as job:
        # With a console, of which nobody sees a window: what it starts would get one of its own, and be seen.
        with _start(job, command, None, directory, output, output, UNSEEN_CONSOLE) as child:
            child.wait(seconds)
            exit_code = child.exit_code()
        if exit_code is None:
            raise TimedOut(
                "run", program, winerror.ERROR_TIMEOUT, f"it was ended after {in_seconds(seconds)}"
            )
        job.let_go()
        return exit_code


@contextmanager
def _end_of(log: PureWindowsPath) -> Iterator[int]:
    """As a number of C's library, which `_start` takes."""
    with telling("add to", str(log)), folder_of(log) as folder:
        handle = files.open_in(folder, log.name, files.APPEND_DATA, options=files.SYNCHRONOUS)
        try:
            expect(handle, FileKind.FILE)
        except BaseException:
            files.close(handle)
            raise
    descriptor = msvcrt.open_osfhandle(handle, os.O_APPEND)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _checked(command: Sequence[str]) -> str:
    """Whatever Windows would look for is refused: it looks in the current folder too."""
    program = PureWindowsPath(command[0])
    if not program.is_absolute():
        raise BadName("run", str(program), winerror.ERROR_BAD_PATHNAME, "give its whole path")
    if program.suffix.lower() in (".bat", ".cmd"):
        # cmd.exe would run it, and cmd.exe reads arguments by rules of its own.
        raise BadName("run", str(program), winerror.ERROR_BAD_PATHNAME, "run cmd.exe with it as an argument")
    return str(program)


def _start(
    job: Job,
    command: Sequence[str],
    environment: Mapping[str, str] | None,
    directory: PureWindowsPath | None,
    output: int,
    errors: int,
    console: int,
) -> Process:
    """The streams are numbers of C's library."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        handles = tuple(map(msvcrt.get_osfhandle, (nothing, output, errors)))
        line = commandline.join(command)
        where = None if directory is None else str(directory)
        return created(int(job.handle), command[0], line, handles, environment, where, console)
    finally:
        os.close(nothing)


class _Kept(threading.Thread):
    """What a program writes, read to its end so that it is never held up, and kept up to a limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(daemon=True)
        self._limit = limit
        self._pipe, self._end = os.pipe()
        self.kept = b""
        self.start()

    @contextmanager
    def pipe(self) -> Iterator[int]:
        """To be written to; at its end when everybody who got it has gone."""
        try:
            yield self._end
        finally:
            os.close(self._end)

    def run(self) -> None:
        try:
            while block := os.read(self._pipe, _BLOCK):
                self.kept += block[: self._limit - len(self.kept)]
        finally:
            os.close(self._pipe)
