"""The section .payload of the shipped file: the program and its runtime, packed."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SECTION = ".payload"

_FILE = struct.Struct("<IIII")  # name, data, packed size, size
_BEFORE_INDEX = 8  # CRC-32 of all that follows it, and the number of files


class _Packed(NamedTuple):
    name: str
    data: bytes
    size: int


def build(program: bytes, runtime: Mapping[str, bytes], pack: Callable[[bytes], bytes]) -> bytes:
    """What launcher/payload.c reads: the program, then its runtime's files, the largest first.

    Two threads take them in this order, so a long one must not come last. `pack` makes one LZ4 block.
    """
    ordered = [("", program), *sorted(runtime.items(), key=lambda item: (-len(item[1]), item[0]))]
    files = [_Packed(name, _smaller(content, pack(content)), len(content)) for name, content in ordered]

    names = [file.name.encode("utf-16-le") + b"\0\0" for file in files]
    place = _BEFORE_INDEX + _FILE.size * len(files)
    data_place = place + sum(len(name) for name in names)
    index = b""
    for file, name in zip(files, names, strict=True):
        index += _FILE.pack(place, data_place, len(file.data), file.size)
        place += len(name)
        data_place += len(file.data)
    rest = struct.pack("<I", len(files)) + index + b"".join(names) + b"".join(file.data for file in files)
    return struct.pack("<I", zlib.crc32(rest)) + rest


def _smaller(content: bytes, packed: bytes) -> bytes:
    """Equal sizes tell the launcher that a file is stored as it is."""
    return packed if len(packed) < len(content) else content
