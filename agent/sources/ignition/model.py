"""A merged, checked Ignition configuration: the one form that all versions become.

What can matter on a Windows node is here as it is; of the rest just enough to tell that it is ignored.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.amounts import in_bytes
from agent.secret_fields import registers_secrets
from agent.sources.report import Origin

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


RESPONSE_TIMEOUT = 10
"""Seconds, where a configuration names no limit."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Inline:
    """Contents that came with the configuration."""

    packed: bytes = field(repr=False)
    packing: Packing = PLAIN

    def blocks(self, limit: int) -> Iterator[Bytes]:
        """The contents, unpacked and checked, piece by piece; raises contents.Unsound."""
        return self.packing.unpack(in_blocks(self.packed), limit)

    def read(self, limit: int) -> bytes:
        """The contents at once; those that travel plainly are not copied."""
        if self.packing.plain and len(self.packed) <= limit:
            return self.packed
        return b"".join(self.blocks(limit))


@dataclass(frozen=True, slots=True)
class Remote:
    """Contents that somebody must fetch, with the configuration's `network`."""

    url: str
    headers: tuple[tuple[str, str], ...]
    packing: Packing = PLAIN


Contents = Inline | Remote


@dataclass(frozen=True, slots=True)
class Owner:
    """By number or name, where it was said."""

    user: int | str | None = None
    group: int | str | None = None


@dataclass(frozen=True, slots=True)
class File:
    path: str
    origin: Origin
    contents: Contents | None
    """None: what is there stays, or the file is empty where there was none."""
    appended: tuple[Contents, ...]
    mode: int | None
    owner: Owner
    overwrite: bool | None


@dataclass(frozen=True, slots=True)
class Directory:
    path: str
    origin: Origin
    mode: int | None
    owner: Owner
    overwrite: bool | None


@dataclass(frozen=True, slots=True)
class Link:
    path: str
    origin: Origin
    target: str
    hard: bool


@registers_secrets
@dataclass(frozen=True, slots=True)
class Dropin:
    name: str
    origin: Origin
    contents: str = field(repr=False)


@registers_secrets
@dataclass(frozen=True, slots=True)
class Unit:
    """A systemd unit. One without contents belongs to the system; this says only what is added to it."""

    name: str
    origin: Origin
    contents: str = field(repr=False)
    dropins: Mapping[str, Dropin]
    """By name, those with contents."""
    enabled: bool | None
    masked: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """Something that has no meaning on Windows."""

    kind: str
    """For a person: disk, user, kernel argument ..."""
    name: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Network:
    """How Ignition fetches what a configuration refers to."""

    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: tuple[str, ...] = ()
    """Addresses, networks, domains; `*` for all."""
    response_timeout: int = RESPONSE_TIMEOUT
    """Seconds until the headers of a response are there; 0 for no limit."""
    total_timeout: int = 0
    """Seconds for a fetch with all its repetitions; 0 for no limit."""
    authorities: tuple[bytes, ...] = ()
    """PEM, in addition to those of the system."""


@dataclass(frozen=True, slots=True)
class Request:
    """Something to fetch by http or https. Its headers are for that host: a redirect goes without them."""

    url: str
    headers: tuple[tuple[str, str], ...]
    packing: Packing
    """What the answer will be unpacked by; the fetching itself leaves the answer as it is."""
    network: Network


class FetchFailed(Exception):
    """Nothing came. The text is for a person: what failed and what to do, without the URL."""


class FetchRefused(FetchFailed):
    """Nothing was asked for, since the URL itself is at fault."""


class Fetch(Protocol):
    """Whoever can reach the network. Retries, time-outs and redirects are its own business."""

    def __call__(self, request: Request) -> Iterable[bytes]:
        """The answer's body in blocks. Raises FetchFailed, also while the blocks are taken."""


@dataclass(frozen=True, slots=True)
class Configuration:
    documents: Mapping[str, str]
    """The name and version of what was read: first what was given, then what was fetched, in this order."""
    files: Mapping[str, File]
    directories: Mapping[str, Directory]
    links: Mapping[str, Link]
    units: Mapping[str, Unit]
    ignored: tuple[Ignored, ...]
    network: Network
