"""Reading what Wine writes down of a program's calls and of the wineserver's requests."""

from __future__ import annotations

import pytest

from lab import trace
from lab.trace import Call, Descriptor, Entry

WRITE = (
    "0134:Call ntdll.NtWriteFile({handle},00000000,00000000) ret=6fffff462720",
    "0134:Ret  ntdll.NtWriteFile() retval=00000000 ret=6fffff462720",
)
FLUSH = (
    "0134:Call ntdll.NtFlushBuffersFile({handle},7ffffe3df1e0) ret=6fffff40f6e8",
    "0134:Ret  ntdll.NtFlushBuffersFile() retval=00000000 ret=6fffff40f6e8",
)
RENAME = (
    "0134:Call ntdll.NtSetInformationFile({handle},7fe3a0b90d98,7fe3a0b89040,00000020,{kind}) ret=6ff",
    "0134:Ret  ntdll.NtSetInformationFile() retval=00000000 ret=6ff",
)


def lines(*calls: tuple[str, ...], handle: str = "00000070", kind: str = "00000041") -> list[str]:
    return [line.format(handle=handle, kind=kind) for call in calls for line in call]


def test_a_call_has_its_arguments_and_its_result() -> None:
    nested = [
        '0130:Call KERNEL32.CreateFileW(7ffe L"C:\\\\a (1)",40000000,00000000) ret=6fff',
        "0130:Call ntdll.NtCreateFile(7ffe,40110080) ret=6fff",
        "0134:Call ntdll.NtCreateFile(1,2) ret=6fff",
        "0130:Ret  ntdll.NtCreateFile() retval=c0000034 ret=6fff",
        "what the program printed itself",
        "0130:Ret  KERNEL32.CreateFileW() retval=ffffffff ret=6fff",
    ]
    assert trace.calls(nested) == [
        Call("0130", "CreateFileW", '7ffe L"C:\\\\a (1)",40000000,00000000', 0xFFFFFFFF),
        Call("0130", "NtCreateFile", "7ffe,40110080", 0xC0000034),
        Call("0134", "NtCreateFile", "1,2", None),
    ]


@pytest.mark.parametrize(
    ("made", "unflushed"),
    [
        pytest.param(lines(WRITE, FLUSH, RENAME), 0, id="flushed"),
        pytest.param(lines(WRITE, RENAME), 1, id="not flushed"),
        pytest.param(lines(WRITE, FLUSH, WRITE, RENAME), 1, id="written to again"),
        pytest.param(lines(WRITE) + lines(FLUSH, handle="00000074") + lines(RENAME), 1, id="another's flush"),
        pytest.param(lines(WRITE, RENAME, kind="0000000a"), 1, id="the older way to rename"),
        pytest.param(lines(WRITE, RENAME, kind="00000004"), 0, id="not a rename"),
        pytest.param(lines(FLUSH, WRITE, RENAME), 1, id="flushed too soon"),
    ],
)
def test_a_rename_wants_a_flush_before_it(made: list[str], unflushed: int) -> None:
    assert len(trace.renames_unflushed(trace.calls(made))) == unflushed


GIVEN = (
    "control=00001004,owner=S-1-5-32-544,group=S-1-5-32-544,sacl={},"
    "dacl={{type=ACCESS_ALLOWED,flags=3,mask=1f01ff,sid=S-1-5-18},"
    "{type=ACCESS_DENIED,flags=0,mask=2,sid=S-1-1-0}}"
)
ENTRIES = (Entry("ACCESS_ALLOWED", 3, 0x1F01FF, "S-1-5-18"), Entry("ACCESS_DENIED", 0, 2, "S-1-1-0"))


def create(name: str, given: str = "", folder: str = "0000", thread: str = "0134") -> str:
    return (
        f"{thread}: create_file( access=00100080, sharing=00000007, create=2, options=00200021, attrs=0, "
        f'objattr={{rootdir={folder},attributes=00000040,sd={{{given}}},name=L"{name}"}}, filename="/a" )'
    )


def created(handle: str, thread: str = "0134") -> str:
    return f"{thread}: create_file() = 0 {{ handle={handle} }}"


def test_a_descriptor_is_told_at_the_birth_of_its_file() -> None:
    server = [create(r"\\??\\C:\\token", GIVEN), created("0060")]
    assert list(trace.descriptors(server)) == [
        Descriptor(r"C:\token", born=True, owner="S-1-5-32-544", protected=True, entries=ENTRIES)
    ]


def test_a_name_in_an_open_folder_is_told_in_full() -> None:
    server = [
        create(r"\\??\\C:\\"),
        created("0060"),
        create("etc", folder="0060"),
        created("0064"),
        create("token", GIVEN, folder="0064"),
    ]
    assert [d.path for d in trace.descriptors(server)] == [r"C:\etc\token"]


def test_a_descriptor_set_later_is_told_as_such() -> None:
    server = [
        create(r"\\??\\C:\\token"),
        create(r"\\??\\C:\\other", thread="0138"),
        created("0060"),
        created("0060", thread="0138"),
        "0134: set_security_object( handle=0060, security_info=80000005, sd={control=0004,dacl={}} )",
        "0134: set_security_object() = 0",
    ]
    assert list(trace.descriptors(server)) == [
        Descriptor(r"C:\token", born=False, owner=None, protected=False, entries=())
    ]


def test_a_descriptor_of_what_is_no_file_is_no_files() -> None:
    """A key of the registry, say, that has the number of a file's handle now."""
    server = [
        create(r"\\??\\C:\\token"),
        created("0060"),
        "0134: create_key() = 0 { hkey=0060 }",
        "0134: set_security_object( handle=0060, security_info=80000005, sd={control=0004,dacl={}} )",
    ]
    assert [d.path for d in trace.descriptors(server)] == [""]


def test_a_file_that_was_given_none_is_not_told() -> None:
    assert list(trace.descriptors([create(r"\\??\\C:\\token"), created("0060")])) == []
