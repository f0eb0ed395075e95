"""The primitives from which a file is put in place (agent.host.replacing)."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import (
    AlreadyExists,
    InUse,
    NotFound,
    ProgramRunning,
    ReparsePoint,
    WrongKind,
)
from agent.host.sandbox import held
from agent.host.sandbox.descriptors import ADD_FILE, Descriptors, SandboxAccess
from agent.host.sandbox.failure import telling
from agent.host.sandbox.places import Drive, Place
from agent.host.sddl import SecurityDescriptor


@dataclass(eq=False, repr=False)
class SandboxVolume:
    _drive: Drive
    _descriptors: Descriptors
    _access: SandboxAccess
    _is_service_program: Callable[[os.stat_result], bool]

    def check_target(self, path: PureWindowsPath) -> None:
        place = self._drive.locate("write", path)
        if place.is_link:
            raise ReparsePoint("write", str(path), winerror.ERROR_REPARSE_POINT_ENCOUNTERED)
        if place.is_folder:
            raise WrongKind("write", str(path), winerror.ERROR_DIRECTORY_NOT_SUPPORTED)

    def create(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> int:
        place = self._drive.locate("create", path)
        if place.state is not None:
            raise AlreadyExists("create", str(path), winerror.ERROR_ALREADY_EXISTS)
        assert place.folder is not None
        self._access.require("create", place.folder, ADD_FILE)
        self._descriptors.expect(place, descriptor)
        mode = self._descriptors.mode(descriptor)
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with telling("create", path):
            handle = os.open(place.file, flags, mode)
        held.hold(handle)
        if os.fstat(handle).st_mode & 0o7777 != mode:
            # The process' umask took something away.
            os.chmod(place.file, mode)  # noqa: PTH101
        return handle

    def write(self, handle: int, block: bytes) -> None:
        with telling("write", "a new file"):
            rest = memoryview(block)
            while rest:
                rest = rest[os.write(handle, rest) :]

    def flush(self, handle: int) -> None:
        """Nothing is left to do once the operating system has it: see agent.host.sandbox.state."""

    def close(self, handle: int) -> None:
        os.close(handle)

    def move_over(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        source, place = self._drive.existing("move", path), self._drive.locate("replace", target)
        held.check_free("move", source)
        if place.state is not None:
            self._check_removable("replace", place)
            _take_off_read_only(place)
        differ = self._descriptors.differ(place, source)
        if differ:
            self._descriptors.expect_replacement(place, source)
        with telling("replace", target):
            os.replace(source.file, place.file)  # noqa: PTH105
        if differ:
            self._descriptors.settle_replacement(place, source)
        self._descriptors.forget(source)

    def move(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        source, place = self._drive.existing("move", path), self._drive.locate("move", target)
        changes_capitals_only = source.keys == place.keys
        if place.state is not None and not changes_capitals_only:
            raise AlreadyExists("move", f"{path} to {target}", winerror.ERROR_ALREADY_EXISTS)
        assert place.folder is not None
        self._access.require_removal("move", source)
        self._access.require("move", place.folder, ADD_FILE)
        self._check_movable(source)
        file = place.file if place.state is None else _renamed(place)
        if not changes_capitals_only:
            self._descriptors.expect_move(source, place)
        with telling("move", path):
            os.rename(source.file, file)  # noqa: PTH104
        if not changes_capitals_only:
            self._descriptors.forget(source)

    def remove(self, path: PureWindowsPath) -> None:
        place = self._drive.locate("remove", path)
        if place.state is None:
            raise NotFound("remove", str(path), winerror.ERROR_FILE_NOT_FOUND)
        if place.is_folder:
            raise WrongKind("remove", str(path), winerror.ERROR_DIRECTORY_NOT_SUPPORTED)
        if place.is_file:
            self._check_removable("remove", place)
            _take_off_read_only(place)
        with telling("remove", path):
            os.unlink(place.file)  # noqa: PTH108
        self._descriptors.forget(place)

    def is_running(self, path: PureWindowsPath) -> bool:
        return self._runs(self._drive.locate("replace", path))

    def _runs(self, place: Place) -> bool:
        if not place.is_file or place.state is None:
            return False
        return held.is_running(place) or self._is_service_program(place.state)

    def _check_removable(self, action: str, place: Place) -> None:
        self._access.require_removal(action, place)
        if self._runs(place):
            raise ProgramRunning(action, str(place.path), winerror.ERROR_ACCESS_DENIED)
        held.check_free(action, place)

    def _check_movable(self, place: Place) -> None:
        """Windows renames a running program, but no folder in which anything is open or running."""
        if place.is_file:
            held.check_free("move", place)
            return
        for below in self._files_below(place):
            if self._runs(below) or held.is_held(below):
                raise InUse("move", str(place.path), winerror.ERROR_ACCESS_DENIED, f"{below.path} is open")

    def _files_below(self, folder: Place) -> Iterator[Place]:
        for name in os.listdir(folder.file):  # noqa: PTH208
            place = self._drive.locate("move", folder.path / name)
            if place.is_folder:
                yield from self._files_below(place)
            elif place.is_file:
                yield place


def _take_off_read_only(place: Place) -> None:
    """The mark is no protection, but Windows removes and replaces nothing that has it."""
    if place.state is not None and not place.state.st_mode & 0o200:
        with telling("replace", place.path):
            os.chmod(place.file, place.state.st_mode & 0o7777 | 0o200)  # noqa: PTH101


def _renamed(place: Place) -> str:
    """The operating system's path for a rename that only changes capitals."""
    assert place.folder is not None
    return os.path.join(place.folder.file, place.path.name)  # noqa: PTH118
