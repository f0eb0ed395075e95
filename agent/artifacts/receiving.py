"""One artifact on its way to a folder of ours: whole and proven, or begun."""

import codecs
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path, PureWindowsPath
from typing import Protocol

from agent.amounts import in_bytes
from agent.artifacts.means import Means, Unusable, elements, file_name, is_on_machine, is_url
from agent.fetch.address import Proxies, of_environment
from agent.fetch.failure import Failed
from agent.fetch.fetching import Begun, Changed, Fetcher, Limits, Request, TooLarge
from agent.host import winerror
from agent.host.errors import NoSpace, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.spec import Artifact

_LIMITS = Limits(answer=30.0, silence=60.0, total=6 * 3600.0)
_LIMITS_OF_CHECKSUMS = Limits(total=600.0, size=1 << 20)
_BLOCK = 1 << 18
_MOST_BEGINNINGS = 3
"""From the first byte, of what changes while it comes, or comes from a server that cannot go on."""
RESERVE = 256 << 20
"""Bytes that stay free, for Windows and the services that run meanwhile."""
_BETWEEN_LOOKS = 16 << 20
"""Bytes between two questions for free space."""
_MEBIBYTE = 1 << 20


class Progress(Protocol):
    """Told by the threads that fetch."""

    def came(self, name: str, received: int, size: int | None, /) -> None: ...
    def tried_again(self, name: str, why: str, /) -> None: ...


class Unseen:
    def came(self, name: str, received: int, size: int | None, /) -> None: ...
    def tried_again(self, name: str, why: str, /) -> None: ...


class Room:
    """Free space that all downloads into a folder share. Any thread may ask."""

    def __init__(self, host: Host, folder: PureWindowsPath) -> None:
        self._host = host
        self._drive = PureWindowsPath(folder.anchor)
        self._coming: dict[str, int] = {}
        """By name, how many bytes are still to come."""
        self._turn = threading.Lock()

    def require(self, name: str, size: int) -> None:
        """Note that so many bytes of `name` are still to be written.

        Raises NoSpace where the disk does not have them beside what others are still to write, and a reserve.
        """
        with self._turn:
            self._coming.pop(name, None)
            needed = sum(self._coming.values()) + size
            free = self._host.facts.disk(self._drive).free
            if free < needed + RESERVE:
                raise NoSpace(
                    "fetch",
                    name,
                    winerror.ERROR_DISK_FULL,
                    f"{self._drive.drive} has {free // _MEBIBYTE:,} MiB free, {-(-needed // _MEBIBYTE):,} MiB"
                    f" are to be written, and {RESERVE // _MEBIBYTE} MiB have to stay free: make room there",
                )
            self._coming[name] = size

    def release(self, name: str) -> None:
        """Nothing more of it comes."""
        with self._turn:
            self._coming.pop(name, None)


@dataclass(frozen=True, slots=True)
class Part:
    """Where it lies while it comes."""

    content: PureWindowsPath
    tag: PureWindowsPath
    """Of the server: by which the rest may be asked for."""


class Hashing:
    """Of what streams by: by SHA-256, by which contents are known here, and by what is asked for."""

    def __init__(self, digest: str) -> None:
        self._wanted = digest
        self._algorithm = digest.partition(":")[0]
        self._sha256 = hashlib.sha256()
        self._other = None if self._algorithm == "sha256" else hashlib.new(self._algorithm)

    def update(self, block: bytes) -> None:
        self._sha256.update(block)
        if self._other is not None:
            self._other.update(block)

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def check(self) -> None:
        """Raises Unusable."""
        found = (self._other or self._sha256).hexdigest()
        wanted = self._wanted.partition(":")[2]
        if found != wanted:
            raise Unusable(f"its {self._algorithm} is {found}, not the wanted {wanted}")


