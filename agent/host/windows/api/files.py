"""Files by handle (ntdll, and what win32file has).

NtCreateFile and not CreateFile: it opens a name relative to the open handle of its folder. So a path can be
walked element by element, each looked at before the next is opened in it, and nobody can put a junction in
the place of a folder that was already looked at. It knows neither a longest path nor names of devices.
"""

import ctypes
import struct
from collections.abc import Iterator
from ctypes import wintypes
from typing import NamedTuple

import win32file

from agent.host import winerror
from agent.host.windows.api.binding import dll, judged, succeeding
from agent.host.windows.api.security import binary_descriptor
from agent.host.windows.failure import failed

# Access
READ_DATA = LIST_DIRECTORY = 0x0001
WRITE_DATA = 0x0002
APPEND_DATA = ADD_FOLDER = 0x0004
READ_ATTRIBUTES = 0x0080
WRITE_ATTRIBUTES = 0x0100
DELETE = 0x1_0000
READ_CONTROL = 0x2_0000
WRITE_DAC = 0x4_0000
WRITE_OWNER = 0x8_0000
SYNCHRONIZE = 0x10_0000

# Sharing
SHARE_NOTHING = 0
SHARE_READ = 1
SHARE_DELETE = 4
SHARE_ALL = 7

# Dispositions
OPEN = 1
CREATE = 2
OPEN_OR_CREATE = 3

# Options
DIRECTORY = 0x0000_0001
WRITE_THROUGH = 0x0000_0002
SYNCHRONOUS = 0x0000_0020
NOT_DIRECTORY = 0x0000_0040
DELETE_ON_CLOSE = 0x0000_1000
BACKUP_INTENT = 0x0000_4000
REPARSE_POINT_ITSELF = 0x0020_0000

# Attributes
READ_ONLY = 0x0001
IS_DIRECTORY = 0x0010
NORMAL = 0x0080
IS_REPARSE_POINT = 0x0400

_CASE_INSENSITIVE = 0x40
_DONT_REPARSE = 0x1000
_BASIC = 4
_RENAME = 10
_NAMES = 12
_DISPOSITION = 13
_DISPOSITION_EX = 64
_RENAME_EX = 65
_OPENED = 34
_ATTRIBUTES = 35
_INDEX = 6
_DISPOSITION_FLAGS = 0x01 | 0x02 | 0x10  # DELETE, POSIX_SEMANTICS, IGNORE_READONLY_ATTRIBUTE
_RENAME_FLAGS = 0x02 | 0x40  # POSIX_SEMANTICS, IGNORE_READONLY_ATTRIBUTE
_REPLACE = 0x01
_NO_MORE_FILES = 0x8000_0006
_GET_REPARSE_POINT = 0x0009_00A8
_LARGEST_REPARSE_DATA = 16 * 1024

# Server 2019 and newer know these on NTFS; without them, the old way refuses what is open or read-only.
_UNKNOWN_CLASS = {0xC000_0002, 0xC000_0003, 0xC000_000D, 0xC000_00BB}
"""NOT_IMPLEMENTED, INVALID_INFO_CLASS, INVALID_PARAMETER, NOT_SUPPORTED: by this Windows or file system."""

_TOLD_BETTER = {
    0xC000_0056: winerror.ERROR_DELETE_PENDING,  # RtlNtStatusToDosError makes 'access denied' of it
    0xC000_00BA: winerror.ERROR_DIRECTORY_NOT_SUPPORTED,  # likewise, of FILE_IS_A_DIRECTORY
}

_FILETIME_OF_1970 = 11_644_473_600
_FILETIMES_A_SECOND = 10_000_000

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_POINTER = ctypes.c_void_p
_STATUS = ctypes.c_uint32


class _UnicodeString(ctypes.Structure):
    """UNICODE_STRING"""

    _fields_ = (("bytes", wintypes.USHORT), ("room", wintypes.USHORT), ("text", _POINTER))


class _ObjectAttributes(ctypes.Structure):
    """OBJECT_ATTRIBUTES"""

    # fmt: off
    _fields_ = (
        ("size", wintypes.ULONG), ("folder", _HANDLE), ("name", ctypes.POINTER(_UnicodeString)),
        ("attributes", wintypes.ULONG), ("descriptor", ctypes.c_char_p), ("quality", _POINTER),
    )
    # fmt: on


class _IoStatus(ctypes.Structure):
    """IO_STATUS_BLOCK"""

    _fields_ = (("status", _POINTER), ("information", ctypes.c_size_t))


# FILE_NETWORK_OPEN_INFORMATION: four times, room, size, attributes
_OPEN_INFORMATION = struct.Struct("<16xq8x8xqI4x")
# FILE_BASIC_INFORMATION: four times, attributes; what is nought stays as it is
_BASIC_INFORMATION = struct.Struct("<16xq8xI4x")
# FILE_ATTRIBUTE_TAG_INFORMATION: attributes, tag
_TAG_INFORMATION = struct.Struct("<II")


