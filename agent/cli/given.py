"""Files that a command was given: of this system, or, with a drive letter, of the sandbox's machine."""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cached_property
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli.failure import BadInput, BadUsage
from agent.cli.machine import is_sandbox
from agent.host.errors import HostError
from agent.host.port import FileKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.cli.arguments import Option, Request
    from agent.host.port import Host

_BLOCK = 1 << 20


class GivenFile:
    """A `Content` as well: what is copied need not be held."""

    def __init__(self, option: str, shown: str) -> None:
        self.option = option
        self.shown = shown

    def blocks(self) -> Iterator[bytes]:
        try:
            yield from self._blocks()
        except (OSError, HostError) as fault:
            raise self.objection(_why(fault)) from fault

    def read(self) -> bytes:
        try:
            return self._all()
        except (OSError, HostError) as fault:
            raise self.objection(_why(fault)) from fault

    def objection(self, text: str) -> BadInput:
        """To be raised."""
        return BadInput.of(self.option, self.shown, text)

    def head(self, size: int) -> bytes:
        for block in self.blocks():
            return block[:size]
        return b""

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for block in self.blocks():
            digest.update(block)
        return digest.hexdigest()

    @property
    def size(self) -> int:
        raise NotImplementedError

    @property
    def absolute(self) -> str:
        raise NotImplementedError

    def is_at(self, place: PureWindowsPath) -> bool:
        """Whether this is the very file that lies there on the machine."""
        raise NotImplementedError

    def beside(self, name: str) -> GivenFile | None:
        """The file of that name in the same folder, if there is one."""
        raise NotImplementedError

    def _blocks(self) -> Iterator[bytes]:
        raise NotImplementedError

    def _all(self) -> bytes:
        raise NotImplementedError


class _OfThisSystem(GivenFile):
    def __init__(self, option: str, name: str, *, is_machine: bool) -> None:
        """`is_machine`: this system is the machine that the command is about."""
        super().__init__(option, name)
        self._path = Path(name).absolute()
        self._is_machine = is_machine

    @property
    def size(self) -> int:
        return self._path.stat().st_size

    @property
    def absolute(self) -> str:
        return str(self._path)

    def is_at(self, place: PureWindowsPath) -> bool:
        return self._is_machine and PureWindowsPath(self._path) == place

    def beside(self, name: str) -> GivenFile | None:
        path = self._path.with_name(name)
        if not path.is_file():
            return None
        return _OfThisSystem(self.option, str(path), is_machine=self._is_machine)

    def _blocks(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block

    def _all(self) -> bytes:
        return self._path.read_bytes()


class _OfTheMachine(GivenFile):
    def __init__(self, option: str, path: PureWindowsPath, host: Host) -> None:
        super().__init__(option, str(path))
        self._path = path
        self._host = host

    @property
    def size(self) -> int:
        there = self._host.files.observe(self._path)
        return there.size if there else 0

    @property
    def absolute(self) -> str:
        return str(self._path)

    def is_at(self, place: PureWindowsPath) -> bool:
        return self._path == place

    def beside(self, name: str) -> GivenFile | None:
        path = self._path.with_name(name)
        there = self._host.files.observe(path)
        if there is None or there.kind is not FileKind.FILE:
            return None
        return _OfTheMachine(self.option, path, self._host)

    def _blocks(self) -> Iterator[bytes]:
        return iter(self._host.files.blocks(self._path))

    def _all(self) -> bytes:
        return self._host.files.read(self._path)


def given_file(request: Request, option: Option, host: Host, *, otherwise: str = "") -> GivenFile:
    """Raises BadUsage if none is given, or it cannot be read."""
    name = request.value(option, otherwise)
    if not name and not request.has(option):
        raise BadUsage(f"{option.name} {option.placeholder} is needed", where=option.name)
    file = _of_the_sandbox(option, name, host) if is_sandbox(request) else None
    if file is None:
        is_machine = sys.platform == "win32" and not is_sandbox(request)
        _refuse_what_is_read_once(option, name)
        file = _OfThisSystem(option.name, name, is_machine=is_machine)
    file.head(1)
    return file


def _refuse_what_is_read_once(option: Option, name: str) -> None:
    """A file is looked at before it is read; a pipe would be empty by then."""
    path = Path(name)
    is_pipe = path.exists() and not path.is_file() and not path.is_dir()
    if name == "-" or is_pipe:
        fault = "a regular file is needed, and no pipe or device; save it first"
        raise BadInput.of(option.name, name, fault)


def _of_the_sandbox(option: Option, name: str, host: Host) -> GivenFile | None:
    """On Windows a path with a drive letter may as well be one of this system."""
    if not re.match("[A-Za-z]:", name):
        return None
    path = PureWindowsPath(name)
    try:
        is_there = host.files.observe(path) is not None
    except HostError:
        is_there = False
    return _OfTheMachine(option.name, path, host) if is_there or sys.platform != "win32" else None


def _why(fault: OSError | HostError) -> str:
    if isinstance(fault, FileNotFoundError):
        return "there is no such file"
    if isinstance(fault, OSError):
        if fault.errno is not None and Path(str(fault.filename or "")).is_dir():
            return "it is a folder; name a file"
        return f"it cannot be read (error {fault.errno}: {fault.strerror})"
    return str(fault)
