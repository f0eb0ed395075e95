"""Contents as they travel: maybe compressed, maybe with a hash to check against. Always streamed."""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.amounts import in_bytes

Bytes = bytes | memoryview

BLOCK = 1 << 20
"""The largest piece that unpacking yields."""
_GZIP = 16 + zlib.MAX_WBITS
_MOST_MEMBERS = 1000
"""Of one gzip stream; each copies what follows it."""


class Unsound(Exception):
    """The contents are not what they should be. The text says how, never what they are."""


class TooLarge(Unsound):
    """They are larger than the reader allows."""


@dataclass(frozen=True, slots=True)
class Hash:
    """What the contents must hash to once they are unpacked."""

    algorithm: str
    """sha512 or sha256"""
    digest: str
    """In hexadecimal digits, lower case."""

    def __str__(self) -> str:
        return f"{self.algorithm}-{self.digest}"


@dataclass(frozen=True, slots=True)
class Packing:
    """How the contents of a source travel."""

    compressed: bool = False
    wanted: Hash | None = None

    @property
    def plain(self) -> bool:
        """There is nothing to unpack and nothing to check."""
        return not self.compressed and self.wanted is None

    def unpack(self, blocks: Iterable[Bytes], limit: int) -> Iterator[Bytes]:
        """The contents block by block; raises Unsound, the wrong hash only at the end.

        No more than `limit` bytes come out, however far the data would expand: TooLarge is raised then.
        """
        expanded: Iterator[Bytes] = _expand(blocks) if self.compressed else iter(blocks)
        hasher = hashlib.new(self.wanted.algorithm) if self.wanted else None
        total = 0
        for block in expanded:
            total += len(block)
            if total > limit:
                raise TooLarge(f"it is larger than {in_bytes(limit)}" + " unpacked" * self.compressed)
            if hasher:
                hasher.update(block)
            yield block
        if self.wanted and hasher and hasher.hexdigest() != self.wanted.digest:
            raise Unsound(
                f"its {self.wanted.algorithm} is {hasher.hexdigest()}, not the wanted {self.wanted.digest}"
            )


PLAIN = Packing()


def in_blocks(data: bytes, size: int = 1 << 16) -> Iterator[memoryview]:
    """The data piece by piece, uncopied; in small pieces, because what zlib leaves over of one is copied."""
    whole = memoryview(data)
    for start in range(0, len(data), size):
        yield whole[start : start + size]


def _expand(blocks: Iterable[Bytes]) -> Iterator[bytes]:
    """Unpacks gzip of one member or several, each whole and with the right checksum."""
    # Not Python's gzip: it reads files, not blocks, and takes zeros behind the end, which Ignition refuses.
    member = zlib.decompressobj(_GZIP)
    whole = False
    members = 0
    try:
        for block in blocks:
            waiting: Bytes = block
            while len(waiting):
                piece = member.decompress(waiting, BLOCK)
                # What fits no block stays in zlib even when all the input is taken.
                while len(piece) == BLOCK and not member.unconsumed_tail and not member.eof:
                    yield piece
                    piece = member.decompress(b"", BLOCK)
                if piece:
                    yield piece
                waiting, whole = member.unconsumed_tail, member.eof
                if whole:
                    members += 1
                    if members > _MOST_MEMBERS:
                        raise Unsound(f"it is gzip of more than {_MOST_MEMBERS} parts")
                    waiting, member = member.unused_data, zlib.decompressobj(_GZIP)
    except zlib.error:
        raise Unsound("it is not gzip, or damaged") from None
    if not whole:
        raise Unsound("it is gzip that ends too early")
