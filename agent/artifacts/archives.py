"""An archive unpacked: what is wanted of it, within bounds, each member handed on as it comes."""

import gzip
import zlib
from collections.abc import Iterator
from functools import partial

from agent.artifacts import tar, zipped
from agent.artifacts.failure import Unusable, too_many
from agent.artifacts.member import Member, Nature
from agent.artifacts.names import Choice, told
from agent.host.files import Reading
from agent.spec import Unpacking

MOST_MEMBERS = 20_000
MOST_BYTES = 4 << 30
"""Of all that is in it, wanted or not: what unpacks to more was made to fill a disk."""
MOST_AFTER_END = 64 << 20
"""What fills up a tar after its end is some kilobytes, a tape's record at most."""

_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_PIECE = 1 << 18


def wanted(packed: Reading, unpacking: Unpacking) -> Iterator[tuple[str, Iterator[bytes]]]:
    """By its name below the target each file's content, to be read before the next one. Raises Unusable."""
    choice = Choice(unpacking)
    size = 0
    for count, member in enumerate(_members(packed), 1):
        size += member.size
        if count > MOST_MEMBERS:
            raise too_many(MOST_MEMBERS)
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


def _of_tar(packed: Reading) -> Iterator[Member]:
    read = partial(_unpacked, gzip.GzipFile(fileobj=packed, mode="rb"))
    yield from tar.members(read)
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
        raise Unusable("it is cut short") from None
    except (gzip.BadGzipFile, zlib.error):
        raise Unusable("it is no gzip file, or is damaged") from None


def _of_that_size(member: Member) -> Iterator[bytes]:
    left = member.size
    for piece in member.content():
        left -= len(piece)
        if left < 0:
            break
        yield piece
    if left:
        raise Unusable(f"{told(member.name)} in it is not as large as it says")


def _members(packed: Reading) -> Iterator[Member]:
    head = packed.read(len(_ZIP))
    packed.seek(0)
    if head == _GZIP:
        return _of_tar(packed)
    if head == _ZIP:
        return zipped.members(packed, MOST_MEMBERS)
    raise Unusable("it is neither a tar.gz nor a zip archive")
