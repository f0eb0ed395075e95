"""A tar archive, read from its beginning to its end in little memory.

Not Python's tarfile: it reads an extended header as a whole, however large that says it is, remembers every
member, and takes three times as long to import as this. Known are the forms that are in use: ustar, GNU's
long names and numbers, pax. What else there is, is told as something that is no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.artifacts.failure import Unusable
from agent.artifacts.member import Member, Nature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_BLOCK = 512
_PIECE = 1 << 18
_LONGEST_HEADER = 1 << 16
_MOST_EXTENDED = 8
"""Before a member's own header: a long name, a long target, one of pax for it and one for all are in use."""
_END = bytes(_BLOCK)
_CHECKSUM = slice(148, 156)
_NATURES = {b"0": Nature.FILE, b"\0": Nature.FILE, b"7": Nature.FILE, b"5": Nature.FOLDER}
_NATURES |= {b"1": Nature.LINK, b"2": Nature.LINK}
_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL = b"L", b"K", b"x", b"g"
_CUT_SHORT = "it is cut short"


def members(read: Callable[[int], bytes]) -> Iterator[Member]:
    """Each is to be read before the next one comes. `read` gives up to so many bytes. Raises Unusable."""
    source = _Source(read)
    given: dict[str, str] = {}
    extended = 0
    while (header := source.exactly(_BLOCK)) != _END:
        _check(header)
        kind, size = header[156:157], _number(header[124:136])
        if kind in (_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL):
            # Of what is for all only names and sizes would count here, and these are never for all.
            extended += 1
            if extended > _MOST_EXTENDED:
                raise Unusable("more is told of one member in it than there is to tell")
            given |= _extended(kind, source.padded(size))
            continue
        size = int(given.get("size", size))
        name = given.get("path") or _name(header)
        nature = _NATURES.get(kind, Nature.OTHER)
        if nature is Nature.FILE and name.endswith("/"):
            nature = Nature.FOLDER
        if any(key.startswith("GNU.sparse") for key in given):
            nature = Nature.OTHER
        # A link may say how large it is, and has no content all the same.
        has_content = nature in (Nature.FILE, Nature.OTHER)
        source.begin(size if has_content else 0)
        yield Member(name, nature, size if has_content else 0, source.content)
        source.skip()
        given, extended = {}, 0


class _Source:
    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._left = 0
        self._padding = 0

    def exactly(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            piece = self._read(size - len(got))
            if not piece:
                raise Unusable(_CUT_SHORT)
            got += piece
        return bytes(got)

    def padded(self, size: int) -> bytes:
        if size > _LONGEST_HEADER:
            raise Unusable("a name in it has no end")
        content = self.exactly(size)
        self.exactly(-size % _BLOCK)
        return content

    def begin(self, size: int) -> None:
        self._left, self._padding = size, -size % _BLOCK

    def content(self) -> Iterator[bytes]:
        while self._left:
            piece = self._read(min(self._left, _PIECE))
            if not piece:
                raise Unusable(_CUT_SHORT)
            self._left -= len(piece)
            yield piece

    def skip(self) -> None:
        for _ in self.content():
            pass
        self.exactly(self._padding)
        self._padding = 0


def _check(header: bytes) -> None:
    told = _number(header[_CHECKSUM])
    blank = header[: _CHECKSUM.start] + b" " * 8 + header[_CHECKSUM.stop :]
    if sum(blank) != told:
        raise Unusable("it is no tar archive, or is damaged")


def _number(field: bytes) -> int:
    if field[0] & 0x80:  # GNU's, for what octal digits have no room for
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.split(b"\0")[0].strip()
    try:
        return int(digits, 8) if digits else 0
    except ValueError:
        raise Unusable("it is no tar archive, or is damaged") from None


def _name(header: bytes) -> str:
    name = _text(header[:100])
    # GNU's own form has times where the other has a folder.
    folder = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{folder}/{name}" if folder else name


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode("utf-8", "replace")


def _extended(kind: bytes, content: bytes) -> Mapping[str, str]:
    if kind == _LONG_NAME:
        return {"path": _text(content)}
    return _pax(content) if kind == _PAX else {}


def _pax(content: bytes) -> Mapping[str, str]:
    found: dict[str, str] = {}
    while content:
        length, _, _ = content.partition(b" ")
        size = int(length) if length.isdigit() and len(length) < len("100000") else 0
        record = content[len(length) + 1 : size]
        name, equals, value = record.removesuffix(b"\n").partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise Unusable("it is no tar archive, or is damaged")
        key = name.decode("utf-8", "replace")
        if key == "size" and not value.isdigit():
            raise Unusable("it is no tar archive, or is damaged")
        found[key] = value[:_LONGEST_HEADER].decode("utf-8", "replace")
        content = content[size:]
    return found
