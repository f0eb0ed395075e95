"""What of files only the sandbox has: its folder, other people's hands in it, and its own records."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import AccessDenied, BadName, NotFound
from agent.host.port import Host, Principal
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE, SIDS
from agent.host.sandbox import open_sandbox
from agent.host.sandbox.descriptors import Descriptors
from agent.host.sddl import FILE_ALL, FILE_READ, FILE_WRITE
from contract.world import runs_under_wine

from .conftest import Sandbox

C = PureWindowsPath("C:\\")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a mark on a file")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs permission bits")


def may(host: Host, path: PureWindowsPath) -> int:
    """What a plain user may do with it."""
    return host.files.descriptor(path).granted(SIDS[Principal.USER])


def test_a_new_sandbox_looks_like_a_new_windows(sandbox: Sandbox) -> None:
    assert sandbox.machine.host.files.list(C) == ["Program Files", "ProgramData", "Users", "Windows"]


def test_a_sandbox_is_opened_again_as_it_was_left(sandbox: Sandbox) -> None:
    sandbox.machine.host.files.write(C / "Windows" / "file", b"x", PRIVATE_FILE)
    shutil.rmtree(sandbox.directory / "Program Files")
    again = open_sandbox(sandbox.directory)
    assert again.files.list(C) == ["ProgramData", "Users", "Windows"]
    assert again.files.descriptor(C / "Windows" / "file") == PRIVATE_FILE


@pytest.mark.parametrize("name", [".sandbox", ".SANDBOX"])
def test_its_own_state_is_not_in_c(sandbox: Sandbox, name: str) -> None:
    with pytest.raises(AccessDenied, match="its own state"):
        sandbox.machine.host.files.list(C / name)


def test_there_is_no_other_drive(sandbox: Sandbox) -> None:
    with pytest.raises(NotFound) as refused:
        sandbox.machine.host.files.list(PureWindowsPath("D:\\"))
    assert refused.value.code == 3


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_of_two_names_that_differ_in_case_the_exact_one_is_meant(sandbox: Sandbox) -> None:
    for name in ("file", "FILE", "File"):
        (sandbox.directory / name).write_text(name)
    for name in ("file", "FILE", "File"):
        assert sandbox.machine.host.files.read(C / name) == name.encode()


@posix_only
def test_a_name_that_this_system_cannot_have_is_a_bad_name(sandbox: Sandbox) -> None:
    with pytest.raises(BadName, match="this system"):
        sandbox.machine.host.files.observe(C / ("é" * 255))


# Files that others have put there


def test_in_somebody_elses_folder_every_user_may_write(sandbox: Sandbox) -> None:
    (sandbox.directory / "k").mkdir()
    (sandbox.directory / "k" / "kubelet.exe").write_text("x")
    assert may(sandbox.machine.host, C / "k" / "kubelet.exe") & FILE_WRITE == FILE_WRITE


@pytest.mark.parametrize(
    ("folder", "granted"), [(PRIVATE_DIRECTORY, 0), (PROGRAM_DIRECTORY, 0x1200A9)], ids=["private", "program"]
)
def test_in_our_folders_their_files_are_protected_too(sandbox: Sandbox, folder: object, granted: int) -> None:
    assert folder in (PRIVATE_DIRECTORY, PROGRAM_DIRECTORY)
    host = sandbox.machine.host
    host.files.make_directory(C / "ours", PRIVATE_DIRECTORY if granted == 0 else PROGRAM_DIRECTORY)
    (sandbox.directory / "ours" / "below").mkdir()
    (sandbox.directory / "ours" / "below" / "file").write_text("x")
    assert may(host, C / "ours" / "below" / "file") == granted


def by_hand(change: Callable[[str], object], sandbox: Sandbox) -> None:
    sandbox.machine.host.files.write(C / "file", b"ours", PRIVATE_FILE)
    change(os.fspath(sandbox.directory / "file"))


def overwrite(file: str) -> None:
    with open(file, "wb") as opened:  # noqa: PTH123
        opened.write(b"theirs")


def replace(file: str) -> None:
    overwrite(file + ".new")
    os.replace(file + ".new", file)  # noqa: PTH105


def make_anew(file: str) -> None:
    os.unlink(file)  # noqa: PTH108
    overwrite(file)


def open_to_all(file: str) -> None:
    os.chmod(file, 0o666)  # noqa: PTH101, S103


@linux_only
@pytest.mark.parametrize("change", [replace, make_anew, open_to_all])
def test_what_somebody_replaces_or_opens_by_hand_is_no_longer_ours(
    sandbox: Sandbox, change: Callable[[str], object]
) -> None:
    by_hand(change, sandbox)
    assert not sandbox.machine.host.files.descriptor(C / "file").equivalent(PRIVATE_FILE)


def test_what_somebody_writes_into_keeps_its_descriptor(sandbox: Sandbox) -> None:
    by_hand(overwrite, sandbox)
    assert sandbox.machine.host.files.descriptor(C / "file") == PRIVATE_FILE


@linux_only
def test_a_copy_of_a_sandbox_has_all_its_descriptors(sandbox: Sandbox) -> None:
    host = sandbox.machine.host
    host.files.make_directory(C / "ours", PROGRAM_DIRECTORY)
    host.files.write(C / "ours" / "file", b"x", PRIVATE_FILE)
    copy = sandbox.directory.with_name("copy")
    shutil.copytree(sandbox.directory, copy)
    copied = open_sandbox(copy)
    assert copied.files.descriptor(C / "ours") == PROGRAM_DIRECTORY
    assert copied.files.descriptor(C / "ours" / "file") == PRIVATE_FILE


@pytest.mark.skipif(runs_under_wine(), reason="Wine takes other capitals for the same name, and does nothing")
def test_a_folder_in_other_capitals_has_all_its_descriptors(sandbox: Sandbox) -> None:
    files = sandbox.machine.host.files
    files.make_directory(C / "ours", PROGRAM_DIRECTORY)
    files.write(C / "ours" / "file", b"x", PRIVATE_FILE)
    files.move(C / "ours", C / "OURS")
    assert files.list(C)[0] == "OURS"
    assert files.descriptor(C / "ours") == PROGRAM_DIRECTORY
    assert files.descriptor(C / "ours" / "file") == PRIVATE_FILE


def test_nothing_is_added_to_a_file_that_is_marked_read_only(sandbox: Sandbox) -> None:
    (sandbox.directory / "file").write_text("theirs")
    (sandbox.directory / "file").chmod(0o444)
    with pytest.raises(AccessDenied):
        sandbox.machine.host.files.append(C / "file", b"ours", PRIVATE_FILE)


# Killed in the middle


class Killed(BaseException):
    pass


@pytest.mark.parametrize("place", ["expect_replacement", "settle_replacement", "forget"])
def test_whoever_is_killed_while_replacing_leaves_the_old_or_the_new(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    files = sandbox.machine.host.files
    files.write(C / "file", b"old", PROGRAM_FILE)
    real = getattr(Descriptors, place)

    def die(*arguments: object) -> None:
        real(*arguments)
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Descriptors, place, die)
        # A kill cleans nothing up.
        patched.setattr(os, "unlink", lambda _: None)
        files.write(C / "file", b"new", PRIVATE_FILE)
    found = (files.read(C / "file"), files.descriptor(C / "file"))
    assert found in [(b"old", PROGRAM_FILE), (b"new", PRIVATE_FILE)]
    files.write(C / "file", b"newer", PROGRAM_FILE)
    assert (files.read(C / "file"), files.descriptor(C / "file")) == (b"newer", PROGRAM_FILE)


# Protection on this system


@posix_only
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_whom_windows_would_keep_out_this_system_keeps_out(sandbox: Sandbox, umask: int) -> None:
    files = sandbox.machine.host.files
    before = os.umask(umask)
    try:
        files.make_directory(C / "private", PRIVATE_DIRECTORY)
        files.make_directory(C / "program", PROGRAM_DIRECTORY)
        files.write(C / "private" / "file", b"x", PRIVATE_FILE)
        files.write(C / "program" / "file", b"x", PROGRAM_FILE)
        files.append(C / "private" / "journal", b"x", PRIVATE_FILE)
    finally:
        os.umask(before)
    modes = {
        name: stat.S_IMODE((sandbox.directory / name).stat().st_mode) & 0o777
        for name in ("private", "private/file", "private/journal", "program", "program/file")
    }
    assert modes == {
        "private": 0o700,
        "private/file": 0o700,
        "private/journal": 0o700,
        "program": 0o755,
        "program/file": 0o755,
    }


def test_a_plain_user_is_held_to_the_descriptors(sandbox: Sandbox) -> None:
    files = sandbox.machine.host.files
    files.make_directory(C / "ours", PROGRAM_DIRECTORY)
    files.write(C / "ours" / "program", b"x", PROGRAM_FILE)
    files.write(C / "ours" / "secret", b"x", PRIVATE_FILE)
    sandbox.set_facts(administrator=False)
    assert not sandbox.machine.host.access.is_administrator()
    assert files.read(C / "ours" / "program") == b"x"
    refused: list[Callable[[], object]] = [
        lambda: files.read(C / "ours" / "secret"),
        lambda: files.descriptor(C / "ours" / "secret"),
        lambda: files.write(C / "ours" / "program", b"", PROGRAM_FILE),
        lambda: files.append(C / "ours" / "program", b"", PROGRAM_FILE),
        lambda: files.remove(C / "ours" / "program"),
        lambda: files.move(C / "ours" / "program", C / "ours" / "moved"),
        lambda: files.make_directory(C / "ours" / "folder", PROGRAM_DIRECTORY),
        lambda: files.set_descriptor(C / "ours" / "program", PRIVATE_FILE),
        lambda: files.write(C / "file", b"", PROGRAM_FILE),
    ]
    for ask in refused:
        with pytest.raises(AccessDenied):
            ask()
    # Windows lets every user make folders in C:.
    files.make_directory(C / "theirs", PROGRAM_DIRECTORY)


def test_folders_of_windows_are_open_to_users_as_on_windows(sandbox: Sandbox) -> None:
    host = sandbox.machine.host
    assert may(host, C / "Program Files") & (FILE_READ | FILE_WRITE) == FILE_READ
    assert may(host, C / "ProgramData") & 0x6 == 0x6
    (sandbox.directory / "ProgramData" / "theirs").mkdir()
    assert may(host, C / "ProgramData" / "theirs") != FILE_ALL
