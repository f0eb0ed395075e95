"""Running a program to its end. Apart from `processes`, which the resident service needs without this."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import msvcrt
import os
import subprocess
import threading
from contextlib import contextmanager
from pathlib import PureWindowsPath
from typing import IO, TYPE_CHECKING

from agent.host import commandline
from agent.host.errors import BadName, TimedOut
from agent.host.port import Completed, FileKind
from agent.host.windows.api import files
from agent.host.windows.api.jobs import Job
from agent.host.windows.api.processes import SET_QUOTA, SUSPEND_RESUME, TERMINATE, Process
from agent.host.windows.failure import telling
from agent.host.windows.walking import expect, folder_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BAD_PATH = 161
_TIMEOUT = 1460
_CREATE_SUSPENDED = 0x4
_BLOCK = 1 << 16


def run(
    command: Sequence[str],
    seconds: float,
    environment: Mapping[str, str] | None,
    directory: PureWindowsPath | None,
    limit: int,
) -> Completed:
    program = _checked(command)
    with telling("run", program):
        with Job() as job:
            # Without a console: to make one is to start another program, and to wait for it.
            detached, pipe = subprocess.DETACHED_PROCESS, subprocess.PIPE
            child = _start(job, command, environment, directory, pipe, pipe, detached)
            output, errors = _Kept(child.stdout, limit), _Kept(child.stderr, limit)
            try:
                exit_code: int | None = child.wait(seconds)
            except subprocess.TimeoutExpired:
                exit_code = None
        # Nothing of it runs any longer, so nobody can hold the pipes open.
        child.wait()
        output.join()
        errors.join()
    if exit_code is None:
        raise TimedOut("run", program, _TIMEOUT, f"it was ended after {seconds:g} seconds")
    return Completed(exit_code, output.kept, errors.kept)


def run_logged(
    command: Sequence[str], log: PureWindowsPath, seconds: float, directory: PureWindowsPath | None
) -> int:
    program = _checked(command)
    with _end_of(log) as output, telling("run", program), Job() as job:
        # With a console, of which nobody sees a window: what it starts would get one of its own, and be seen.
        unseen = subprocess.CREATE_NO_WINDOW
        child = _start(job, command, None, directory, output, subprocess.STDOUT, unseen)
        try:
            exit_code = child.wait(seconds)
        except subprocess.TimeoutExpired as failure:
            raise TimedOut("run", program, _TIMEOUT, f"it was ended after {seconds:g} seconds") from failure
        job.let_go()
        return exit_code


@contextmanager
def _end_of(log: PureWindowsPath) -> Iterator[int]:
    """As a number of C's library, since subprocess takes no handle."""
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
        raise BadName("run", str(program), _BAD_PATH, "give its whole path")
    if program.suffix.lower() in (".bat", ".cmd"):
        # cmd.exe would run it, and cmd.exe reads arguments by rules of its own.
        raise BadName("run", str(program), _BAD_PATH, "run cmd.exe with it as an argument")
    return str(program)


def _start(
    job: Job,
    command: Sequence[str],
    environment: Mapping[str, str] | None,
    directory: PureWindowsPath | None,
    output: int,
    errors: int,
    console: int,
) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        commandline.join(command),
        executable=command[0],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        cwd=directory,
        env=environment,
        # Suspended until it is in the job: what it started before that would not be.
        creationflags=_CREATE_SUSPENDED | console,
    )
    try:
        with Process(child.pid, SET_QUOTA | TERMINATE | SUSPEND_RESUME) as process:
            job.take_in(process.handle)
    except BaseException:
        child.kill()
        raise
    return child


class _Kept(threading.Thread):
    """What a program writes, read to its end so that it is never held up, and kept up to a limit."""

    def __init__(self, pipe: IO[bytes] | None, limit: int) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._limit = limit
        self.kept = b""
        self.start()

    def run(self) -> None:
        if self._pipe is None:
            return
        with self._pipe as pipe:
            while block := os.read(pipe.fileno(), _BLOCK):
                self.kept += block[: self._limit - len(self.kept)]
