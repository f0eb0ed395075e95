"""Files that a command was given: of this system, or, with a drive letter, of the sandbox's machine.

Which kind of document one is shows in how it begins: one option's is easily given to another.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path, PureWindowsPath

from agent.cli import options
from agent.cli.arguments import Option, Request
from agent.cli.failure import BadInput, BadUsage
from agent.cli.machine import is_sandbox
from agent.hashing import new_sha256
from agent.host.errors import HostError, NotFound, WrongKind
from agent.host.files import FileKind
from agent.host.port import Host

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BLOCK = 1 << 18
"""Larger ones a heap does not keep: each would be asked of Windows anew, and be filled with zeros."""
_LOOKED_AT = 1 << 16
_USER_DATA = re.compile(
    rb"#cloud-|##\s*template:|#ps1|#!|#include\b|#part-handler|<powershell>|<script>|rem\s+cmd\s|"
    # A message's headers, one of which is MIME's.
    rb"(?:[!-9;-~]+:.*\n|[ \t].*\n|From .*\n)*?(?:content-type|mime-version)[ \t]*:",
    re.I,
)
"""What may hold other documents is known before these are looked for."""
_SIGNS_IN_JSON = {
    options.IGNITION: re.compile(rb'"ignition"\s*:'),
    options.KUBEADM_CONFIG: re.compile(rb'"kind"\s*:\s*"JoinConfiguration"'),
    options.NODE_CONFIG: re.compile(rb'"kind"\s*:\s*"NodeConfiguration"'),
}
_KIND = rb"""^["']?kind["']?[ \t]*:[ \t]*["']?"""
_SIGNS = {
    options.KUBEADM_CONFIG: re.compile(_KIND + rb"JoinConfiguration\b", re.MULTILINE),
    options.NODE_CONFIG: re.compile(_KIND + rb"NodeConfiguration\b", re.MULTILINE),
}
_OF_A_CLUSTER = re.compile(
    rb"""^["']?kind["']?[ \t]*:[ \t]*["']?(Secret|ConfigMap)\b|"kind"\s*:\s*"(Secret|ConfigMap)\"""",
    re.MULTILINE,
)
_IN_BASE64 = re.compile(rb"[A-Za-z0-9+/\r\n]{40,}+={0,2}\s*")
_PROGRAM = b"MZ"
_CALLED = {
    options.IGNITION: "an Ignition",
    options.KUBEADM_CONFIG: "a JoinConfiguration",
    options.USER_DATA: "cloud-init user data",
    options.NODE_CONFIG: "a NodeConfiguration",
}


class GivenFile:
    """A `Content` as well: what is copied need not be held."""

    def __init__(self, option: str, shown: str) -> None:
        self.option = option
        self.shown = shown
        self._neighbours: dict[str, GivenFile | None] = {}

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
        digest = new_sha256()
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
        if name not in self._neighbours:
            self._neighbours[name] = self._beside(name)
        return self._neighbours[name]

    def _beside(self, name: str) -> GivenFile | None:
        raise NotImplementedError

    def from_here(self, path: str) -> bytes:
        """What a path in this file leads to: it starts at the file's folder. Raises OSError."""
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

    def _beside(self, name: str) -> GivenFile | None:
        path = self._path.with_name(name)
        if not path.is_file():
            return None
        return _OfThisSystem(self.option, str(path), is_machine=self._is_machine)

    def from_here(self, path: str) -> bytes:
        return (self._path.parent / path).read_bytes()

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

    def _beside(self, name: str) -> GivenFile | None:
        path = self._path.with_name(name)
        there = self._host.files.observe(path)
        if there is None or there.kind is not FileKind.FILE:
            return None
        return _OfTheMachine(self.option, path, self._host)

    def from_here(self, path: str) -> bytes:
        try:
            return self._host.files.read(self._path.parent / PureWindowsPath(path))
        except HostError as fault:
            raise OSError(fault.code, str(fault)) from fault

    def _blocks(self) -> Iterator[bytes]:
        return iter(self._host.files.blocks(self._path))

    def _all(self) -> bytes:
        return self._host.files.read(self._path)


def given_file(request: Request, option: Option, host: Host, *, otherwise: str = "") -> GivenFile:
    """The same at each call, so that what was found out of it is known. Raises BadUsage if none is given, or
    it cannot be read.
    """
    if option.name not in request.files:
        name = request.value(option, otherwise)
        if not name and not request.has(option):
            raise option.misused(f" {option.placeholder} is needed")
        request.files[option.name] = named_file(request, option.name, name, host)
    return request.files[option.name]


def named_file(request: Request, where: str, name: str, host: Host) -> GivenFile:
    """`where` is the option, or the place in a document, that names it. Raises BadUsage."""
    if not name:
        raise BadUsage(f"{where}: its value is empty; name a file", where=where)
    path = PureWindowsPath(name)
    if is_sandbox(request) and _is_of_the_machine(path, host):
        file: GivenFile = _OfTheMachine(where, path, host)
    else:
        _refuse_what_is_read_once(where, name)
        file = _OfThisSystem(where, name, is_machine=sys.platform == "win32" and not is_sandbox(request))
    file.head(1)
    return file


def named_folder(
    request: Request, where: str, name: str, host: Host, limit: int, is_read: Callable[[str], bool]
) -> Mapping[str, bytes]:
    """All in a folder and in those below it, `limit` bytes of each that `is_read`, by their path from there,
    with slashes.

    `where` is the option, or the place in a document, that names it. Raises BadUsage.
    """
    found = _in_folder(request, where, name, host, limit)
    return {
        path: _inside(where, f"{name}/{path}", read) if is_read(path) else b"" for path, read in found.items()
    }


