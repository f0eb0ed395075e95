"""What all wanted resources have in common."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PureWindowsPath
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Key:
    """What a resource is known by. Windows' names have no case, so two that differ only in it are one."""

    kind: str
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self._folded() == other._folded()

    def __hash__(self) -> int:
        return hash(self._folded())

    def __str__(self) -> str:
        return f"{self.kind.replace('_', ' ')} {self.shown}"

    @property
    def shown(self) -> str:
        """The name for a person, who knows a value of the registry by no other sign than its path."""
        if self.kind != "registry_value":
            return self.name
        path, _, value = self.name.partition("\\\\")
        return f"{path}\\{value or '(Default)'}"

    def _folded(self) -> tuple[str, str]:
        return self.kind, _without_case(self.name)


@lru_cache(maxsize=1 << 14)  # each is asked for a dozen times
def _without_case(name: str) -> str:
    """As NTFS compares: letter by letter, so that `ß` and `ss` are two names."""
    upper = name.upper()
    if len(upper) == len(name):
        return upper
    return "".join(letter if len(letter.upper()) > 1 else letter.upper() for letter in name)


class Protection(enum.Enum):
    """Who may do what with a file or a folder. The descriptors themselves are the host's."""

    PRIVATE = "private"
    """SYSTEM and administrators only."""
    PROGRAM = "program"
    """Users may read and run it, never write."""
    PODS = "pods"
    """A folder of volumes: users may read them and add to them, since what runs in a container is a user."""


class Want:
    """A resource as it is wanted. Each kind is a frozen dataclass of its own.

    A kind has one module here, which says what can be wanted, and one of the same name in agent.resources,
    which makes it so.
    """

    __slots__ = ()

    kind: ClassVar[str]
    """The module's name."""

    @property
    def key(self) -> Key:
        raise NotImplementedError

    @property
    def file(self) -> PureWindowsPath | None:
        """The file that it is, or is in: there have to be the folders on the way to it."""
        return None

    @property
    def uses(self) -> tuple[Key, ...]:
        """What has to be as wanted before this can be; a program that runs is restarted when it changes."""
        return ()

    @property
    def on_the_way(self) -> tuple[Want, ...]:
        """What has to be there for it, and nobody says: the keys that a value of the registry lies in."""
        return ()

    @property
    def remark(self) -> str:
        """What somebody should know who reads a plan, whatever the machine is like; empty for most."""
        return ""

    def beside(self, others: Iterable[Want]) -> Want:  # noqa: ARG002 - to most it makes no difference
        """As it is wanted where these are wanted too."""
        return self


class NamedWant(Want):
    """A resource that is known by its name."""

    __slots__ = ()

    name: str

    @property
    def key(self) -> Key:
        return Key(self.kind, self.name)
