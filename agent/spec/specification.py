"""The whole of what is wanted of a node."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent.spec.want import Key, Want


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
