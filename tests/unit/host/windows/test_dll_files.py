"""How files are asked for of the kernel: what no outcome shows, and what it answers only now and then."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
import pywintypes
import win32file
import win32security

from agent.host.errors import AccessDenied, HostError, InUse, NotFound, WrongKind
from agent.host.files import Entry, Examined, FileKind
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.sddl import SecurityDescriptor
from agent.host.windows.api import files as api
from agent.host.windows.api import security
from agent.host.windows.failure import failed, telling
from agent.host.windows.files import WindowsFiles
from agent.host.windows.machine import WindowsClock

INVALID_PARAMETER = 0xC000_000D
RENAME_EX, DISPOSITION_EX = 65, 64


@pytest.fixture
def files() -> WindowsFiles:
    return WindowsFiles(WindowsClock())


@pytest.fixture
def folder(files: WindowsFiles) -> Iterator[PureWindowsPath]:
    path = PureWindowsPath(f"C:\\wmcb-unit-{secrets.token_hex(4)}")
    files.make_directory(path, PRIVATE_DIRECTORY)
    yield path
    shutil.rmtree(path)


@dataclass(frozen=True)
class Call:
    name: str
    handle: int
    descriptor: str = ""
    """As it reached the kernel, in words again."""
    share: int = 0
    disposition: int = 0
    options: int = 0


class Spy:
    """Writes down what the kernel is asked, and asks it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[Call] = []
        for (module, name), record in DLL_FUNCTIONS.items():
            monkeypatch.setattr(module, name, self._recorded(getattr(module, name), record))

    def made(self) -> Call:
        """The call that made something."""
        (made,) = [call for call in self.calls if call.name == "open" and call.disposition == api.CREATE]
        return made

    def of(self, *names: str) -> list[Call]:
        return [call for call in self.calls if call.name in names]

    def _recorded(self, real: Callable[..., Any], record: Callable[..., Call]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            result = real(*arguments)
            self.calls.append(record(*arguments))
            return result

        return call


def _opening(handle: Any, _access: int, attributes: Any, *rest: Any) -> Call:
    *_, share, disposition, options, _extended, _size = rest
    place = type(attributes).descriptor.offset
    descriptor = ctypes.c_void_p.from_buffer(attributes, place)
    return Call("open", handle.value, _words(descriptor), share, disposition, options)


def _words(descriptor: ctypes.c_void_p) -> str:
    if not descriptor:
        return ""
    size = ctypes.WinDLL("advapi32").GetSecurityDescriptorLength(descriptor)
    given = pywintypes.SECURITY_DESCRIPTOR(ctypes.string_at(descriptor, size))  # type: ignore[call-arg]
    parts = security.OWNER | security.GROUP | security.DACL
    return str(win32security.ConvertSecurityDescriptorToStringSecurityDescriptor(given, 1, parts))


DLL_FUNCTIONS: dict[tuple[Any, str], Callable[..., Call]] = {
    (api, "_create_file"): _opening,
    (win32file, "WriteFile"): lambda handle, *_: Call("write", handle),
    (win32file, "FlushFileBuffers"): lambda handle: Call("flush", handle),
    (api, "_set_information"): lambda handle, *_: Call("rename or remove", handle),
}


@pytest.fixture
def spy(folder: PureWindowsPath, monkeypatch: pytest.MonkeyPatch) -> Spy:
    assert folder
    return Spy(monkeypatch)


def same(words: str, wanted: SecurityDescriptor) -> bool:
    return bool(words) and SecurityDescriptor.parse(words) == wanted


def test_a_file_is_born_with_its_descriptor_and_open_to_nobody(
    files: WindowsFiles, folder: PureWindowsPath, spy: Spy
) -> None:
    files.write(folder / "file", b"x", PRIVATE_FILE)
    assert same(spy.made().descriptor, PRIVATE_FILE)
    assert spy.made().share == api.SHARE_NOTHING


def test_a_folder_is_born_with_its_descriptor(files: WindowsFiles, folder: PureWindowsPath, spy: Spy) -> None:
    files.make_directory(folder / "folder", PRIVATE_DIRECTORY)
    assert same(spy.made().descriptor, PRIVATE_DIRECTORY)


def test_a_journal_is_born_with_its_descriptor_and_flushed(
    files: WindowsFiles, folder: PureWindowsPath, spy: Spy
) -> None:
    files.append(folder / "journal", b"x", PRIVATE_FILE)
    (made,) = [call for call in spy.of("open") if call.descriptor]
    assert same(made.descriptor, PRIVATE_FILE)
    assert spy.calls[-2:] == [Call("write", made.handle), Call("flush", made.handle)]


def test_a_line_for_a_person_is_not_flushed(files: WindowsFiles, folder: PureWindowsPath, spy: Spy) -> None:
    files.append(folder / "log", b"x", PRIVATE_FILE, flushed=False)
    (made,) = [call for call in spy.of("open") if call.descriptor]
    assert same(made.descriptor, PRIVATE_FILE)
    assert spy.calls[-1] == Call("write", made.handle)


def test_a_file_is_flushed_before_it_is_moved_over_with_write_through(
    files: WindowsFiles, folder: PureWindowsPath, spy: Spy
) -> None:
    files.write(folder / "file", [b"x", b"y"], PRIVATE_FILE)
    made = spy.made().handle
    *before, renamed = spy.of("write", "flush", "rename or remove")
    assert before == [Call("write", made), Call("write", made), Call("flush", made)]
    assert renamed.name == "rename or remove"
    opened = [call for call in spy.of("open") if call.handle == renamed.handle]
    assert opened[-1].options & api.WRITE_THROUGH


@pytest.mark.parametrize("kind", [RENAME_EX, DISPOSITION_EX])
def test_a_file_system_without_the_newer_way_is_asked_the_older(
    files: WindowsFiles, folder: PureWindowsPath, monkeypatch: pytest.MonkeyPatch, kind: int
) -> None:
    real = api._set_information

    def older(handle: int, outcome: Any, data: Any, size: int, asked: int) -> int:
        return INVALID_PARAMETER if asked == kind else real(handle, outcome, data, size, asked)

    monkeypatch.setattr(api, "_set_information", older)
    for content in (b"x", b"y"):
        files.write(folder / "file", content, PRIVATE_FILE)
    assert files.read(folder / "file") == b"y"
    files.remove(folder / "file")
    assert files.list(folder) == []


DENIED = 0xC000_0022


@pytest.fixture
def denials(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the kernel says to the next renames, as NTFS of a folder in which anything is open."""
    real = api._set_information
    answers: list[int] = []

    def answer(handle: int, outcome: Any, data: Any, size: int, asked: int) -> int:
        if asked == RENAME_EX and answers:
            return answers.pop()
        status: int = real(handle, outcome, data, size, asked)
        return status

    monkeypatch.setattr(api, "_set_information", answer)
    return answers


def test_a_folder_in_which_something_is_open_is_moved_when_that_is_closed(
    files: WindowsFiles, folder: PureWindowsPath, denials: list[int]
) -> None:
    files.make_directory(folder / "pods", PRIVATE_DIRECTORY)
    denials += [DENIED] * 3
    files.move(folder / "pods", folder / "aside")
    assert files.list(folder) == ["aside"]


def test_a_folder_in_which_something_stays_open_is_told_as_such(
    files: WindowsFiles, folder: PureWindowsPath, denials: list[int]
) -> None:
    files.make_directory(folder / "pods", PRIVATE_DIRECTORY)
    denials += [DENIED]
    with pytest.raises(InUse) as refused:
        files.move(folder / "pods", folder / "aside", patience=0)
    assert str(refused.value) == (
        f"cannot move {folder}\\pods to {folder}\\aside: another program has it open (Windows error 5)"
    )


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_move_for_which_a_right_is_lacking_is_refused_at_once(
    files: WindowsFiles,
    folder: PureWindowsPath,
    denials: list[int],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    real = api.open_in

    def refuse(inside: int | None, name: str, access: int, **options: Any) -> int:
        if access & api.ADD_FOLDER:
            raise failed(5, "NtCreateFile")
        return real(inside, name, access, **options)

    if kind == "folder":
        files.make_directory(folder / "ours", PRIVATE_DIRECTORY)
        monkeypatch.setattr(api, "open_in", refuse)
    else:
        files.write(folder / "ours", b"", PRIVATE_FILE)
    denials += [DENIED]
    with pytest.raises(AccessDenied):
        files.move(folder / "ours", folder / "moved")
    assert files.list(folder) == ["ours"]


STATUSES = {
    "object name not found": (0xC000_0034, 2, NotFound),
    "object path not found": (0xC000_003A, 3, NotFound),
    "access denied": (0xC000_0022, 5, AccessDenied),
    "sharing violation": (0xC000_0043, 32, InUse),
    "delete pending": (0xC000_0056, 303, InUse),
    "file is a directory": (0xC000_00BA, 336, WrongKind),
    "not a directory": (0xC000_0103, 267, WrongKind),
    "mapped": (0xC000_0243, 1224, InUse),
}


@pytest.mark.parametrize(("status", "code", "kind"), STATUSES.values(), ids=STATUSES)
def test_the_kernels_word_is_told_by_its_code(status: int, code: int, kind: type[HostError]) -> None:
    with pytest.raises(HostError) as failure, telling("open", "it"):
        api._check(status, "NtCreateFile")
    assert (type(failure.value), failure.value.code) == (kind, code)


@pytest.mark.parametrize("code", [87, 4395], ids=["an older kernel", "a link on the way"])
def test_a_path_is_walked_where_the_kernel_cannot_tell(
    files: WindowsFiles, folder: PureWindowsPath, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    real = api.open_in
    walked: list[str] = []

    def refuse(inside: int | None, name: str, access: int, **options: Any) -> int:
        if options.pop("no_link", False):
            raise failed(code, "NtCreateFile")
        walked.append(name)
        return real(inside, name, access, **options)

    monkeypatch.setattr(api, "open_in", refuse)
    files.make_directory(folder / "new", PROGRAM_DIRECTORY)
    files.append(folder / "new" / "file", b"content", PROGRAM_FILE)
    assert files.read(folder / "new" / "file") == b"content"
    assert walked[-2:] == ["new", "file"]
    assert files.observe(folder / "none") is None


LARGE = b"x" * (2 << 20)
LONG_AGO = 1_700_000_000


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much of files was hashed, block by block."""
    real = api.views
    made: list[int] = []

    def views(handle: int, size: int) -> Iterator[memoryview]:
        for view in real(handle, size):
            made.append(len(view))
            yield view

    monkeypatch.setattr(api, "views", views)
    return made


def examined(files: WindowsFiles, path: PureWindowsPath) -> str | None:
    found = files.examine(path, content=True)
    assert found is not None
    return found.sha256


def test_a_large_file_is_not_read_again_as_long_as_nobody_writes_to_it(
    files: WindowsFiles, folder: PureWindowsPath, reads: list[int]
) -> None:
    file = Path(folder / "kubelet.exe")
    file.write_bytes(LARGE)
    os.utime(file, (LONG_AGO, LONG_AGO))
    digest = examined(files, folder / "kubelet.exe")
    assert digest == hashlib.sha256(LARGE).hexdigest()
    assert sum(reads) == len(LARGE)
    files.set_descriptor(folder / "kubelet.exe", PROGRAM_FILE)
    assert examined(files, folder / "kubelet.exe") == digest
    assert sum(reads) == len(LARGE)


@pytest.mark.parametrize("replaced", [False, True], ids=["written", "replaced, of the same size and time"])
def test_a_large_file_that_is_another_is_read(
    files: WindowsFiles, folder: PureWindowsPath, replaced: bool
) -> None:
    file, other = Path(folder / "kubelet.exe"), b"y" * len(LARGE)
    file.write_bytes(LARGE)
    os.utime(file, (LONG_AGO, LONG_AGO))
    examined(files, folder / "kubelet.exe")
    if replaced:
        new = file.with_name("new")
        new.write_bytes(other)
        os.utime(new, (LONG_AGO, LONG_AGO))
        new.replace(file)
    else:
        file.write_bytes(other)
    assert examined(files, folder / "kubelet.exe") == hashlib.sha256(other).hexdigest()


def test_of_a_file_that_was_just_written_nothing_is_remembered(
    files: WindowsFiles, folder: PureWindowsPath
) -> None:
    file = Path(folder / "kubelet.exe")
    not_long_ago = time.time() + 3600  # however long this test takes
    for content in (LARGE, b"y" * len(LARGE)):
        file.write_bytes(content)
        os.utime(file, (not_long_ago, not_long_ago))
        assert examined(files, folder / "kubelet.exe") == hashlib.sha256(content).hexdigest()


KEPT_OUT = "kept out"
BY_BACKUP = api.READ_DATA | api.READ_ATTRIBUTES | api.READ_CONTROL | api.SYNCHRONIZE
BY_RESTORE = api.WRITE_ATTRIBUTES | api.DELETE | api.WRITE_DAC | api.WRITE_OWNER


@pytest.fixture
def kept_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The privileges that were enabled; without them nobody is granted anything to what is so called.

    But for its attributes, which NTFS tells whoever may list its folder. SYNCHRONIZE it does not add.
    """
    enabled: list[str] = []
    real = api.open_in

    def refuse(folder: int | None, name: str, access: int, **options: Any) -> int:
        granted = api.READ_ATTRIBUTES
        if options["options"] & api.BACKUP_INTENT:
            granted |= BY_BACKUP if security.BACKUP in enabled else 0
            granted |= BY_RESTORE if security.RESTORE in enabled else 0
        if name.endswith(KEPT_OUT) and (access | api.SYNCHRONIZE) & ~granted:
            raise failed(5, "NtCreateFile")
        return real(folder, name, access, **options)

    monkeypatch.setattr(api, "open_in", refuse)
    monkeypatch.setattr(security, "enable_privileges", lambda *names: enabled.extend(names))
    return enabled


def test_an_administrator_who_was_kept_out_mends_the_descriptor(
    files: WindowsFiles, folder: PureWindowsPath, kept_out: list[str]
) -> None:
    Path(folder / KEPT_OUT).touch()
    files.set_descriptor(folder / KEPT_OUT, PROGRAM_FILE)
    assert {security.RESTORE, security.TAKE_OWNERSHIP} <= set(kept_out)


def test_an_administrator_who_was_kept_out_judges_a_file(
    files: WindowsFiles, folder: PureWindowsPath, kept_out: list[str]
) -> None:
    file = folder / KEPT_OUT
    Path(file).write_bytes(b"content")
    state, descriptor = files.observe(file), files.descriptor(file)
    assert state is not None
    assert (state.kind, state.size) == (FileKind.FILE, 7)
    assert descriptor.owner
    assert files.examine(file) == Examined(state, descriptor)
    digest = hashlib.sha256(b"content").hexdigest()
    assert files.examine(file, content=True) == Examined(state, descriptor, digest)
    assert b"".join(files.blocks(file)) == b"content"
    assert list(files.entries(folder)) == [Entry(KEPT_OUT, FileKind.FILE, descriptor)]
    assert set(kept_out) == {security.BACKUP}


def test_an_administrator_who_was_kept_out_judges_a_folder(
    files: WindowsFiles, folder: PureWindowsPath, kept_out: list[str]
) -> None:
    files.make_directory(folder / "made", PRIVATE_DIRECTORY)
    files.append(folder / "made" / "file", b"x", PRIVATE_FILE)
    files.move(folder / "made", folder / KEPT_OUT)
    assert files.list(folder / KEPT_OUT) == ["file"]
    assert [entry.name for entry in files.entries(folder / KEPT_OUT)] == ["file"]
    assert set(kept_out) == {security.BACKUP}


def test_an_administrator_who_was_kept_out_replaces_and_removes_it(
    files: WindowsFiles, folder: PureWindowsPath, kept_out: list[str]
) -> None:
    Path(folder / KEPT_OUT).touch()
    files.write(folder / KEPT_OUT, b"new", PROGRAM_FILE)
    assert Path(folder / KEPT_OUT).read_bytes() == b"new"
    files.remove(folder / KEPT_OUT)
    Path(folder / KEPT_OUT).mkdir()
    files.remove_directory(folder / KEPT_OUT)
    assert files.list(folder) == []
    assert set(kept_out) == {security.BACKUP, security.RESTORE}


def test_whoever_has_no_privilege_stays_kept_out(
    files: WindowsFiles, folder: PureWindowsPath, kept_out: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept_out == []
    monkeypatch.setattr(security, "enable_privileges", lambda *_: None)
    Path(folder / KEPT_OUT).touch()
    for ask in (files.observe, files.examine, files.read, files.remove):
        with pytest.raises(AccessDenied):
            ask(folder / KEPT_OUT)


def test_a_file_that_is_not_there_takes_no_privilege(
    files: WindowsFiles, folder: PureWindowsPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "enable_privileges", lambda *_: pytest.fail("for what?"))
    with pytest.raises(NotFound):
        files.set_descriptor(folder / "file", PROGRAM_FILE)
    with pytest.raises(NotFound):
        files.descriptor(folder / "file")
    with pytest.raises(NotFound):
        files.remove(folder / "file")
    assert files.observe(folder / "file") is None
