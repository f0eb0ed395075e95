"""Opening what a path names without following a reparse point on the way or at its end.

The kernel is asked to follow none (OBJ_DONT_REPARSE, which Go's os.Root relies on as well). Where it met one,
or does not know how, each folder is opened in the one before it and looked at through its handle, so the one
that was looked at is the one that is used: nobody can change its name for a junction in between.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.files import FileKind
from agent.host.names import check_path
from agent.host.windows.api import files as api
from agent.host.windows.api.machine import windows_directory
from agent.host.windows.failure import Win32Error, failed


@contextmanager
def opened(
    path: PureWindowsPath,
    access: int,
    *,
    share: int = api.SHARE_ALL,
    disposition: int = api.OPEN,
    options: int = api.SYNCHRONOUS,
    descriptor: str | None = None,
) -> Iterator[int]:
    """A handle of what lies there, or is made there. It may be a reparse point itself: see `expect`."""

    open_in = partial(
        api.open_in,
        access=access,
        share=share,
        disposition=disposition,
        options=options,
        descriptor=descriptor,
    )
    check_path("reach", path)
    handle = _opened_at_once(path, open_in)
    if handle is None:
        with folder_of(path, options & api.BACKUP_INTENT) as folder:
            handle = open_in(folder, path.name or kernel_name(path))
    try:
        yield handle
    finally:
        api.close(handle)


def _opened_at_once(path: PureWindowsPath, open_in: Callable[..., int]) -> int | None:
    """None where only a walk can tell."""
    if not path.name:
        return None
    with _root(path) as root:
        try:
            return open_in(root, "\\".join(path.parts[1:]), no_link=True)
        except Win32Error as failure:
            # A kernel says the first that does not know OBJ_DONT_REPARSE: Windows Server 2016 is the last.
            if failure.winerror in (
                winerror.ERROR_INVALID_PARAMETER,
                winerror.ERROR_REPARSE_POINT_ENCOUNTERED,
            ):
                return None
            raise


@contextmanager
def _root(path: PureWindowsPath) -> Iterator[int]:
    """Not by its whole name is a path opened at once: in the kernel's a drive is a link itself."""
    if path.drive.upper() == _drive_of_windows():
        yield _root_of_windows()
        return
    handle = _opened_root(path)
    try:
        yield handle
    finally:
        api.close(handle)


@cache
def _drive_of_windows() -> str:
    return PureWindowsPath(windows_directory()).drive.upper()


@cache
def _root_of_windows() -> int:
    """Never closed: this drive, and no other, is there as long as any program."""
    return _opened_root(PureWindowsPath(f"{_drive_of_windows()}\\"))


def _opened_root(path: PureWindowsPath) -> int:
    return api.open_in(None, kernel_name(path), 0, options=api.DIRECTORY | api.SYNCHRONOUS)


@contextmanager
def folder_of(path: PureWindowsPath, backup_intent: int = 0) -> Iterator[int | None]:
    """A handle of the folder that the path's last element is in; None when it is a drive's root."""
    check_path("reach", path)
    options = api.DIRECTORY | api.SYNCHRONOUS | backup_intent
    with ExitStack() as handles:
        folder: int | None = None
        for element in path.parts[:-1]:
            try:
                name = element if folder else kernel_name(path)
                folder = api.open_in(folder, name, 0, options=options)
            except Win32Error as failure:
                if failure.winerror in (winerror.ERROR_FILE_NOT_FOUND, winerror.ERROR_DIRECTORY):
                    raise failed(winerror.ERROR_PATH_NOT_FOUND, "NtCreateFile") from failure
                raise
            handles.callback(api.close, folder)
            expect(folder, FileKind.DIRECTORY)
        yield folder


def expect(handle: int, kind: FileKind) -> None:
    """Refuse what is of another kind, and every reparse point."""
    found = kind_of(api.attributes_of(handle))
    if found is FileKind.LINK:
        raise failed(winerror.ERROR_REPARSE_POINT_ENCOUNTERED, "NtCreateFile")
    if found is not kind:
        raise failed(
            winerror.ERROR_DIRECTORY
            if kind is FileKind.DIRECTORY
            else winerror.ERROR_DIRECTORY_NOT_SUPPORTED,
            "NtCreateFile",
        )


def refuse_link(handle: int) -> None:
    if kind_of(api.attributes_of(handle)) is FileKind.LINK:
        raise failed(winerror.ERROR_REPARSE_POINT_ENCOUNTERED, "NtCreateFile")


def kind_of(attributes: int) -> FileKind:
    if attributes & api.IS_REPARSE_POINT:
        return FileKind.LINK
    return FileKind.DIRECTORY if attributes & api.IS_DIRECTORY else FileKind.FILE


def kernel_name(path: PureWindowsPath) -> str:
    """The name that the kernel has for the root of the path's drive."""
    return f"\\??\\{path.drive}\\"
