"""Files below a folder that is closed to others: the strictest rights count, whichever part asked for which.

The folder closes what it finds open, and the file's own rights would open it again: each would be drift to
the other for ever.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

from agent.resources import descriptors
from agent.resources.directory import APART, LOOKS
from agent.resources.kind import State
from agent.spec import Directory, File, Key, Protection, Want


@dataclass(frozen=True, slots=True)
class ClosedFolder:
    path: PureWindowsPath
    protection: Protection
    apart: Sequence[PureWindowsPath]
    """What is below these is not the folder's to close."""

    def closes(self, above: AbstractSet[PureWindowsPath]) -> bool:
        """Return whether it closes what lies in all of these folders."""
        return self.path in above and above.isdisjoint(self.apart)


def closed_folder(key: Key, wanted: State) -> ClosedFolder | None:
    """Return the folder that this resource is, if it closes what is below it."""
    protection = next((each for each, field in LOOKS.items() if field in wanted), None)
    if key.kind != Directory.kind or protection is None:
        return None
    path, apart = PureWindowsPath(key.name), wanted.get(APART)
    below = [path / str(each) for each in apart] if isinstance(apart, list) else []
    return ClosedFolder(path, protection, below)


def confined(want: Want, folders: Sequence[ClosedFolder]) -> Want:
    """Return it as it is to be made below these folders."""
    if isinstance(want, File) and (above := _above(want.path, folders)):
        return replace(want, below=above)
    return want


def confined_state(key: Key, wanted: State, folders: Sequence[ClosedFolder]) -> State:
    """Return how what is only remembered is to be below these folders.

    Of a file that an interrupted run has begun nothing is remembered but how it was.
    """
    if key.kind != File.kind or not wanted or not (above := _above(PureWindowsPath(key.name), folders)):
        return wanted
    own = descriptors.parsed(wanted["descriptor"])
    return {**wanted, "descriptor": descriptors.text(descriptors.strictest(own, above))}


def _above(path: PureWindowsPath, folders: Sequence[ClosedFolder]) -> tuple[Protection, ...]:
    above = set(path.parents)  # of hundreds of files each is looked for in all folders
    return tuple(dict.fromkeys(each.protection for each in folders if each.closes(above)))