def _inside(where: str, name: str, read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except (IsADirectoryError, WrongKind) as fault:
        raise BadInput.of(where, name, "it leads to a folder, where a file has to be") from fault
    except (OSError, HostError) as fault:
        raise BadInput.of(where, name, _why(fault)) from fault


def _in_folder(
    request: Request, where: str, name: str, host: Host, limit: int
) -> Mapping[str, Callable[[], bytes]]:
    try:
        if is_sandbox(request) and _is_of_the_machine(PureWindowsPath(name), host):
            return dict(_on_the_machine(host, PureWindowsPath(name), limit))
        root, is_machine = Path(name).absolute(), sys.platform == "win32" and not is_sandbox(request)
        if is_machine:
            return dict(_on_the_machine(host, PureWindowsPath(root), limit))
        return dict(_on_this_system(root, limit))
    except (FileNotFoundError, NotFound) as fault:
        raise BadInput.of(where, name, "there is no such folder") from fault
    except (NotADirectoryError, WrongKind) as fault:
        raise BadInput.of(where, name, "it is no folder") from fault
    except (OSError, HostError) as fault:
        raise BadInput.of(where, name, _why(fault)) from fault


def _on_the_machine(
    host: Host, root: PureWindowsPath, limit: int
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    folders = [root]
    while folders:
        folder = folders.pop()
        for name in host.files.list(folder):
            path = folder / name
            there = host.files.observe(path)
            if there is not None and there.kind is FileKind.DIRECTORY:
                folders.append(path)
            else:
                yield path.relative_to(root).as_posix(), partial(host.files.read, path, limit)


def _on_this_system(root: Path, limit: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    folders = [root]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path.is_dir() and not path.is_symlink():
                folders.append(path)
            else:
                yield path.relative_to(root).as_posix(), partial(_beginning, path, limit)


def _beginning(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit)


def _refuse_what_is_read_once(where: str, name: str) -> None:
    """A file is looked at before it is read; a pipe would be empty by then."""
    if _URL.match(name):
        raise BadInput.of(where, name, "a URL is not taken here; fetch it first, and name the file")
    path = Path(name)
    try:
        is_pipe = path.exists() and not path.is_file() and not path.is_dir()
    except OSError as denied:  # a folder on the way that may not be looked into
        raise BadInput.of(where, name, _why(denied)) from denied
    if name == "-" or is_pipe:
        fault = "a regular file is needed, and no pipe or device; save it first"
        raise BadInput.of(where, name, fault)


def _is_of_the_machine(path: PureWindowsPath, host: Host) -> bool:
    """On Windows a path with a drive letter may as well be one of this system."""
    if not path.drive.endswith(":"):
        return False
    try:
        is_there = host.files.observe(path) is not None
    except HostError:
        is_there = False
    return is_there or sys.platform != "win32"


def _why(fault: OSError | HostError) -> str:
    if isinstance(fault, FileNotFoundError):
        return "there is no such file"
    if isinstance(fault, OSError):
        if _is_folder(fault):
            return "it is a folder; name a file"
        return f"it cannot be read (error {fault.errno}: {fault.strerror})"
    return str(fault)


def _is_folder(fault: OSError) -> bool:
    try:
        return fault.errno is not None and Path(str(fault.filename or "")).is_dir()
    except OSError:
        return False


def refuse_another_kind(file: GivenFile, wanted: Option, host: Host) -> None:
    """Raises BadInput where it is plainly one that another option takes."""
    found = _kind(file.head(_LOOKED_AT).removeprefix(b"\xef\xbb\xbf").lstrip())
    # User data may be an Ignition: Cluster API writes it in that format, too.
    is_meant = found is wanted or (found is options.IGNITION and wanted is options.USER_DATA)
    if found is None:
        _refuse_what_none_takes(file, wanted)
    if found is None or is_meant:
        return
    command = f"{host.called} prepare" if found is options.NODE_CONFIG else host.called
    raise file.objection(f"it is {_CALLED[found]}; {command} {found.name} {found.placeholder} takes that")


def _refuse_what_none_takes(file: GivenFile, wanted: Option) -> None:
    """What a document was to be taken out of, and a file that was mixed up with it."""
    head = file.head(_LOOKED_AT)
    if head.startswith(_PROGRAM):
        raise file.objection(f"it is a Windows program; {_CALLED[wanted]} is expected")
    if found := _OF_A_CLUSTER.search(head):
        kind = (found[1] or found[2]).decode()
        base64 = ", in base64" if kind == "Secret" else ""
        raise file.objection(
            f"it is a {kind} of a cluster; {_CALLED[wanted]} is expected, "
            f"which may be a value of its data{base64}: write that alone into a file"
        )
    # User data may come so: clouds take it in that form.
    if wanted is not options.USER_DATA and _IN_BASE64.fullmatch(head):
        raise file.objection("it is base64; decode it first")


def _kind(beginning: bytes) -> Option | None:
    is_json = beginning.startswith(b"{")
    if not is_json and _USER_DATA.match(beginning):
        return options.USER_DATA
    signs = _SIGNS_IN_JSON if is_json else _SIGNS
    return next((option for option, sign in signs.items() if sign.search(beginning)), None)
