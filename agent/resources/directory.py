"""A folder, and what of its content others could change."""

from __future__ import annotations

from contextlib import suppress
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.host.errors import NotEmpty, NotFound
from agent.host.port import FileKind
from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE, granted_to_others
from agent.host.sddl import FILE_EXECUTE, FILE_READ
from agent.resources import descriptors
from agent.resources.kind import CannotBeSo, Kind
from agent.spec import Directory, Protection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.host.port import Host
    from agent.resources.kind import Kept, State, Value
    from agent.spec import Want

_MOST_ENTRIES = 20_000


class DirectoryResource(Kind):
    firm = frozenset({"type"})

    def wanted(self, want: Want) -> State:
        assert isinstance(want, Directory)
        wanted: dict[str, Value] = {"type": FileKind.DIRECTORY.value}
        if not want.shared:
            wanted["descriptor"] = str(descriptors.OF_DIRECTORY[want.protection])
            if want.protection is Protection.PROGRAM:
                wanted["exposed"] = {}
        return wanted

    def manner(self, want: Want) -> State:
        assert isinstance(want, Directory)
        said = {"belongs_to_node": want.belongs_to_node, "shared": want.shared}
        return {name: True for name, is_so in said.items() if is_so}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        path = PureWindowsPath(name)
        there = host.files.observe(path)
        if there is None:
            return None
        if there.kind is not FileKind.DIRECTORY:
            return {"type": there.kind.value}
        found: dict[str, Value] = {
            "type": there.kind.value,
            "descriptor": str(host.files.descriptor(path)),
        }
        if "exposed" in wanted:
            found["exposed"] = dict(_exposed(host, path))
        return found

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        return descriptors.same(wanted, found) if field == "descriptor" else wanted == found

    def shown(self, field: str, value: Value, manner: State) -> str:
        if field == "exposed":
            names = list(_mapping(value))
            return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "") or "nothing"
        return super().shown(field, value, manner)

    def obstacle(self, want: Want, found: State | None) -> str | None:
        assert isinstance(want, Directory)
        if found is not None and found["type"] != FileKind.DIRECTORY.value:
            return f"{want.path} is a {found['type']}, where a folder is to be; move it away"
        return None

    def apply(self, host: Host, want: Want, found: State | None) -> None:
        assert isinstance(want, Directory)
        descriptor = descriptors.OF_DIRECTORY[want.protection]
        if found is None:
            host.files.make_directory(want.path, descriptor)
            return
        host.files.set_descriptor(want.path, descriptor)
        for name in _mapping(found.get("exposed")):
            _protect(host, want.path / name)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        path = PureWindowsPath(name)
        there = host.files.observe(path)
        if there is None or there.kind is not FileKind.DIRECTORY:
            return None if before is None else f"{path} is gone, and is not made again"
        if before is None:
            return _take_away(host, path, with_content=bool(manner.get("belongs_to_node")))
        if manner.get("shared"):
            return None
        host.files.set_descriptor(path, descriptors.parsed(before["descriptor"]))
        for inside, descriptor in _mapping(before.get("exposed")).items():
            with suppress(NotFound):
                host.files.set_descriptor(path / inside, descriptors.parsed(descriptor))
        return None


def _mapping(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, dict) else {}


def _exposed(host: Host, folder: PureWindowsPath) -> Iterator[tuple[str, str]]:
    """What is in a folder of programs and plain users could change, with its descriptor.

    Whoever may write one of them, or put a library beside a program, runs as SYSTEM by way of the service.
    """
    count = 0
    caller = host.access.caller()
    for path, kind in _inside(host, folder):
        count += 1
        if count > _MOST_ENTRIES:
            raise CannotBeSo(f"{folder} holds over {_MOST_ENTRIES} files: give a folder for programs alone")
        if kind is FileKind.LINK:
            continue  # its target has its own protection, and the folder says who may change the link
        descriptor = host.files.descriptor(path)
        if granted_to_others(descriptor, caller) & ~(FILE_READ | FILE_EXECUTE):
            yield str(path.relative_to(folder)), str(descriptor)


def _protect(host: Host, path: PureWindowsPath) -> None:
    there = host.files.observe(path)
    if there is None or there.kind is FileKind.LINK:
        return
    host.files.set_descriptor(path, PROGRAM_FILE if there.kind is FileKind.FILE else PROGRAM_DIRECTORY)


def _inside(host: Host, folder: PureWindowsPath) -> Iterator[tuple[PureWindowsPath, FileKind]]:
    """All below a folder, each after the folder that it is in. Links are told, not followed."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        for name in host.files.list(here):
            state = host.files.observe(here / name)
            if state is None:
                continue
            yield here / name, state.kind
            if state.kind is FileKind.DIRECTORY:
                waiting.append(here / name)


def _take_away(host: Host, folder: PureWindowsPath, *, with_content: bool) -> str | None:
    try:
        if with_content:
            for path, kind in reversed(list(_inside(host, folder))):
                if kind is FileKind.DIRECTORY:
                    host.files.remove_directory(path)
                else:
                    host.files.remove(path)
        host.files.remove_directory(folder)
    except NotFound:
        return None
    except NotEmpty:
        return f"{folder} holds something that is not wmcb's, and stays"
    return None


KIND = DirectoryResource()
