"""The section .payload of the shipped file: the program's folder, packed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

SECTION = ".payload"

_FILE = struct.Struct("<IIII")  # name, data, packed size, size
_BEFORE_INDEX = 12  # Adler-32 of all that follows it, the number of folders, the number of files


class _Packed(NamedTuple):
    name: str
    data: bytes
    size: int


def build(program: str, files: Mapping[str, bytes], pack: Callable[[bytes], bytes]) -> bytes:
    """Return what launcher/payload.c reads: the program, then the folder's other files, the largest first.

    `files` are named by their paths in the folder, with slashes. Two threads take them in this order, so a
    long one must not come last. `pack` makes one LZ4 block.
    """
    folders = sorted(
        {"/".join(name.split("/")[:end]) for name in files for end in range(1, name.count("/") + 1)}
    )
    ordered = sorted(files.items(), key=lambda file: (file[0] != program, -len(file[1]), file[0]))
    packed = [_Packed(folder, b"", 0) for folder in folders]
    # Equal sizes tell the launcher that a file is stored as it is.
    packed += [_Packed(name, min(pack(data), data, key=len), len(data)) for name, data in ordered]

    names = [entry.name.replace("/", "\\").encode("utf-16-le") + b"\0\0" for entry in packed]
    place = _BEFORE_INDEX + _FILE.size * len(packed)
    data_place = place + sum(len(name) for name in names)
    index = b""
    for entry, name in zip(packed, names, strict=True):
        index += _FILE.pack(place, data_place, len(entry.data), entry.size)
        place += len(name)
        data_place += len(entry.data)
    counts = struct.pack("<II", len(folders), len(files))
    rest = counts + index + b"".join(names) + b"".join(entry.data for entry in packed)
    return struct.pack("<I", zlib.adler32(rest)) + rest
