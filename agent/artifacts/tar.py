"""A tar archive, read from its beginning to its end in little memory.

Not Python's tarfile: it reads an extended header as a whole, however large that says it is, remembers every
member, and takes three times as long to import as this. Known are the forms that are in use: ustar, GNU's
long names and numbers, pax. What else there is, is told as something that is no file.
"""

from collections.abc import Callable, Iterator, Mapping

from agent.artifacts.failure import Unusable
from agent.artifacts.member import Member, Nature

_BLOCK = 512
_PIECE = 1 << 18
_LONGEST_HEADER = 1 << 16
_MOST_EXTENDED = 8
"""Before a member's own header: a long name, a long target, one of pax for it and one for all are in use."""
_MOST_TOLD = 64 << 20
"""Bytes of such headers in an archive: of each member some hundred are in use."""
_LONGEST_NUMBER = 19
"""Digits of a size in pax."""
_LONGEST_LENGTH = 5
"""Digits of what such a header may be long."""
_GNU_NUMBER = 0x80
"""Before a number in bytes; 0xFF stands before a negative one."""
_END = bytes(_BLOCK)
_CHECKSUM = slice(148, 156)
_NATURES = {b"0": Nature.FILE, b"\0": Nature.FILE, b"7": Nature.FILE, b"5": Nature.FOLDER}
_NATURES |= {b"1": Nature.LINK, b"2": Nature.LINK}
_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL = b"L", b"K", b"x", b"g"
_CUT_SHORT = "it is cut short"
_DAMAGED = "it is no tar archive, or is damaged"


def members(read: Callable[[int], bytes]) -> Iterator[Member]:
    """Each is to be read before the next one comes. `read` gives up to so many bytes. Raises Unusable."""
    source = _Source(read)
    given: dict[str, str] = {}
    extended = told = 0
    while (header := source.exactly(_BLOCK)) != _END:
        _check(header)
        kind, size = header[156:157], _number(header[124:136])
        if kind in (_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL):
            # Of what is for all only names and sizes would count here, and these are never for all.
            extended, told = extended + 1, told + size
            if extended > _MOST_EXTENDED:
                raise Unusable("more is told of one member in it than there is to tell")
            given |= _extended(kind, source.padded(size))
            if told > _MOST_TOLD:
                raise Unusable(f"more than {_MOST_TOLD >> 20} MiB in it tell of its members")
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
        raise Unusable(_DAMAGED)


def _number(field: bytes) -> int:
    """Return a size or a checksum. Raises Unusable for a negative one, and for what is no number."""
    if field[0] == _GNU_NUMBER:  # for what octal digits have no room for
        return int.from_bytes(field[1:], "big")
    digits = field.split(b"\0")[0].strip(b" ")
    if digits.strip(b"01234567"):
        raise Unusable(_DAMAGED)
    return int(digits or b"0", 8)


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
    """Return the records of a header, each of which begins with its own length. Raises Unusable."""
    found: dict[str, str] = {}
    place = 0
    while place < len(content):
        blank = content.find(b" ", place, place + _LONGEST_LENGTH + 1)
        digits = content[place:blank] if blank > 0 else b""
        end = place + int(digits) if digits.isdigit() else place
        record = content[blank + 1 : end]
        name, equals, value = record.removesuffix(b"\n").partition(b"=")
        if not place < end <= len(content) or not equals or not record.endswith(b"\n"):
            raise Unusable(_DAMAGED)
        key = name.decode("utf-8", "replace")
        if key == "size" and not (value.isdigit() and len(value) <= _LONGEST_NUMBER):
            raise Unusable(_DAMAGED)
        found[key] = value.decode("utf-8", "replace")
        place = end
    return found
