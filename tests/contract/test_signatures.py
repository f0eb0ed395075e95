"""Authenticode: whose signature a program has. A sandbox judges none, and says so."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack
from pathlib import Path, PureWindowsPath

import pytest

from agent.host.errors import AlteredSinceSigned, InUse, NotFound, NotSigned, WrongKind
from contract.world import Sharing, World


def _program(world: World, content: bytes) -> PureWindowsPath:
    path = world.folder / "program.exe"
    world.plant_file(path, content)
    return path


def _python() -> bytes:
    """The Python Software Foundation signs its own for Windows."""
    return Path(getattr(sys, "_base_executable", sys.executable)).read_bytes()


def test_the_signer_of_a_program_is_told(world: World) -> None:
    found = world.host.signatures.signer(_program(world, _python()))
    assert (found is not None) == (sys.platform == "win32")
    if found is None:
        return
    assert found.common_name == "Python Software Foundation"
    assert (len(found.sha1), len(found.sha256)) == (40, 64)
    assert set(found.sha1 + found.sha256) <= set("0123456789abcdef")


@pytest.mark.skipif(sys.platform != "win32", reason="a sandbox judges no signature")
@pytest.mark.parametrize("change", ["nothing of its own", "a byte of it", "no program"])
def test_what_windows_does_not_vouch_for_is_refused(world: World, change: str) -> None:
    content = _python()
    if change == "a byte of it":
        place = content.index(b"This program cannot be run")
        content = content[:place] + b"t" + content[place + 1 :]
    elif change == "nothing of its own":
        content = Path(sys.modules["_ctypes"].__file__ or "").read_bytes()[:20_000]
    else:
        content = b"plain text"
    refused = AlteredSinceSigned if change == "a byte of it" else NotSigned
    with pytest.raises(refused):
        world.host.signatures.signer(_program(world, content))


def test_a_program_that_a_scanner_holds_for_a_moment_is_judged(world: World) -> None:
    path = _program(world, _python())
    with ExitStack() as held:
        held.enter_context(world.hold_open(path, Sharing.NOTHING))
        scanner = threading.Timer(0.3, held.close)
        scanner.start()
        found = world.host.signatures.signer(path)
        scanner.join()
    assert (found is not None) == (sys.platform == "win32")


@pytest.mark.skipif(sys.platform != "win32", reason="a sandbox judges no signature")
def test_a_program_that_stays_held_is_not_told_to_be_unsigned(world: World) -> None:
    path = _program(world, _python())
    with world.hold_open(path, Sharing.NOTHING), pytest.raises(InUse) as refused:
        world.host.signatures.signer(path)
    assert refused.value.code == 32


@pytest.mark.skipif(sys.platform != "win32", reason="a sandbox judges no signature")
def test_a_folder_has_no_signer(world: World) -> None:
    with pytest.raises(WrongKind):
        world.host.signatures.signer(world.folder)


def test_what_is_not_there_has_no_signer(world: World) -> None:
    with pytest.raises(NotFound):
        world.host.signatures.signer(world.folder / "nothing.exe")
