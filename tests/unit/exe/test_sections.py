"""What the payload holds, read back as the launcher reads it."""

from __future__ import annotations

import struct
import zlib

from exebuild import payload


def _halves(content: bytes) -> bytes:
    return content[::2]


def _unpacked(section: bytes) -> tuple[list[str], list[tuple[str, bytes, int]]]:
    checksum, folders, files = struct.unpack_from("<III", section)
    assert checksum == zlib.adler32(section[4:]), "a damaged download is noticed"
    found = []
    for i in range(folders + files):
        name, data, packed, size = struct.unpack_from("<IIII", section, 12 + 16 * i)
        end = name
        while section[end : end + 2] != b"\0\0":
            end += 2
        found.append((section[name:end].decode("utf-16-le"), section[data : data + packed], size))
    return [name for name, _, _ in found[:folders]], found[folders:]


def test_the_program_comes_first_then_the_largest_file() -> None:
    files = {
        "i/small.dll": b"ab",
        "i/b.dll": b"12345678",
        "i/a.dll": b"abcdefgh",
        "i/large.dll": b"0123456789abcdef",
        "wmcb.exe": b"program!",
    }
    _, found = _unpacked(payload.build("wmcb.exe", files, _halves))
    assert found == [
        ("wmcb.exe", b"porm", 8),
        ("i\\large.dll", b"02468ace", 16),
        ("i\\a.dll", b"aceg", 8),
        ("i\\b.dll", b"1357", 8),
        ("i\\small.dll", b"a", 2),
    ]


def test_each_folder_comes_before_what_is_in_it() -> None:
    files = dict.fromkeys(("wmcb.exe", "i/z/deep/a", "i/b/c", "i/a"), b"")
    folders, _ = _unpacked(payload.build("wmcb.exe", files, _halves))
    assert folders == ["i", "i\\b", "i\\z", "i\\z\\deep"]


def test_what_packing_makes_no_smaller_is_stored_as_it_is() -> None:
    _, found = _unpacked(payload.build("p", {"p": b"p", "x": b"xy"}, lambda content: content + b"more"))
    assert found == [("p", b"p", 1), ("x", b"xy", 2)]


def test_the_same_folder_gives_the_same_bytes_in_whatever_order() -> None:
    files = {"wmcb.exe": b"p", "i/b": b"12", "i/a": b"34", "i/c/d": b"5"}
    shuffled = dict(reversed(files.items()))
    assert payload.build("wmcb.exe", files, _halves) == payload.build("wmcb.exe", shuffled, _halves)
