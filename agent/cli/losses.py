"""What a reset takes that wmcb did not put there: a node's own data, and what somebody has changed since."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli.streams import many
from agent.engine.planning import Action, Change, Difference, Plan, differences
from agent.host.errors import HostError
from agent.host.files import FileKind
from agent.host.port import Host
from agent.resources.kind import field_in_words
from agent.resources.trees import inside, of_others
from agent.resources.windows_settings import TAKEN_BACK
from agent.spec import Directory, File, Key

if TYPE_CHECKING:
    from agent.preflight.situation import Finding

_GOING = (Action.REMOVE, Action.GIVE_BACK)
_MOST = 10_000
"""Files that are counted in a folder: a pod's volumes can hold any number."""
_NAMED = 5
_FEATURE = "windows_feature"
_KNOWN_BY_PATH = (Directory.kind, File.kind, "containerd_configuration")
_TYPES = {File.kind: FileKind.FILE.value, Directory.kind: FileKind.DIRECTORY.value}


@dataclass(frozen=True, slots=True)
class Data:
    """What a node's programs have put into one of its folders."""

    folder: PureWindowsPath
    files: int
    is_all: bool
    """Whether that many was the end of it."""
    names: Sequence[str]
    """Of what lies directly in it."""

    def __str__(self) -> str:
        number = many(self.files, "file") if self.is_all else f"over {self.files} files"
        more = len(self.names) - _NAMED
        named = ", ".join(self.names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{self.folder} with the node's own data in it: {number} ({named})"


@dataclass(frozen=True, slots=True)
class Losses:
    data: Sequence[Data]
    changed: Sequence[tuple[Change, Sequence[Difference]]]
    """What goes, and is not as wmcb made it."""
    staying: Mapping[Key, str] = field(default_factory=dict)
    """What is to go and cannot, with the reason: others have put something into a folder, or in its place."""

    def lines(self) -> Iterator[str]:
        """For a person, before anything goes."""
        yield from (f"goes: {each}" for each in self.data)
        for change, different in self.changed:
            fields = ", ".join(field_in_words(each.field) for each in different)
            yield f"goes: {change.target.key}, which somebody has changed since ({fields})"
        yield from (f"stays: {key.name}, which {why}" for key, why in self.staying.items())


@dataclass(frozen=True, slots=True)
class Outlook:
    losses: Losses
    remarks: Sequence[str]
    """Of the losses, too, a line each."""
    interrupted: int | None
    """After how many steps the last run was cut off."""
    checks: Sequence[Finding]
    """Of preflight, those that a run would warn of or stop at."""


def losses(host: Host, plan: Plan) -> Losses:
    """Of the plan of a reset."""
    going = [change for change in plan.changes if change.action in _GOING and change.found is not None]
    if not going:
        return Losses((), ())
    known = {change.target.key for change in plan.changes} | {match.target.key for match in plan.unchanged}
    data = [
        each
        for change in going
        if change.before is None and change.target.manner.get("belongs_to_node")
        for each in _data(host, PureWindowsPath(change.target.key.name), known)
    ]
    staying = _staying(host, going, known)
    changed = [
        (change, found)
        for change in going
        if change.target.key not in staying and (found := _changed(change))
    ]
    return Losses(data, changed, staying)


def _staying(host: Host, going: Sequence[Change], known: Collection[Key]) -> Mapping[Key, str]:
    """What is in a folder goes before it does."""
    staying: dict[Key, str] = {}
    for change in going:
        key = change.target.key
        if instead := _in_its_place(change):
            staying[key] = f"is a {instead} now"
            continue
        if key.kind == _FEATURE and not _goes(change):
            staying[key] = f"is a feature of Windows; {host.called} reset --features switches it off"
        is_made = change.before is None and not change.target.manner.get("belongs_to_node")
        if key.kind == Directory.kind and is_made:
            folder = PureWindowsPath(key.name)
            names = []
            with suppress(HostError):
                names = [folder / name for name in host.files.list(folder)]
            others = [path.name for path in names if not _is_known(path, known) or _is_known(path, staying)]
            if others:
                staying[key] = of_others(others)
    return staying


def _goes(change: Change) -> bool:
    was_on = change.before is not None and change.before == change.target.wanted
    return was_on or bool(change.target.manner.get(TAKEN_BACK))


def _in_its_place(change: Change) -> str | None:
    """A link in the place of a file, say: nothing is taken away that was not made here."""
    made = _TYPES.get(change.target.key.kind)
    found = str((change.found or {}).get("type", made))
    return None if found == made or made is None else found


def _changed(change: Change) -> Sequence[Difference]:
    """Of what has to be as it was set; of the rest a machine may have made its own."""
    target = change.target
    if target.key.kind == Directory.kind:
        return ()
    return [
        each
        for each in differences(target, change.found, None)
        if each.field in target.kind.firm and each.field not in _OF_A_RUN
    ]


_OF_A_RUN = ("state", "well", "makes")
"""Of a service: whether it runs just now is no change that would be lost."""


def _data(host: Host, folder: PureWindowsPath, known: Collection[Key]) -> Iterator[Data]:
    """Nothing, where there is nothing that wmcb does not know of."""
    names, files, is_all = [], 0, True
    try:
        for name in host.files.list(folder):
            if _is_known(folder / name, known):
                continue
            names.append(name)
            for path, kind in _with_all_in_it(host, folder / name):
                is_all = files < _MOST
                if not is_all:
                    break
                files += kind is not FileKind.DIRECTORY and not _is_known(path, known)
    except HostError:
        is_all = False  # somebody removes it just now, or it cannot be looked into
    if names:
        yield Data(folder, files, is_all, names)


def _is_known(path: PureWindowsPath, known: Collection[Key]) -> bool:
    return any(Key(kind, str(path)) in known for kind in _KNOWN_BY_PATH)


def _with_all_in_it(host: Host, path: PureWindowsPath) -> Iterator[tuple[PureWindowsPath, FileKind]]:
    there = host.files.observe(path)
    if there is None:
        return
    yield path, there.kind
    if there.kind is FileKind.DIRECTORY:
        yield from inside(host.files, path)
