"""What a file holds, known by its hash, so that it need not be held itself."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PureWindowsPath
from typing import Protocol

from agent.hashing import new_sha256
from agent.redaction import register_document
from agent.secret_fields import registers_secrets


class Content(Protocol):
    @property
    def sha256(self) -> str:
        """In hexadecimal, lower case."""

    @property
    def size(self) -> int: ...

    def blocks(self) -> Iterable[bytes]:
        """From the beginning, at each call."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Lying:
    """A content that lies on the machine, or will when it is needed: hashed there, and flushed."""

    sha256: str
    place: PureWindowsPath
    read: Callable[[PureWindowsPath], Iterable[bytes]] = field(compare=False, repr=False)
    size: int = 0
    is_to_go: bool = True
    """Nobody else needs it there: a file may have it by being that file."""

    def blocks(self) -> Iterable[bytes]:
        return self.read(self.place)


class Inline:
    """Content that came with a document. Not shown by `repr`: it may be a key."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        register_document(data)

    @cached_property
    def sha256(self) -> str:
        return new_sha256(self._data).hexdigest()

    @property
    def size(self) -> int:
        return len(self._data)

    def blocks(self) -> Iterable[bytes]:
        return (self._data,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inline) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self.sha256)
