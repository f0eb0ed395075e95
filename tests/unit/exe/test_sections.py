"""What the two sections hold, read back as the launcher reads it."""

from __future__ import annotations

import struct
import zlib

from exebuild import modules, payload
from exebuild.modules import FrozenModule


def test_modules_are_found_by_name_with_their_code() -> None:
    wanted = [FrozenModule("agent", b"one", True), FrozenModule("agent.cli", b"", False)]
    section = modules.build(wanted)
    assert modules.parse(section) == wanted


def test_the_code_of_one_module_follows_that_of_another() -> None:
    wanted = [FrozenModule("agent", b"one", True), FrozenModule("agent.cli", b"other", False)]
    place = modules.place_of_code([module.name for module in wanted])
    assert modules.build(wanted)[place:] == b"oneother"


def _halves(content: bytes) -> bytes:
    return content[::2]


def _unpacked(section: bytes) -> list[tuple[str, bytes, int]]:
    crc, count = struct.unpack_from("<II", section)
    assert crc == zlib.crc32(section[4:]), "a damaged download is noticed"
    files = []
    for i in range(count):
        name, data, packed, size = struct.unpack_from("<IIII", section, 8 + 16 * i)
        end = name
        while section[end : end + 2] != b"\0\0":
            end += 2
        files.append((section[name:end].decode("utf-16-le"), section[data : data + packed], size))
    return files


def test_the_program_comes_first_then_the_largest_file() -> None:
    runtime = {
        "small.dll": b"ab",
        "b.dll": b"12345678",
        "a.dll": b"abcdefgh",
        "large.dll": b"0123456789abcdef",
    }
    section = payload.build(b"program!", runtime, _halves)
    assert _unpacked(section) == [
        ("", b"porm", 8),
        ("large.dll", b"02468ace", 16),
        ("a.dll", b"aceg", 8),
        ("b.dll", b"1357", 8),
        ("small.dll", b"a", 2),
    ]


def test_what_packing_makes_no_smaller_is_stored_as_it_is() -> None:
    section = payload.build(b"p", {"x": b"xy"}, lambda content: content + b"more")
    assert _unpacked(section) == [("", b"p", 1), ("x", b"xy", 2)]
