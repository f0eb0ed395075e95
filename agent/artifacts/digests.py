"""What an artifact has to hash to: said in a document, or told by a file of checksums."""

from __future__ import annotations

import hashlib
import re

from agent.artifacts.failure import Unusable

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


def told_by(checksums: str, name: str) -> str:
    """The digest of the file of that name, out of what sha256sum, shasum and their like write, or alone.

    Raises Unusable.
    """
    found: dict[str, str] = {}
    lines = [line.strip() for line in checksums.splitlines() if line.strip()]
    for line in lines:
        if gnu := _GNU.fullmatch(line):
            found.setdefault(_last(gnu[2] or ""), gnu[1].lower())
        elif bsd := _BSD.fullmatch(line):
            found.setdefault(_last(bsd[1]), bsd[2].lower())
    # A file that holds one digest and no name stands beside the one that it is of.
    digest = found.get(name) or (found.get("") if len(lines) == 1 else None)
    if digest is None:
        raise Unusable(f"its checksums do not name {name}")
    return f"{_BY_LENGTH[len(digest)]}:{digest}"


def _last(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]
