"""An archive unpacked: what is wanted of it, within bounds, each member handed on as it comes."""

import enum
import gzip
import io
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from agent.artifacts.means import Unusable
from agent.host.files import Reading
from agent.redaction import redacted
from agent.secret_fields import registers_secrets
from agent.sources.windows_paths import name_fault
from agent.spec import Key, Unpacking

MOST_MEMBERS = 20_000
MOST_BYTES = 4 << 30
"""Of all that is in it, wanted or not: what unpacks to more was made to fill a disk."""
MOST_AFTER_END = 64 << 20
"""What fills up a tar after its end is some kilobytes, a tape's record at most."""

_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_PIECE = 1 << 18
_CUT_SHORT = "it is cut short"


class Nature(enum.Enum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "device, or something else that no Windows file is"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Member:
    """One member of an archive, of whatever form that is."""

    name: str
    """As it was written."""
    nature: Nature
    size: int
    """As the archive says."""
    content: Callable[[], Iterator[bytes]] = field(compare=False, repr=False)


def wanted(packed: Reading, unpacking: Unpacking) -> Iterator[tuple[str, Iterator[bytes]]]:
    """By its name below the target each file's content, to be read before the next one. Raises Unusable."""
    choice = Choice(unpacking)
    size = 0
    for count, member in enumerate(_members(packed), 1):
        size += member.size
        if count > MOST_MEMBERS:
            raise _too_many()
        if size > MOST_BYTES:
            raise Unusable(f"it unpacks to more than {MOST_BYTES >> 30} GiB")
        if member.nature is Nature.FOLDER:
            continue
        name = choice.name(member.name)
        if name is None:
            continue
        if member.nature is not Nature.FILE:
            raise Unusable(
                f"{told(member.name)} in it is a {member.nature.value}, which is not unpacked; "
                "name the members that are wanted"
            )
        yield name, _of_that_size(member)
    choice.check_complete()


def _of_that_size(member: Member) -> Iterator[bytes]:
    left = member.size
    for piece in member.content():
        left -= len(piece)
        if left < 0:
            break
        yield piece
    if left:
        raise Unusable(f"{told(member.name)} in it is not as large as it says")


def _too_many() -> Unusable:
    """Return the refusal of an archive that has more members than may be."""
    return Unusable(f"it has more than {MOST_MEMBERS:,} members")


def _members(packed: Reading) -> Iterator[Member]:
    head = packed.read(len(_ZIP))
    packed.seek(0)
    if head == _GZIP:
        return _of_tar(packed)
    if head == _ZIP:
        return _zip_members(packed)
    raise Unusable("it is neither a tar.gz nor a zip archive")


# A tar, packed by gzip

_BLOCK = 512
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
_TAR_NATURES = {b"0": Nature.FILE, b"\0": Nature.FILE, b"7": Nature.FILE, b"5": Nature.FOLDER}
_TAR_NATURES |= {b"1": Nature.LINK, b"2": Nature.LINK}
_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL = b"L", b"K", b"x", b"g"
_DAMAGED = "it is no tar archive, or is damaged"


def _of_tar(packed: Reading) -> Iterator[Member]:
    read = partial(_unpacked, gzip.GzipFile(fileobj=packed, mode="rb"))
    yield from _tar_members(read)
    # The tar ends before the gzip, whose checksum stands last.
    left = MOST_AFTER_END
    while piece := read(_PIECE):
        left -= len(piece)
        if left < 0:
            raise Unusable(f"more than {MOST_AFTER_END >> 20} MiB follow the end of its tar")


def _unpacked(file: gzip.GzipFile, size: int) -> bytes:
    try:
        return file.read(size)
    except EOFError:
        raise Unusable(_CUT_SHORT) from None
    except (gzip.BadGzipFile, zlib.error):
        raise Unusable("it is no gzip file, or is damaged") from None


def _tar_members(read: Callable[[int], bytes]) -> Iterator[Member]:
    """Yield the members of a tar archive, which is read from its beginning to its end in little memory.

    Not Python's tarfile: it reads an extended header as a whole, however large that says it is, remembers
    every member, and takes three times as long to import as this. Known are the forms that are in use: ustar,
    GNU's long names and numbers, pax. What else there is, is told as something that is no file.

    Each is to be read before the next one comes. `read` gives up to so many bytes. Raises Unusable.
    """
    source = _Source(read)
    given: dict[str, str] = {}
    extended = told = 0
    while (header := source.exactly(_BLOCK)) != _END:
        _check_header(header)
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
        name = given.get("path") or _tar_name(header)
        nature = _TAR_NATURES.get(kind, Nature.OTHER)
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


def _check_header(header: bytes) -> None:
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


def _tar_name(header: bytes) -> str:
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


# A zip

_LARGEST_READ = 8 << 20
"""Of its directory, which zipfile reads as a whole."""
_MEMBER = b"PK\x01\x02"
"""What each member's entry in the directory begins with."""
_UNIX = 3
_ENCRYPTED = 0x1
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZIP_NATURES = {
    0: Nature.FILE,
    stat.S_IFREG: Nature.FILE,
    stat.S_IFDIR: Nature.FOLDER,
    stat.S_IFLNK: Nature.LINK,
}


def _zip_members(packed: Reading) -> Iterator[Member]:
    """Yield the members of a zip archive, by Python's own zipfile within bounds. Raises Unusable."""
    file = _Seekable(packed)
    with _judging():
        # In place of a code page of 1981, which the exe does not carry: what a name is that is no UTF-8
        # nobody knows for sure.
        archive = zipfile.ZipFile(file, metadata_encoding="utf-8")
    file.is_opening = False
    with archive:
        for info in archive.infolist():
            yield Member(info.orig_filename, _nature(info), info.file_size, _Content(archive, info))


def _nature(info: zipfile.ZipInfo) -> Nature:
    if info.orig_filename.endswith(("/", "\\")):
        return Nature.FOLDER
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    return _ZIP_NATURES.get(stat.S_IFMT(mode), Nature.OTHER)


class _Content:
    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        self._archive = archive
        self._info = info

    def __call__(self) -> Iterator[bytes]:
        if self._info.flag_bits & _ENCRYPTED:
            raise Unusable("it is encrypted")
        if self._info.compress_type not in _KNOWN:
            raise Unusable("it is packed in a way that is not known here; use deflate")
        with _judging(), self._archive.open(self._info) as member:
            while piece := member.read(_PIECE):
                yield piece


@contextmanager
def _judging() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, NotImplementedError):
        raise Unusable("it is no zip archive, or is damaged") from None


