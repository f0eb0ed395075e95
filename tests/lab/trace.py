"""What a program asked of Windows, as Wine itself saw it.

Two witnesses, both outside the product. Calls: Wine's relay, which writes down in order each call that a
program makes of the functions below. Requests: the wineserver's own account, in which a new file's security
descriptor stands as it reached the kernel's side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# The functions whose calls are written down; all of them would be millions of lines.
FUNCTIONS = (
    "AddDllDirectory",
    "ChangeServiceConfig2W",
    "ChangeServiceConfigW",
    "ControlService",
    "ConvertStringSecurityDescriptorToSecurityDescriptorW",
    "CopyFileW",
    "CreateDirectoryW",
    "CreateFileW",
    "CreateProcessW",
    "CreateServiceW",
    "DeleteFileW",
    "DeleteService",
    "FlushFileBuffers",
    "LoadLibraryExW",
    "LoadLibraryW",
    "MoveFileExW",
    "NtCreateFile",
    "NtFlushBuffersFile",
    "NtOpenFile",
    "NtSetInformationFile",
    "NtSetSecurityObject",
    "NtWriteFile",
    "RemoveDirectoryW",
    "ReplaceFileW",
    "SetDefaultDllDirectories",
    "SetDllDirectoryW",
    "SetFileSecurityW",
    "SetKernelObjectSecurity",
    "SetNamedSecurityInfoW",
    "SetSecurityInfo",
    "StartServiceW",
    "UpdateProcThreadAttribute",
    "WriteFile",
)


@dataclass(frozen=True)
class Call:
    """A call of a Win32 function; the arguments as Wine prints them: hexadecimal numbers, texts as L"..."."""

    thread: str
    function: str
    arguments: str
    result: int | None = None

    @property
    def handle(self) -> str:
        """The first argument, for functions that take a handle."""
        return self.arguments.split(",", 1)[0]


_CALL = re.compile(r"^([0-9a-f]+):Call \w+\.(\w+)\((.*)\) ret=")
_RETURN = re.compile(r"^([0-9a-f]+):Ret  \w+\.(\w+)\(.*\) retval=([0-9a-f]+)")


def calls(lines: Iterable[str]) -> list[Call]:
    """The calls in the order of their begin, each with what it returned (None: it never did)."""
    made: list[Call] = []
    waiting: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        if begun := _CALL.match(line):
            waiting.setdefault((begun[1], begun[2]), []).append(len(made))
            made.append(Call(begun[1], begun[2], begun[3]))
        elif ended := _RETURN.match(line):
            open_calls = waiting.get((ended[1], ended[2]))
            if open_calls:
                at = open_calls.pop()
                made[at] = Call(made[at].thread, made[at].function, made[at].arguments, int(ended[3], 16))
    return made


_RENAMES = {"0000000a", "00000041"}  # FileRenameInformation, FileRenameInformationEx


def renames_unflushed(made: Iterable[Call]) -> list[Call]:
    """The renames before which something was written to a file and not flushed, in calls of one thread."""
    unflushed: str | None = None
    found = []
    for call in made:
        if call.function == "NtWriteFile":
            unflushed = call.handle
        elif call.function == "NtFlushBuffersFile" and call.handle == unflushed:
            unflushed = None
        elif is_rename(call) and unflushed is not None:
            found.append(call)
    return found


def is_rename(call: Call) -> bool:
    """Every way of Windows' to rename a file ends in this call."""
    return call.function == "NtSetInformationFile" and call.arguments.split(",")[-1] in _RENAMES


@dataclass(frozen=True)
class Entry:
    """An entry of an access control list: what it does, for whom, and for which rights."""

    type: str
    flags: int
    mask: int
    sid: str


@dataclass(frozen=True)
class Descriptor:
    """A security descriptor as the wineserver got it. `entries` is None where none were given."""

    path: str
    born: bool
    owner: str | None
    protected: bool
    entries: tuple[Entry, ...] | None

    @property
    def contents(self) -> tuple[str | None, bool, tuple[Entry, ...] | None]:
        """Owner, whether protected, and the entries: the descriptor without whose it is."""
        return self.owner, self.protected, self.entries


_PROTECTED = 0x1000  # SE_DACL_PROTECTED
_FILE_REQUEST = re.compile(
    r"^([0-9a-f]+): create_file\( .*?objattr=\{rootdir=([0-9a-f]+),.*?,sd=\{(.*)\}"
    r',name=L"(.*)"\}, filename="'
)
_OPENED = re.compile(r"^([0-9a-f]+): (\w+)\(\) = 0 \{ h(?:andle|key)=([0-9a-f]+)")
_OPENING_FILES = {"create_file", "open_file_object"}
_SET = re.compile(r"^([0-9a-f]+): set_security_object\( handle=([0-9a-f]+), .*?sd=\{(.*)\} \)")
_ENTRY = re.compile(r"\{type=(\w+),flags=([0-9a-f]+),mask=([0-9a-f]+),sid=(S[\d-]+)\}")


def descriptors(lines: Iterable[str]) -> Iterator[Descriptor]:
    """Every descriptor that a file or directory was born with or given later, in order.

    Handles are told apart by thread, which is enough where a thread opens what it then sets.
    """
    asked: dict[str, str] = {}
    opened: dict[tuple[str, str], str] = {}
    for line in lines:
        if created := _FILE_REQUEST.match(line):
            thread, folder, given, name = created.groups()
            path = name.replace("\\\\", "\\").removeprefix("\\??\\")
            if (thread, folder) in opened:  # named in a folder that is open
                path = opened[thread, folder].rstrip("\\") + "\\" + path
            asked[thread] = path
            if given:
                yield _descriptor(path, given, born=True)
        elif answered := _OPENED.match(line):
            thread, request, handle = answered.groups()
            opened.pop((thread, handle), None)  # what had the number before is closed
            if request in _OPENING_FILES and thread in asked:
                opened[thread, handle] = asked.pop(thread)
        elif changed := _SET.match(line):
            thread, handle, given = changed.groups()
            yield _descriptor(opened.get((thread, handle), ""), given, born=False)


def _descriptor(path: str, text: str, *, born: bool) -> Descriptor:
    control = re.search(r"control=([0-9a-f]+)", text)
    owner = re.search(r"owner=(S[\d-]+)", text)
    listed = re.search(r"dacl=\{(.*)\}", text)
    entries = listed and tuple(
        Entry(kind, int(flags, 16), int(mask, 16), sid)
        for kind, flags, mask, sid in _ENTRY.findall(listed[1])
    )
    return Descriptor(
        path,
        born,
        owner[1] if owner else None,
        bool(control and int(control[1], 16) & _PROTECTED),
        entries,
    )
