"""Where in the sandbox's folder a Windows path lies: names without regard to case, links never followed."""

from __future__ import annotations

import os
import pathlib
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import AccessDenied, NotFound, ReparsePoint, host_error
from agent.host.names import check_path
from agent.host.sandbox.state import FOLDER_NAME


@dataclass(frozen=True, slots=True)
class Place:
    """What lies, or would lie, at a path."""

    parts: tuple[str, ...]
    """Of its path. Most places are only passed on the way, and none of their paths is asked for."""
    file: str
    """The same for the operating system."""
    keys: tuple[str, ...]
    """The names on the way, as Windows compares them."""
    folder: Place | None
    """What it lies in; None for C: itself."""
    state: os.stat_result | None
    """None where nothing is."""

    def __str__(self) -> str:
        return str(self.path)

    @property
    def path(self) -> PureWindowsPath:
        return PureWindowsPath(*self.parts)

    @property
    def is_link(self) -> bool:
        return self.state is not None and _is_link(self.state)

    @property
    def is_folder(self) -> bool:
        return self.state is not None and stat.S_ISDIR(self.state.st_mode) and not self.is_link

    @property
    def is_file(self) -> bool:
        return self.state is not None and not self.is_folder and not self.is_link


class Drive:
    """C:, which is the only one."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._root = os.fspath(directory)

    def locate(self, action: str, path: PureWindowsPath) -> Place:
        """The last element need not exist, and may be a link. Raises for all that is wrong on the way."""
        check_path(action, path)
        if path.drive.upper() != "C:":
            raise NotFound(action, str(path), winerror.ERROR_PATH_NOT_FOUND, "a sandbox has no drive but C:")
        place = Place((path.anchor,), self._root, (), None, os.lstat(self._root))
        for name in path.parts[1:]:
            place = self._step(action, path, place, name)
        return place

    def existing(self, action: str, path: PureWindowsPath) -> Place:
        """What is there, and is no link."""
        place = self.locate(action, path)
        if place.state is None:
            raise NotFound(action, str(path), winerror.ERROR_FILE_NOT_FOUND)
        if place.is_link:
            raise _link(action, path, place)
        return place

    def inside(self, folder: Place, name: str) -> Place:
        """What has one of the names that are in a folder."""
        key = name_key(name)
        file, state = _find(folder.file, name, key)
        return Place((*folder.parts, name), file, (*folder.keys, key), folder, state)

    def path_of(self, file: str) -> PureWindowsPath | None:
        """The Windows path of an operating system's file; None where it isn't in C:."""
        try:
            relative = os.path.relpath(file, self._root)
        except ValueError:
            return None  # on Windows: it lies on another drive
        return None if relative.startswith(os.pardir) else PureWindowsPath("C:\\", relative)

    def _step(self, action: str, path: PureWindowsPath, folder: Place, name: str) -> Place:
        if folder.is_link:
            raise _link(action, path, folder)
        if not folder.is_folder:
            raise NotFound(
                action, str(path), winerror.ERROR_PATH_NOT_FOUND, f"there is no folder {folder.path}"
            )
        if folder.folder is None and name_key(name) == name_key(FOLDER_NAME):
            raise AccessDenied(
                action, str(path), winerror.ERROR_ACCESS_DENIED, "the sandbox keeps its own state there"
            )
        return self.inside(folder, name)


@lru_cache(maxsize=4096)
def name_key(name: str) -> str:
    """Equal for names that mean the same file: Windows compares letter by letter in capitals."""
    return "".join(upper if len(upper := letter.upper()) == 1 else letter for letter in name)


def _find(folder: str, name: str, key: str) -> tuple[str, os.stat_result | None]:
    file = os.path.join(folder, name)  # noqa: PTH118 - this is done for each element of each path
    try:
        return file, os.lstat(file)
    except FileNotFoundError:
        pass
    except PermissionError as failure:
        raise _kept_out(name) from failure
    except OSError as failure:
        # 255 letters that take more bytes than this system's names can have.
        raise host_error(
            "reach", name, winerror.ERROR_INVALID_NAME, f"this system cannot have such a name: {failure}"
        ) from failure
    try:
        others = os.listdir(folder)  # noqa: PTH208 - paths are not needed
    except PermissionError as failure:
        raise _kept_out(name) from failure
    for other in others:
        if name_key(other) == key:
            file = os.path.join(folder, other)  # noqa: PTH118
            return file, os.lstat(file)
    return file, None


def _kept_out(name: str) -> AccessDenied:
    return AccessDenied(
        "reach", name, winerror.ERROR_ACCESS_DENIED, "this system does not let us into its folder"
    )


def _is_link(state: os.stat_result) -> bool:
    attributes = getattr(state, "st_file_attributes", 0)
    return stat.S_ISLNK(state.st_mode) or bool(attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT)


def _link(action: str, path: PureWindowsPath, link: Place) -> ReparsePoint:
    return ReparsePoint(
        action, str(path), winerror.ERROR_REPARSE_POINT_ENCOUNTERED, f"{link.path} leads elsewhere"
    )
