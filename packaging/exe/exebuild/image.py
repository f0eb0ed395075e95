"""A section added to a Windows program that is already linked.

Windows maps a section together with the program, and the program's signature covers it: the launcher finds
its payload in its own memory.
"""

from __future__ import annotations

import struct

_FILE_HEADER = struct.Struct("<4sHHIIIHH")  # signature, then IMAGE_FILE_HEADER
_SECTION = struct.Struct("<8sIIIIIIHHI")
_INITIALIZED_DATA = 0x00000040
_MEM_READ = 0x40000000

# From the start of the optional header (PE32+).
_SIZE_OF_INITIALIZED_DATA = 8
_SECTION_ALIGNMENT = 32
_SIZE_OF_IMAGE = 56
_SIZE_OF_HEADERS = 60

PAGE = 4096
"""Data begins at a page of the file, so that it is mapped rather than copied."""


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def add_section(program: bytes, name: str, content: bytes) -> bytes:
    """Return the program with one more section, read-only, at its end."""
    image = bytearray(program)
    header = struct.unpack_from("<I", image, 0x3C)[0]
    signature, _, count, _, _, _, optional_size, _ = _FILE_HEADER.unpack_from(image, header)
    if signature != b"PE\0\0":
        raise ValueError("not a Windows program")
    optional = header + _FILE_HEADER.size
    table = optional + optional_size
    entry = table + count * _SECTION.size
    if entry + _SECTION.size > struct.unpack_from("<I", image, optional + _SIZE_OF_HEADERS)[0]:
        raise ValueError("no room for another section header")

    alignment = struct.unpack_from("<I", image, optional + _SECTION_ALIGNMENT)[0]
    _, size, address, *_ = _SECTION.unpack_from(image, entry - _SECTION.size)
    where = _round_up(address + size, alignment)
    raw = _round_up(len(program), PAGE)
    raw_size = _round_up(len(content), PAGE)
    flags = _INITIALIZED_DATA | _MEM_READ
    _SECTION.pack_into(
        image, entry, name.encode("ascii"), len(content), where, raw_size, raw, 0, 0, 0, 0, flags
    )
    struct.pack_into("<H", image, header + 6, count + 1)
    initialized = struct.unpack_from("<I", image, optional + _SIZE_OF_INITIALIZED_DATA)[0]
    struct.pack_into("<I", image, optional + _SIZE_OF_INITIALIZED_DATA, initialized + raw_size)
    struct.pack_into("<I", image, optional + _SIZE_OF_IMAGE, _round_up(where + len(content), alignment))
    return bytes(image).ljust(raw, b"\0") + content.ljust(raw_size, b"\0")
