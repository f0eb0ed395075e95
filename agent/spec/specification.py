"""The whole of what is wanted of a node, and what all resources in it have in common."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
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

    A kind has one class in agent.spec, which says what can be wanted, and one in agent.resources, which makes
    it so.
    """

    __slots__ = ()

    kind: ClassVar[str]
    """By which `agent.resources.kind_named` finds the class that makes it so."""

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


class Effect(enum.Enum):
    """What became of something that a document says."""

    CHANGED = "changed"
    DROPPED = "dropped"
    ADDED = "added"
    IGNORED = "ignored"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Note:
    """Told by `plan`: what of a document was not taken as it stands, and why. Never holds a secret."""

    effect: Effect
    subject: str
    """flag --cgroup-driver, file /etc/hostname, unit crio.service ..."""
    reason: str
    before: str = ""
    after: str = ""


class Inconsistent(ValueError):
    """Two resources of one name, or a circle. The text names them."""


@dataclass(frozen=True, slots=True)
class Specification:
    """Made by `of`, which sees to its order."""

    wants: tuple[Want, ...] = ()
    """Each after what it uses."""
    notes: tuple[Note, ...] = ()
    title: str = ""
    """For a person: where it comes from."""

    @classmethod
    def of(cls, wants: Iterable[Want], notes: Iterable[Note] = (), title: str = "") -> Specification:
        """Raises Inconsistent."""
        known = _by_key(wants)
        together = {key: want.beside(known.values()) for key, want in known.items()}
        return cls(_in_order(together), tuple(notes), title)

    def by_key(self) -> Mapping[Key, Want]:
        return {want.key: want for want in self.wants}


def _by_key(wants: Iterable[Want]) -> dict[Key, Want]:
    known: dict[Key, Want] = {}
    for want in wants:
        if want.key in known:
            raise Inconsistent(f"{want.key} is wanted twice")
        known[want.key] = want
    return known


def _in_order(known: Mapping[Key, Want]) -> tuple[Want, ...]:
    """Otherwise as given. Without recursion: a path can be thousands of folders deep."""
    done: dict[Key, Want] = {}
    for first in known.values():
        under_way: dict[Key, Iterator[Key]] = {}
        _enter(first, known, under_way)
        while under_way:
            key, unseen = next(reversed(under_way.items()))
            used = next((each for each in unseen if each not in done), None)
            if used is None:
                del under_way[key]
                done[key] = known[key]
            elif used in under_way:
                raise Inconsistent(f"{key} needs {used}, and that needs it in turn")
            else:
                _enter(known[used], known, under_way)
    return tuple(done.values())


def _enter(want: Want, known: Mapping[Key, Want], under_way: dict[Key, Iterator[Key]]) -> None:
    under_way[want.key] = (used for used in want.uses if used in known)
