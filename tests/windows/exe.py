"""The built program, for the tests of it: where it is put, and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.release import RELEASE
from exebuild import image, payload, shipping
from lab import repository
from lab.exe import LAUNCHER
from lab.node import Node
from windows import frozen

DIST = repository.ROOT / "dist"
SHIPPED = DIST / "wmcb.exe"
PROGRAM = DIST / "wmcb" / "wmcb.exe"
"""What the shipped file lays out, beside all that it loads."""
INTERNAL = shipping.INTERNAL

DOWNLOADED = r"C:\download\wmcb.exe"
HOME = r"C:\Program Files\wmcb"
PLACE = rf"{HOME}\{RELEASE}"
INSTALLED = rf"{PLACE}\wmcb.exe"
SERVICE = "wmcb"


def installed(release: str) -> str:
    """Where the program of a release is installed."""
    return rf"{HOME}\{release}\wmcb.exe"


def download(node: Node) -> None:
    """Puts the shipped file on a node."""
    if not SHIPPED.exists():
        pytest.fail("dist/wmcb.exe is not there; make exe builds it")
    node.copy_in(SHIPPED, DOWNLOADED)


def lay_out(node: Node) -> None:
    """Puts the program on a node as `daemon install` does, without that."""
    for file in PROGRAM.parent.rglob("*"):
        if file.is_file():
            name = str(file.relative_to(PROGRAM.parent)).replace("/", "\\")
            node.copy_in(file, rf"{PLACE}\{name}")


def unpacked(node: Node) -> list[Path]:
    """What any run has unpacked and not removed, wherever that could be: the lock files too."""
    places = [node.c / "windows", *(node.c / "users").iterdir()]
    found = (path for place in places for path in place.rglob("wmcb-*"))
    return sorted(path for path in found if path.parent.name != INTERNAL)


def folder_files() -> dict[str, bytes]:
    """The files of the program's folder, by their paths in it."""
    folder = PROGRAM.parent
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def shipped(files: dict[str, bytes]) -> bytes:
    """The shipped file with these, stored as they are."""
    packed = payload.build(shipping.PROGRAM, files, lambda content: content)
    return image.add_section((repository.ROOT / "build" / LAUNCHER).read_bytes(), payload.SECTION, packed)


def of_release(release: str, fault: tuple[str, bytes, bytes] | None = None) -> bytes:
    """The shipped file as one of another release; with a fault: in a module some bytes in place of others."""
    program = frozen.changed(PROGRAM.read_bytes(), "agent.release", RELEASE.encode(), release.encode())
    if fault is not None:
        program = frozen.changed(program, *fault)
    return shipped({**folder_files(), shipping.PROGRAM: program})