class Receiving:
    """Of one artifact."""

    def __init__(
        self, host: Host, means: Means, progress: Progress, artifact: Artifact, part: Part, room: Room
    ) -> None:
        self._host = host
        self._room = room
        self._means = means
        self._progress = progress
        self._artifact = artifact
        self._part = part
        self._fetcher = Fetcher(notice=lambda why: progress.tried_again(artifact.name, why))

    def digest(self) -> str:
        """Raises Unusable."""
        artifact = self._artifact
        if artifact.digest:
            return artifact.digest
        return told_by(as_text(self._checksums(artifact.checksums)), artifact.source)

    def receive(self, digest: str) -> str:
        """Its sha256, when all of it is there as it is to be. Raises Unusable, HostError."""
        for place in self._means.ready((digest.partition(":")[2], file_name(self._artifact.source))):
            try:
                if self._is_there(place):
                    return self._copied(digest, place)
            except Unusable as fault:
                self._tell(place, fault)
        place = self._means.place(self._artifact.source)
        return self._fetched(digest, place) if is_url(place) else self._copied(digest, place)

    def _copied(self, digest: str, place: str) -> str:
        self._forget()  # what a server had begun
        return self._whole(digest, lambda _: self._blocks_of(place))

    def _fetched(self, digest: str, url: str) -> str:
        request = Request(url, proxies=self._proxies())
        end = time.monotonic() + self._means.most
        for beginning in range(1, _MOST_BEGINNINGS + 1):
            is_resumed = self._begun().received > 0
            limits = replace(_LIMITS, size=self._artifact.size_limit)
            limits = self._within(limits, max(end - time.monotonic(), 0.0))
            fetch = partial(self._fetcher.blocks, request, limits)
            try:
                return self._whole(digest, fetch)
            except Changed as fault:
                self._forget()
                if beginning == _MOST_BEGINNINGS:
                    raise Unusable(self._in_vain(str(fault))) from fault
                self._progress.tried_again(self._artifact.name, f"{fault}; fetching it from the beginning")
            except TooLarge as fault:
                self._forget()
                raise self._too_large(str(fault)) from fault
            except Failed as fault:
                raise Unusable(self._in_vain(str(fault))) from fault
            except Unusable:
                if not is_resumed:
                    raise  # what was there before may have been of something else
        raise AssertionError("each is told how it went")

    def _too_large(self, fault: str) -> Unusable:
        """For a document's author, who alone can say how large it may be."""
        return Unusable(f"{fault}; if that is right, let its maxSize say more")

    def _within(self, limits: Limits, seconds: float) -> Limits:
        return replace(limits, patience=self._means.patience, total=min(limits.total, seconds))

    def _proxies(self) -> Proxies:
        """As the machine has them now: this process may have begun before it was given them."""
        return of_environment({**os.environ, **self._host.environment.list()})

    def _in_vain(self, why: str) -> str:
        return f"{why} (and it is not in {self._means.folder})" if self._means.folder else why

    def _whole(self, digest: str, blocks: Callable[[Begun], Generator[bytes, None, None]]) -> str:
        """Raises Unusable, and leaves nothing, for what is another than was wanted."""
        hashing, begun = Hashing(digest), self._begun()
        try:
            for block in self._there(begun):
                hashing.update(block)
            # A server that is refused sees its connection end now, and not when the failure is told.
            with closing(blocks(begun)) as coming:
                counted = self._counted(coming, begun, hashing)
                self._host.files.append(self._part.content, counted, PRIVATE_FILE)
            hashing.check()
        except (Unusable, NoSpace):
            # What fills a disk is in the way of all else.
            self._forget()
            raise
        except Failed:
            there = self._host.files.observe(self._part.content)
            if there is not None and not there.size:
                self._forget()  # not one byte came: there is nothing to go on from
            raise
        finally:
            self._room.release(self._artifact.name)
        with suppress(NotFound):
            self._host.files.remove(self._part.tag)
        return hashing.sha256

    def _counted(self, blocks: Iterator[bytes], begun: Begun, hashing: Hashing) -> Iterator[bytes]:
        told = begun.tag
        written = begun.received
        looked = -_BETWEEN_LOOKS
        for block in blocks:
            written += len(block)
            if written > self._artifact.size_limit:  # of a folder's or a share's, which no fetch has judged
                raise self._too_large(f"it is larger than {in_bytes(self._artifact.size_limit)}")
            if written - looked >= _BETWEEN_LOOKS:
                looked, whole = written, begun.size if begun.size is not None else written
                self._room.require(self._artifact.name, max(whole - written, 0) + len(block))
            if begun.tag != told:
                told = begun.tag
                document = json.dumps({"tag": told}).encode()
                self._host.files.write(self._part.tag, document, PRIVATE_FILE)
            hashing.update(block)
            self._progress.came(self._artifact.name, begun.received, begun.size)
            yield block

    def _begun(self) -> Begun:
        """By an earlier run, or an earlier attempt of this one."""
        there = self._host.files.observe(self._part.content)
        if there is None:
            return Begun()
        try:
            tag = str(json.loads(self._host.files.read(self._part.tag))["tag"])
        except (NotFound, ValueError, KeyError, TypeError):
            tag = ""
        if not tag or not there.size:
            self._forget()
            return Begun()
        return Begun(there.size, tag)

    def _there(self, begun: Begun) -> Iterator[bytes]:
        return iter(self._host.files.blocks(self._part.content)) if begun.received else iter(())

    def _forget(self) -> None:
        for path in (self._part.content, self._part.tag):
            with suppress(NotFound):
                self._host.files.remove(path)

    # From elsewhere than a server

    def _tell(self, ready: str, fault: Unusable) -> None:
        """Of what cannot be had from the folder, but perhaps from elsewhere."""
        why = str(fault)
        self._progress.tried_again(self._artifact.name, why if ready in why else f"{ready}: {why}")

    def _is_there(self, place: str) -> bool:
        """Raises Unusable, HostError."""
        if is_on_machine(place):
            return self._host.files.observe(PureWindowsPath(place)) is not None
        with _readable(place):
            return Path(place).is_file()

    def _blocks_of(self, place: str) -> Generator[bytes, None, None]:
        if is_on_machine(place):
            yield from self._host.files.blocks(PureWindowsPath(place))
        else:
            yield from _of_this_system(place)

    def _checksums(self, source: str) -> bytes:
        for ready in self._means.ready((file_name(source),)):
            try:
                if self._is_there(ready):
                    return b"".join(self._blocks_of(ready))
            except Unusable as fault:
                self._tell(ready, fault)
        place = self._means.place(source)
        if not is_url(place):
            if not self._is_there(place):
                raise Unusable(f"there is no {place}, which would have its checksums")
            return b"".join(self._blocks_of(place))
        if not place.lower().startswith("https:"):
            raise Unusable("its checksums have to come over https, or anybody on the way could change them")
        limits = self._within(_LIMITS_OF_CHECKSUMS, self._means.most)
        try:
            return self._fetcher.body(Request(place, proxies=self._proxies()), limits)
        except Failed as fault:
            raise Unusable(f"its checksums cannot be fetched: {fault}") from fault