class Information(NamedTuple):
    attributes: int
    size: int
    modified: float


_ntdll = dll("ntdll")
_kernel32 = dll("kernel32")
_dos_error = judged(_ntdll, "RtlNtStatusToDosError", wintypes.ULONG, _STATUS)
# fmt: off
_create_file = judged(
    _ntdll, "NtCreateFile", _STATUS,
    ctypes.POINTER(_HANDLE), _DWORD, ctypes.POINTER(_ObjectAttributes), ctypes.POINTER(_IoStatus), _POINTER,
    wintypes.ULONG, wintypes.ULONG, wintypes.ULONG, wintypes.ULONG, _POINTER, wintypes.ULONG,
)
_set_information = judged(
    _ntdll, "NtSetInformationFile", _STATUS,
    _HANDLE, ctypes.POINTER(_IoStatus), _POINTER, wintypes.ULONG, ctypes.c_int,
)
_query_information = judged(
    _ntdll, "NtQueryInformationFile", _STATUS,
    _HANDLE, ctypes.POINTER(_IoStatus), _POINTER, wintypes.ULONG, ctypes.c_int,
)
_query_directory = judged(
    _ntdll, "NtQueryDirectoryFile", _STATUS,
    _HANDLE, _HANDLE, _POINTER, _POINTER, ctypes.POINTER(_IoStatus), _POINTER, wintypes.ULONG, ctypes.c_int,
    wintypes.BOOLEAN, _POINTER, wintypes.BOOLEAN,
)
_read = succeeding(
    _kernel32, "ReadFile", _BOOL, _HANDLE, _POINTER, _DWORD, ctypes.POINTER(_DWORD), _POINTER
)
# fmt: on


def open_in(
    folder: int | None,
    name: str,
    access: int,
    *,
    share: int = SHARE_ALL,
    disposition: int = OPEN,
    options: int = 0,
    descriptor: str | None = None,
    no_link: bool = False,
) -> int:
    """Open or make `name` in an open folder; without one, `name` is the kernel's name of a whole path.

    What is made is born with the descriptor, given as SDDL. A reparse point is opened itself. With `no_link`
    the kernel refuses every one, also on the way.
    """
    text = ctypes.create_unicode_buffer(name)
    length = ctypes.sizeof(text) - ctypes.sizeof(ctypes.c_wchar)
    unicode = _UnicodeString(length, length, ctypes.addressof(text))
    handle, outcome = _HANDLE(), _IoStatus()
    born_with = None if descriptor is None else binary_descriptor(descriptor)
    # fmt: off
    attributes = _ObjectAttributes(
        ctypes.sizeof(_ObjectAttributes), folder, ctypes.pointer(unicode),
        _CASE_INSENSITIVE | (_DONT_REPARSE if no_link else 0), born_with, None,
    )
    status = _create_file(
        handle, access | READ_ATTRIBUTES | SYNCHRONIZE, attributes, outcome, None,
        NORMAL, share, disposition, options | REPARSE_POINT_ITSELF, None, 0,
    )
    # fmt: on
    _check(status, "NtCreateFile")
    return handle.value or 0


def attributes_of(handle: int) -> int:
    """The quickest question that there is: it is asked for each folder on the way to a file."""
    found, _ = _TAG_INFORMATION.unpack(_query(handle, _ATTRIBUTES, _TAG_INFORMATION.size))
    return int(found)


def information(handle: int) -> Information:
    """GetFileInformationByHandle would ask the volume as well, which takes ten times as long."""
    written, size, found = _OPEN_INFORMATION.unpack(_query(handle, _OPENED, _OPEN_INFORMATION.size))
    return Information(found, size, modified=written / _FILETIMES_A_SECOND - _FILETIME_OF_1970)


def written_at(handle: int) -> int:
    """When it was last written, in intervals of 100 ns since 1601."""
    written, _, _ = _OPEN_INFORMATION.unpack(_query(handle, _OPENED, _OPEN_INFORMATION.size))
    return int(written)


def set_written_at(handle: int, written: int) -> None:
    _check(_set(handle, _BASIC, _BASIC_INFORMATION.pack(written, 0)), "NtSetInformationFile")


def index_of(handle: int) -> int:
    """The file's number on its volume, which stays with it when it is renamed."""
    (index,) = struct.unpack("<q", _query(handle, _INDEX, 8))
    return int(index)


def _query(handle: int, kind: int, size: int) -> bytes:
    buffer = ctypes.create_string_buffer(size)
    _check(
        _query_information(handle, _IoStatus(), buffer, size, kind),
        "NtQueryInformationFile",
    )
    return buffer.raw


