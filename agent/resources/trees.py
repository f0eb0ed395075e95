"""Folders with all that is in them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.host.errors import AccessDenied, InUse, NotFound
from agent.host.files import FileKind, Files
from agent.host.replacing import is_leftover


def is_file(files: Files, path: PureWindowsPath) -> bool:
    """Or a link to one: a kubelet's current certificate is."""
    there = files.observe(path)
    return there is not None and there.kind is not FileKind.DIRECTORY


def are_on_one_drive(path: PureWindowsPath, other: PureWindowsPath) -> bool:
    """So that the one can become the other in one move."""
    return path.drive.upper() == other.drive.upper()


def inside(files: Files, folder: PureWindowsPath) -> Iterator[tuple[PureWindowsPath, FileKind]]:
    """All below a folder, each after the folder that it is in. Links are told, not followed."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        for name in files.list(here):
            state = files.observe(here / name)
            if state is None:
                continue
            yield here / name, state.kind
            if state.kind is FileKind.DIRECTORY:
                waiting.append(here / name)


def of_others(names: Sequence[str]) -> str:
    """That these hinder a folder, or a key of the registry, from being taken away."""
    if not names:
        return "holds something that is not wmcb's"  # gone meanwhile, or not to be looked at
    more = f" and {len(names) - 1} more" if names[1:] else ""
    return f"holds something that is not wmcb's ({names[0]}{more})"


def remove_leftovers(files: Files, folder: PureWindowsPath) -> None:
    """What interrupted writes left in it."""
    with suppress(NotFound):
        for name in files.list(folder):
            if is_leftover(name):
                # A program that was put aside may still run.
                with suppress(InUse, AccessDenied, NotFound):
                    files.remove(folder / name)
                    files.keep_at_reboot(folder / name)


def remove_tree(files: Files, folder: PureWindowsPath) -> None:
    """What somebody else removes meanwhile is removed."""
    for path, kind in [*reversed(list(inside(files, folder))), (folder, FileKind.DIRECTORY)]:
        with suppress(NotFound):
            if kind is FileKind.DIRECTORY:
                files.remove_directory(path)
            else:
                files.remove(path)