def _of_this_system(place: str) -> Iterator[bytes]:
    """Of a share, say."""
    with _readable(place), Path(place).open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


@contextmanager
def _readable(place: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise Unusable(f"there is no {place}") from None
    except OSError as fault:
        code = getattr(fault, "winerror", None) or fault.errno
        raise Unusable(f"{place} cannot be read (error {code})") from None


# What a file of checksums says

_BY_LENGTH = {64: "sha256", 128: "sha512"}
_HEX = "[0-9A-Fa-f]{64}(?:[0-9A-Fa-f]{64})?"
_GNU = re.compile(rf"\\?({_HEX})(?:\s+\*?(.+))?")
_BSD = re.compile(rf"SHA(?:256|512)\s*\((.+)\)\s*=\s*({_HEX})")


def as_text(checksums: bytes) -> str:
    """As UTF-16 where it says so: it is what PowerShell 5.1 writes with a `>`."""
    is_wide = checksums.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return checksums.decode("utf-16" if is_wide else "utf-8", "replace")


def told_by(checksums: str, source: str) -> str:
    """The digest of the file from that source, out of what sha256sum, shasum, certutil and their like write,
    or alone.

    Raises Unusable.
    """
    wanted = elements(source)
    # PowerShell 5.1 begins what it writes in UTF-8 with the mark.
    lines = [line.strip() for line in checksums.removeprefix("\ufeff").splitlines() if line.strip()]
    entries = [entry for entry in map(_entry, lines) if entry]
    named = [(_likeness(elements(path), wanted), digest) for path, digest in entries]
    most = max((likeness for likeness, _ in named if likeness[0]), default=None)
    fitting = [digest for likeness, digest in named if likeness == most]
    # A file that holds one digest and no name stands beside the one that it is of.
    if not fitting and len(lines) == 1:
        fitting = [digest for path, digest in entries if not path]
    if not fitting:
        fitting = list(_below_a_name(lines, wanted[-1]))
    if not fitting:
        raise Unusable(f"its checksums do not name {wanted[-1]}")
    digest = fitting[0]
    if any(len(other) == len(digest) and other != digest for other in fitting):
        raise Unusable(f"its checksums name several files {wanted[-1]}, and not which of them it is")
    return f"{_BY_LENGTH[len(digest)]}:{digest}"


def _entry(line: str) -> tuple[str, str] | None:
    """A path, or nothing, and a digest."""
    if gnu := _GNU.fullmatch(line):
        return gnu[2] or "", gnu[1].lower()
    if bsd := _BSD.fullmatch(line):
        return bsd[1], bsd[2].lower()
    return None


def _below_a_name(lines: Sequence[str], name: str) -> Iterator[str]:
    """As `certutil -hashfile` has it: its line above the digest is in Windows' language, but for the name."""
    named = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    for above, line in pairwise(lines):
        entry = _entry(line)
        if entry and not entry[0] and above.endswith(":") and named.search(above):
            yield entry[1]


def _likeness(path: list[str], wanted: list[str]) -> tuple[int, bool]:
    """How many elements the ends of both have in common, and whether nothing else is in the path."""
    common = 0
    for mine, theirs in zip(reversed(path), reversed(wanted), strict=False):
        if mine != theirs:
            break
        common += 1
    return common, common == len(path)
