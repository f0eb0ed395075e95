"""A zip archive, by Python's own zipfile within bounds."""

import io
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from agent.artifacts.failure import Unusable, too_many
from agent.artifacts.member import Member, Nature
from agent.host.files import Reading

_LARGEST_READ = 8 << 20
"""Of its directory, which zipfile reads as a whole."""
_MEMBER = b"PK\x01\x02"
"""What each member's entry in the directory begins with."""
_PIECE = 1 << 18
_UNIX = 3
_ENCRYPTED = 0x1
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NATURES = {0: Nature.FILE, stat.S_IFREG: Nature.FILE, stat.S_IFDIR: Nature.FOLDER, stat.S_IFLNK: Nature.LINK}


def members(packed: Reading, most: int) -> Iterator[Member]:
    """Raises Unusable, also for more members than `most`."""
    file = _Seekable(packed, most)
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
    return _NATURES.get(stat.S_IFMT(mode), Nature.OTHER)


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

    def __init__(self, packed: Reading, most: int) -> None:
        self._packed = packed
        self._most = most
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
        if self.is_opening and got.count(_MEMBER) > self._most:
            raise too_many(self._most)
        return bytes(got)
