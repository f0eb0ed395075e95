"""A program that PyInstaller has frozen, read and written without PyInstaller."""

from __future__ import annotations

import marshal
import struct
import zlib
from typing import NamedTuple

_COOKIE = struct.Struct(
    "!8sIIII64s"
)  # magic, archive's length, place and length of its index, Python, its library
_MAGIC = b"MEI\014\013\012\013\016"
_ENTRY = struct.Struct("!IIIIBc")  # its own length, place, packed size, size, whether it is packed, kind
SCRIPT, MODULES = b"s", b"z"
_PYZ = struct.Struct("!4s4si")  # magic, Python's, place of the index


class Entry(NamedTuple):
    name: str
    kind: bytes
    content: bytes
    is_packed: bool


def split(program: bytes) -> tuple[bytes, bytes, list[Entry]]:
    """Return the loader, the last fields of the archive's cookie, and what is in the archive."""
    end = program.rindex(_MAGIC) + _COOKIE.size
    _, length, place, size, python, library = _COOKIE.unpack_from(program, end - _COOKIE.size)
    archive, found = program[end - length : end], []
    index = archive[place : place + size]
    while index:
        own, start, packed, _, is_packed, kind = _ENTRY.unpack_from(index)
        content = archive[start : start + packed]
        name = index[_ENTRY.size : own].rstrip(b"\0").decode()
        found.append(Entry(name, kind, zlib.decompress(content) if is_packed else content, bool(is_packed)))
        index = index[own:]
    return program[: end - length], struct.pack("!I64s", python, library), found


def join(loader: bytes, cookie: bytes, entries: list[Entry]) -> bytes:
    """Return the program of these parts."""
    archive, index = b"", b""
    for entry in entries:
        content = zlib.compress(entry.content) if entry.is_packed else entry.content
        name = entry.name.encode() + b"\0"
        name += bytes(-(_ENTRY.size + len(name)) % 16)
        index += _ENTRY.pack(
            *(
                _ENTRY.size + len(name),
                len(archive),
                len(content),
                len(entry.content),
                entry.is_packed,
                entry.kind,
            )
        )
        index += name
        archive += content
    length = len(archive) + len(index) + _COOKIE.size
    return loader + archive + index + struct.pack("!8sIII", _MAGIC, length, len(archive), len(index)) + cookie


def changed(program: bytes, module: str, old: bytes, new: bytes) -> bytes:
    """Return the program with other bytes, as many, in a module's code."""
    loader, cookie, entries = split(program)
    (modules,) = (entry for entry in entries if entry.kind == MODULES)
    magic, python, place = _PYZ.unpack_from(modules.content)
    index = dict(marshal.loads(modules.content[place:]))  # noqa: S302 - of the build
    first = min(start for _, start, _ in index.values())
    content, places = modules.content[:first], []
    for name, (kind, start, size) in index.items():
        data = modules.content[start : start + size]
        if name == module:
            code = zlib.decompress(data)
            assert old in code
            assert len(old) == len(new)
            data = zlib.compress(code.replace(old, new))
        places.append((name, (kind, len(content), len(data))))
        content += data
    content = _PYZ.pack(magic, python, len(content)) + content[_PYZ.size :] + marshal.dumps(places)
    return join(
        loader,
        cookie,
        [entry._replace(content=content) if entry.kind == MODULES else entry for entry in entries],
    )


def modules_of(program: bytes) -> list[str]:
    """Return the names of the frozen modules."""
    (modules,) = (entry.content for entry in split(program)[2] if entry.kind == MODULES)
    _, _, place = _PYZ.unpack_from(modules)
    return [name for name, _ in marshal.loads(modules[place:])]  # noqa: S302 - of the build


def with_script(program: bytes, code: bytes) -> bytes:
    """Return the program with another script, as `marshal` writes it, in the place of its own."""
    loader, cookie, entries = split(program)
    own = [entry for entry in entries if entry.kind == SCRIPT][-1]
    return join(
        loader, cookie, [entry._replace(content=code) if entry is own else entry for entry in entries]
    )
