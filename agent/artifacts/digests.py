"""What an artifact has to hash to: said in a document, or told by a file of checksums."""

import codecs
import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent.artifacts.failure import Unusable
from agent.artifacts.means import elements

_BY_LENGTH = {64: "sha256", 128: "sha512"}
_HEX = "[0-9A-Fa-f]{64}(?:[0-9A-Fa-f]{64})?"
_GNU = re.compile(rf"\\?({_HEX})(?:\s+\*?(.+))?")
_BSD = re.compile(rf"SHA(?:256|512)\s*\((.+)\)\s*=\s*({_HEX})")


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
