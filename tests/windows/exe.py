"""The built program, for the tests of it: where it is put, and what it leaves."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from agent.release import RELEASE
from exebuild import image, payload
from lab import repository
from lab.exe import LAUNCHER

if TYPE_CHECKING:
    from pathlib import Path

    from lab.node import Node

DIST = repository.ROOT / "dist"
SHIPPED = DIST / "wmcb.exe"
PROGRAM = DIST / "wmcb" / "wmcb.exe"
"""What the shipped file lays out, beside its runtime."""

DOWNLOADED = r"C:\download\wmcb.exe"
INSTALLED = r"C:\Program Files\wmcb\wmcb.exe"
SERVICE = "wmcb"


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
            node.copy_in(file, rf"C:\Program Files\wmcb\{name}")


def unpacked(node: Node) -> list[Path]:
    """What any run has unpacked and not removed, wherever that could be: the lock files too."""
    places = [node.c / "windows", *(node.c / "users").iterdir()]
    return sorted(found for place in places for found in place.rglob("wmcb-*"))


def of_release(release: str, fault: tuple[bytes, bytes] | None = None) -> bytes:
    """The shipped file as one of another release; with a fault that is some bytes in place of others.

    The program's modules lie in it as they were compiled, so that the name can be exchanged there.
    """
    was, now = (struct.pack("<I", len(each)) + each.encode() for each in (RELEASE, release))
    program = PROGRAM.read_bytes()
    for old, new in ((was, now), *([fault] if fault else [])):
        assert (len(old), program.count(old)) == (len(new), 1)
        program = program.replace(old, new)
    runtime = {path.name: path.read_bytes() for path in (PROGRAM.parent / "runtime").iterdir()}
    packed = payload.build(program, runtime, lambda content: content)
    return image.add_section((repository.ROOT / "build" / LAUNCHER).read_bytes(), payload.SECTION, packed)
