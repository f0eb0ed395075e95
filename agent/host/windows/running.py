"""Running a program to its end, in a job from its first moment (kernel32).

One that is taken into a job when it is there already stays for ever, suspended, where whoever made it is
killed in between; and Python's subprocess knows no jobs. Apart from `processes`, which the resident service
needs without this.
"""

import ctypes
import msvcrt
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from ctypes import wintypes
from pathlib import PureWindowsPath

import win32file
import win32job

from agent.amounts import in_seconds
from agent.host import commandline, winerror
from agent.host.errors import BadName, TimedOut
from agent.host.files import FileKind
from agent.host.port import Completed
from agent.host.windows.api import files
from agent.host.windows.api.binding import dll, judged, last_failure, succeeding
from agent.host.windows.api.processes import Process
from agent.host.windows.failure import telling
from agent.host.windows.walking import expect, folder_of

_BLOCK = 1 << 16

NO_CONSOLE = 0x0000_0008
"""DETACHED_PROCESS"""
UNSEEN_CONSOLE = 0x0800_0000
"""CREATE_NO_WINDOW"""

_UNICODE_ENVIRONMENT = 0x0000_0400
_WITH_ATTRIBUTES = 0x0008_0000
_WITH_STREAMS = 0x0100
_HANDLES, _JOBS = 0x0002_0002, 0x0002_000D

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t


class _Start(ctypes.Structure):
    """STARTUPINFOEXW"""

    # fmt: off
    _fields_ = (
        ("size", _DWORD), ("texts", _POINTER * 3), ("window", _DWORD * 7), ("flags", _DWORD),
        ("show", wintypes.WORD), ("reserved_size", wintypes.WORD), ("reserved", _POINTER),
        ("streams", _HANDLE * 3), ("attributes", _POINTER),
    )
    # fmt: on


class _Made(ctypes.Structure):
    """PROCESS_INFORMATION"""

    _fields_ = (("process", _HANDLE), ("thread", _HANDLE), ("pid", _DWORD), ("thread_id", _DWORD))


_kernel32 = dll("kernel32")
_delete_list = judged(_kernel32, "DeleteProcThreadAttributeList", None, _POINTER)
# fmt: off
_initialize_list = judged(
    _kernel32, "InitializeProcThreadAttributeList", _BOOL,
    _POINTER, _DWORD, _DWORD, ctypes.POINTER(_SIZE),
)
_add_to_list = succeeding(
    _kernel32, "UpdateProcThreadAttribute", _BOOL,
    _POINTER, _DWORD, _SIZE, _POINTER, _SIZE, _POINTER, _POINTER,
)
_create = succeeding(
    _kernel32, "CreateProcessW", _BOOL,
    wintypes.LPCWSTR, wintypes.LPWSTR, _POINTER, _POINTER, _BOOL, _DWORD, wintypes.LPCWSTR, wintypes.LPCWSTR,
    ctypes.POINTER(_Start), ctypes.POINTER(_Made),
)
# fmt: on


class Job(AbstractContextManager["Job"]):
    """A job object: a process and all that it starts, ended together.

    Ends whatever still runs in it when it is closed, also by this process' own end.
    """

    def __init__(self) -> None:
        # What the types say of it is not what it does. An empty name is none.
        self.handle: int = win32job.CreateJobObject(None, "")  # type: ignore[func-returns-value,assignment]
        self._limit(win32job.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)

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
    """The streams are numbers of C's library. It inherits no other handles than theirs."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        streams = tuple(map(msvcrt.get_osfhandle, (nothing, output, errors)))
        for handle in streams:
            os.set_handle_inheritable(handle, True)
        with _attributes(int(job.handle), streams) as attributes:
            start = _Start(
                size=ctypes.sizeof(_Start), flags=_WITH_STREAMS, streams=streams, attributes=attributes
            )
            made = _Made()
            line = ctypes.create_unicode_buffer(commandline.join(command))
            block = None if environment is None else ctypes.create_unicode_buffer(_block(environment))
            flags = console | _WITH_ATTRIBUTES | _UNICODE_ENVIRONMENT
            where = None if directory is None else str(directory)
            _create(command[0], line, None, None, True, flags, block, where, start, made)
        win32file.CloseHandle(made.thread)
        return Process.made(made.pid, made.process)
    finally:
        os.close(nothing)


@contextmanager
def _attributes(job: int, streams: Sequence[int]) -> Iterator[int]:
    size = _SIZE()
    _initialize_list(None, 2, 0, size)  # fails, and says how much room it takes
    room = ctypes.create_string_buffer(size.value)
    attributes = ctypes.addressof(room)
    if not _initialize_list(attributes, 2, 0, size):
        raise last_failure("InitializeProcThreadAttributeList")
    # Windows keeps the addresses of these. A handle may be named once only.
    jobs, handles = (_HANDLE * 1)(job), (_HANDLE * len({*streams}))(*{*streams})
    try:
        for kind, values in ((_JOBS, jobs), (_HANDLES, handles)):
            _add_to_list(attributes, 0, kind, values, ctypes.sizeof(values), None, None)
        yield attributes
    finally:
        _delete_list(attributes)


def _block(environment: Mapping[str, str]) -> str:
    """As Windows has it: in the order of names, each with an end of its own. Raises ValueError for a NUL."""
    named = sorted(environment.items(), key=lambda item: item[0].upper())
    if any("\0" in name + value for name, value in named):
        raise ValueError("a variable cannot contain a NUL character")
    return "".join(f"{name}={value}\0" for name, value in named) or "\0"


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