def names(folder: int) -> list[str]:
    found: list[str] = []
    buffer = ctypes.create_string_buffer(0x1_0000)
    outcome = _IoStatus()
    restart = True
    while True:
        # fmt: off
        status = _query_directory(
            folder, None, None, None, outcome, buffer, len(buffer), _NAMES, False, None, restart
        )
        # fmt: on
        if status == _NO_MORE_FILES:
            return [name for name in found if name not in (".", "..")]
        _check(status, "NtQueryDirectoryFile")
        found += linked_names(buffer.raw, name_offset=12)
        restart = False


def linked_names(data: bytes, name_offset: int) -> list[str]:
    """Out of records that each begin with the distance to the next and have the name's length before it."""
    found = []
    place = 0
    while True:
        (step,) = struct.unpack_from("<I", data, place)
        (length,) = struct.unpack_from("<I", data, place + name_offset - 4)
        start = place + name_offset
        found.append(data[start : start + length].decode("utf-16-le", "surrogatepass"))
        if not step:
            return found
        place += step


def rename(handle: int, folder: int, name: str, *, replace: bool) -> None:
    """Move what is open to another name in an open folder. What is there may be marked as read-only."""
    flags = _REPLACE if replace else 0
    status = _rename(handle, folder, name, _RENAME_EX, flags | _RENAME_FLAGS)
    if status in _UNKNOWN_CLASS:
        status = _rename(handle, folder, name, _RENAME, flags)
    _check(status, "NtSetInformationFile")


def remove(handle: int) -> None:
    """Its name is gone as soon as this handle is closed, whoever else has it open for reading."""
    status = _set(handle, _DISPOSITION_EX, struct.pack("<I", _DISPOSITION_FLAGS))
    if status in _UNKNOWN_CLASS:
        status = _set(handle, _DISPOSITION, b"\1")
    _check(status, "NtSetInformationFile")


def read(handle: int, size: int) -> bytes:
    """At most so much; nothing at the end."""
    buffer = ctypes.create_string_buffer(size)
    count = _DWORD()
    _read(handle, buffer, size, count, None)
    return ctypes.string_at(buffer, count.value)


def views(handle: int, size: int) -> Iterator[memoryview]:
    """The rest, so much of it at a time. Each is overwritten by the next."""
    buffer = bytearray(size)
    place = (ctypes.c_char * size).from_buffer(buffer)
    count = _DWORD()
    while True:
        _read(handle, place, size, count, None)
        if not count.value:
            return
        yield memoryview(buffer)[: count.value]


def write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        _, count = win32file.WriteFile(handle, bytes(view[: 1 << 20]))
        view = view[count:]


def flush(handle: int) -> None:
    win32file.FlushFileBuffers(handle)


def seek(handle: int, offset: int) -> None:
    win32file.SetFilePointer(handle, offset, win32file.FILE_BEGIN)


def reparse_data(handle: int) -> bytes:
    """REPARSE_DATA_BUFFER."""
    return bytes(win32file.DeviceIoControl(handle, _GET_REPARSE_POINT, None, _LARGEST_REPARSE_DATA))


def remove_at_reboot(path: str) -> None:
    to_nowhere = None
    win32file.MoveFileEx(path, to_nowhere, win32file.MOVEFILE_DELAY_UNTIL_REBOOT)  # type: ignore[arg-type]


def close(handle: int) -> None:
    win32file.CloseHandle(handle)


def _rename(handle: int, folder: int, name: str, kind: int, flags: int) -> int:
    # FILE_RENAME_INFORMATION: flags (or a boolean), the folder's handle, the name's length, the name
    encoded = name.encode("utf-16-le", "surrogatepass")
    return _set(handle, kind, struct.pack("<I4xQI", flags, folder, len(encoded)) + encoded + b"\0\0")


def _set(handle: int, kind: int, data: bytes) -> int:
    status: int = _set_information(handle, _IoStatus(), data, len(data), kind)
    return status


def _check(status: int, call: str) -> None:
    if status:
        raise failed(_TOLD_BETTER.get(status) or _dos_error(status), call)


_SYMBOLIC_LINK = 0xA000_000C
_HEADER = struct.Struct("<IH2xHHHHI")
"""Tag, length of what follows; where the name to go on with lies, and its length; the same of the name to be
shown, which may be empty; flags. Then the names.
"""
_LONGER_THAN = 8
"""Bytes that its length does not count."""
_OF_THE_KERNEL = "\\??\\"


def symbolic_target(data: bytes) -> str | None:
    """Where it leads, as it says itself; None for another kind of reparse point, or one that is damaged."""
    if len(data) < _HEADER.size:
        return None
    tag, length, start, size, _, _, _ = _HEADER.unpack_from(data)
    name = data[_HEADER.size + start : _HEADER.size + start + size]
    if tag != _SYMBOLIC_LINK or len(data) < _LONGER_THAN + length or len(name) != size or size % 2:
        return None
    return name.decode("utf-16-le", "surrogatepass").removeprefix(_OF_THE_KERNEL)
