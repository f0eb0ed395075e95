"""Processes: those of the operating system that the sandbox runs on."""

import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import PureWindowsPath
from typing import IO

import psutil

from agent.host import commandline, winerror
from agent.host.errors import AccessDenied, BadName, NotFound, TimedOut, WrongKind
from agent.host.port import Completed, ProcessInfo
from agent.host.sandbox import held
from agent.host.sandbox.failure import telling
from agent.host.sandbox.places import Drive, Place, name_key
from agent.host.sandbox.programs import can_run
from agent.host.sandbox.service_document import ServiceDocument
from agent.host.sandbox.state import State
from agent.redaction import redacted_words

_WINDOWS = "Windows"


class SandboxProcesses:
    def __init__(self, state: State, drive: Drive, services: ServiceDocument) -> None:
        self._state = state
        self._drive = drive
        self._services = services

    def list(self) -> Sequence[ProcessInfo]:
        return [
            ProcessInfo(process.pid, process.info["ppid"] or 0, self._program(process.info["exe"]))
            for process in psutil.process_iter(["ppid", "exe"])
        ]

    def run(
        self,
        command: Sequence[str],
        *,
        seconds: float,
        environment: Mapping[str, str] | None = None,
        directory: PureWindowsPath | None = None,
        limit: int = 1 << 20,
        console: bool = False,  # noqa: ARG002 - what would need one does not run here
    ) -> Completed:
        program, *arguments = command
        _check(command)
        where = self._drive.existing("run a program in", directory).file if directory else None
        # Into files, for a pipe would be kept open by a child that outlives the program.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            with telling("run", program):
                process = _start([self._file(program), *arguments], output, errors, environment, where)
            try:
                exit_code = _exit_code(process, program, seconds)
            finally:
                _end_all(process)
            return Completed(exit_code, _first(output, limit), _first(errors, limit))

    def run_logged(
        self,
        command: Sequence[str],
        log: PureWindowsPath,
        *,
        seconds: float,
        directory: PureWindowsPath | None = None,
    ) -> int:
        program, *arguments = command
        _check(command)
        where = self._drive.existing("run a program in", directory).file if directory else None
        with held.opened("add to", self._file_at("add to", log), os.O_WRONLY | os.O_APPEND) as output:
            if PureWindowsPath(program).drive and self._is_for_windows(program):
                os.write(
                    output, f"A sandbox does not run {commandline.join(redacted_words(command))}\n".encode()
                )
                return 0
            with telling("run", program):
                process = _start([self._file(program), *arguments], output, subprocess.STDOUT, None, where)
            try:
                return _exit_code(process, program, seconds)
            except BaseException:
                _end_all(process)
                raise

    def wait(self, pid: int, seconds: float) -> int:
        subject = f"process {pid}"
        try:
            # Only a parent is told the exit code; of a service's program the sandbox keeps it.
            codes = (_wait(pid, seconds), self._services.exit_code(pid))
        except TimeoutError as failure:
            raise TimedOut(
                "wait for", subject, winerror.ERROR_TIMEOUT, f"it still runs after {seconds:g} s"
            ) from failure
        except ProcessLookupError as failure:
            raise NotFound("wait for", subject, winerror.ERROR_INVALID_PARAMETER) from failure
        return next((code for code in codes if code is not None), 0)

    def end(self, pid: int) -> None:
        with _there("end", pid) as process:
            process.kill()

    def started_at(self, pid: int) -> float:
        with _there("look at", pid) as process:
            return float(process.create_time())

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        return self._state.exclusive(f"exclusive-{name}")

    def is_held(self, name: str) -> bool:
        return self._state.is_held(f"exclusive-{name}")

    def holder(self, name: str) -> int | None:
        return self._state.holder(f"exclusive-{name}")

    def _file(self, program: str) -> str:
        """A path with a drive is the sandbox's, any other the operating system's own."""
        path = PureWindowsPath(program)
        return self._drive.existing("run", path).file if path.drive else program

    def _file_at(self, action: str, path: PureWindowsPath) -> Place:
        place = self._drive.existing(action, path)
        if place.is_folder:
            raise WrongKind(action, str(path), winerror.ERROR_DIRECTORY_NOT_SUPPORTED)
        return place

    def _is_for_windows(self, program: str) -> bool:
        """What Windows brings along is not in a sandbox at all."""
        place = self._drive.locate("run", PureWindowsPath(program))
        if place.state is None:
            return place.keys[:1] == (name_key(_WINDOWS),)
        return place.is_file and not can_run(place.file)

    def _program(self, file: str | None) -> PureWindowsPath | None:
        return self._drive.path_of(file) if file else None


def _check(command: Sequence[str]) -> None:
    """Windows would look for a program without a path in the current folder too."""
    program = command[0]
    path = PureWindowsPath(program)
    if not (path.is_absolute() if path.drive else pathlib.Path(program).is_absolute()):
        raise BadName("run", program, winerror.ERROR_BAD_PATHNAME, "give its whole path")
    if path.suffix.lower() in (".bat", ".cmd"):
        raise BadName("run", program, winerror.ERROR_BAD_PATHNAME, "run cmd.exe with it as an argument")
    commandline.join(command)


def _start(
    command: Sequence[str],
    output: IO[bytes] | int,
    errors: IO[bytes] | int,
    environment: Mapping[str, str] | None,
    directory: str | None,
) -> subprocess.Popen[bytes]:
    # fmt: off
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment, cwd=directory,
        start_new_session=True,
    )
    # fmt: on


def _exit_code(process: subprocess.Popen[bytes], program: str, seconds: float) -> int:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired as failure:
        advice = f"it was ended after {seconds:g} s"
        raise TimedOut("run", program, winerror.ERROR_TIMEOUT, advice) from failure


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """The program and, but on Windows, all its children, which share its process group."""
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def _there(action: str, pid: int) -> Iterator[psutil.Process]:
    try:
        yield psutil.Process(pid)
    except psutil.NoSuchProcess as failure:
        raise NotFound(action, f"process {pid}", winerror.ERROR_INVALID_PARAMETER) from failure
    except psutil.AccessDenied as failure:
        raise AccessDenied(action, f"process {pid}", winerror.ERROR_ACCESS_DENIED) from failure


if sys.platform == "linux":

    def _wait(pid: int, seconds: float) -> int | None:
        """The exit code, for a child of this process; it is left for whoever started it to ask again."""
        process = os.pidfd_open(pid)
        try:
            poll = select.poll()
            poll.register(process, select.POLLIN)
            if not poll.poll(seconds * 1000):
                raise TimeoutError
            with suppress(ChildProcessError):
                ended = os.waitid(os.P_PIDFD, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                return ended.si_status if ended else None
            return None
        finally:
            os.close(process)

else:

    def _wait(pid: int, seconds: float) -> int | None:
        try:
            return psutil.Process(pid).wait(seconds)
        except psutil.TimeoutExpired as failure:
            raise TimeoutError from failure
        except psutil.NoSuchProcess as failure:
            raise ProcessLookupError from failure


def _first(output: IO[bytes], limit: int) -> bytes:
    output.seek(0)
    return output.read(limit)