class _Seekable(io.RawIOBase):
    """As zipfile asks of a file."""

    def __init__(self, packed: Reading) -> None:
        self._packed = packed
        self._place = 0
        self.is_opening = True
        """Until zipfile has read the directory, of which it makes an object for each member at once."""

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._packed.size}[whence]
        if start + offset < 0:
            raise ValueError("before the beginning")
        self._place = start + offset
        return self._place

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._packed.size - self._place)
        size = left if size < 0 else min(size, left)
        if size > _LARGEST_READ:
            raise zipfile.BadZipFile("its directory is too large")
        self._packed.seek(self._place)
        got = bytearray()
        while len(got) < size and (piece := self._packed.read(size - len(got))):
            got += piece
        self._place += len(got)
        if self.is_opening and got.count(_MEMBER) > MOST_MEMBERS:
            raise _too_many()
        return bytes(got)


# Names

_LONGEST_NAME = 2_000
"""Of all its folders and itself: longer ones no Windows path below a folder has room for in practice."""
_MOST_SHOWN = 5


class Choice:
    """Which members of one archive are wanted, and under what name, as they come.

    An archive was made by somebody else, perhaps on another system: what Windows would take for something
    else than it says is refused, not mended.
    """

    def __init__(self, unpacking: Unpacking) -> None:
        self._strip = unpacking.strip
        self._members = {_plain(member): name for member, name in unpacking.members.items()}
        self._missing = dict.fromkeys(self._members)
        self._seen: list[str] = []
        self._files: set[Key] = set()
        self._folders: set[Key] = set()

    def name(self, member: str) -> str | None:
        """Below the target, with backslashes; None for what is not wanted. Raises Unusable."""
        plain = _plain(member)
        self._note(plain)
        if not self._members:
            elements = plain.split("/")[self._strip :]
        elif plain in self._missing:
            del self._missing[plain]
            elements = _plain(self._members[plain]).split("/")
        elif plain in self._members:
            raise Unusable(f"{told(member)} is in it twice")
        else:
            return None
        if not any(elements):
            return None
        _check_name(member, elements)
        self._take(member, elements)
        return "\\".join(elements)

    def check_complete(self) -> None:
        """Raises Unusable where something is missing."""
        if self._missing:
            there = ", ".join(map(told, self._seen)) or "nothing"
            raise Unusable(f"there is no {told(next(iter(self._missing)))} in it; it has {there}")
        if not self._files:
            raise Unusable("nothing of it is wanted: it is empty, or strip leaves nothing of any name")

    def _note(self, member: str) -> None:
        if len(self._seen) < _MOST_SHOWN:
            self._seen.append(member)
        elif len(self._seen) == _MOST_SHOWN:
            self._seen.append("...")

    def _take(self, member: str, elements: list[str]) -> None:
        file = Key("", "\\".join(elements))
        folders = {Key("", "\\".join(elements[:count])) for count in range(1, len(elements))}
        if file in self._files:
            raise Unusable(f"{told(member)} is in it twice: to Windows capitals make no difference")
        if file in self._folders or not folders.isdisjoint(self._files):
            raise Unusable(f"{told(member)} is in it as a file and as a folder")
        self._files.add(file)
        self._folders |= folders


def told(member: str) -> str:
    """What a stranger wrote, fit for a console."""
    member = redacted(member)
    plain = "".join(letter if letter.isprintable() else "?" for letter in member[:100])
    return f"{plain}..." if len(member) > len(plain) else plain


def _plain(member: str) -> str:
    """With slashes: some programs for Windows write backslashes into a zip."""
    elements = member.replace("\\", "/").split("/")
    while len(elements) > 1 and elements[0] == ".":
        del elements[0]
    return "/".join(elements)


def _check_name(member: str, elements: list[str]) -> None:
    if elements[0] == "" or elements[0].endswith(":"):
        raise Unusable(f"{told(member)} in it is a whole path, which is to lead below the folder it goes to")
    if sum(len(element) + 1 for element in elements) > _LONGEST_NAME:
        raise Unusable(f"{told(member)} in it is longer than {_LONGEST_NAME} characters")
    for element in elements:
        if fault := name_fault(element) if element else "is empty":
            raise Unusable(f"{told(member)} in it cannot be unpacked: {told(element)!r} {fault}")
