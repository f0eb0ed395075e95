"""What a reset takes that wmcb did not put there: a node's own data, and what somebody has changed since."""

from __future__ import annotations

from contextlib import suppress
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli.wording import many
from agent.engine.planning import differences
from agent.host.errors import HostError
from agent.host.port import FileKind
from agent.records import frozen
from agent.resources.trees import inside
from agent.spec import Directory, Key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent.engine.planning import Change, Difference, Plan
    from agent.host.port import Host

_MOST = 10_000
"""Files that are counted in a folder: a pod's volumes can hold any number."""
_NAMED = 5


@frozen
class Data:
    """What a node's programs have put into one of its folders."""

    folder: PureWindowsPath
    names: Sequence[str]
    """Of what lies directly in it."""
    files: int
    is_all: bool
    """Whether that many was the end of it."""

    def __str__(self) -> str:
        number = many(self.files, "file") if self.is_all else f"over {self.files} files"
        more = len(self.names) - _NAMED
        named = ", ".join(self.names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{self.folder} with the node's own data in it: {number} ({named})"


@frozen
class Losses:
    data: Sequence[Data]
    changed: Sequence[tuple[Change, Sequence[Difference]]]
    """What goes, and is not as wmcb made it."""
    staying: Sequence[Key] = ()
    """Folders that are to go, and cannot: others have put something into them."""

    def lines(self) -> Iterator[str]:
        """For a person, before anything goes."""
        yield from (f"goes: {each}" for each in self.data)
        for change, different in self.changed:
            fields = ", ".join(each.field for each in different)
            yield f"goes: {change.target.key}, which somebody has changed since ({fields})"


def losses(host: Host, plan: Plan) -> Losses:
    """Of the plan of a reset."""
    going = [change for change in plan.changes if change.target.want is None and change.found is not None]
    if not going:
        return Losses((), ())
    known = {change.target.key for change in plan.changes} | {match.target.key for match in plan.unchanged}
    data = [
        each
        for change in going
        if change.before is None and change.target.manner.get("belongs_to_node")
        for each in _data(host, PureWindowsPath(change.target.key.name), known)
    ]
    changed = [(change, found) for change in going if (found := _changed(change))]
    return Losses(data, changed, _staying(host, going, known))


def _staying(host: Host, going: Sequence[Change], known: Collection[Key]) -> Sequence[Key]:
    """What is in a folder goes before it does."""
    staying: list[Key] = []
    for change in going:
        key = change.target.key
        is_made = change.before is None and not change.target.manner.get("belongs_to_node")
        if key.kind == Directory.kind and is_made:
            folder = PureWindowsPath(key.name)
            names = []
            with suppress(HostError):
                names = [folder / name for name in host.files.list(folder)]
            if any(not _is_known(path, known) or Key(Directory.kind, str(path)) in staying for path in names):
                staying.append(key)
    return staying


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
        yield Data(folder, names, files, is_all)


def _is_known(path: PureWindowsPath, known: Collection[Key]) -> bool:
    return any(Key(kind, str(path)) in known for kind in ("directory", "file"))


def _with_all_in_it(host: Host, path: PureWindowsPath) -> Iterator[tuple[PureWindowsPath, FileKind]]:
    there = host.files.observe(path)
    if there is None:
        return
    yield path, there.kind
    if there.kind is FileKind.DIRECTORY:
        yield from inside(host.files, path)
