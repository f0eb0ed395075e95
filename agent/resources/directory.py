"""A folder, and what of its content others could change, or read where that is not for them."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import PureWindowsPath

from agent.host.errors import HostError, NotEmpty, NotFound
from agent.host.files import FileKind
from agent.host.port import Host, Principal
from agent.host.protection import SIDS, granted_to_others
from agent.host.sddl import FILE_EXECUTE, FILE_READ, SecurityDescriptor
from agent.resources import descriptors, trees
from agent.resources.kind import Kept, Kind, State, Value, mapping_in
from agent.spec import Directory, File, Key, Protection, Want

_MOST_EXPOSED = 20_000
"""Each stands in the journal. Of what nobody else can change there may be any number."""
_PATIENCE_SECONDS = 10.0
"""containerd closes a container's log only some time after the container has ended."""
_LOOKS = {Protection.PROGRAM: "exposed", Protection.PRIVATE: "open"}
"""What below a folder is open to others: its own descriptor hands nothing down to what is there already."""
_TO_CHANGE = ~(FILE_READ | FILE_EXECUTE)
_TELLS_CONTENT = 0x21
"""FILE_READ_DATA, and FILE_EXECUTE, with which a file can be mapped. Of private folders the names are no
secret: the kubelet itself lets users list some of those that it makes."""
_APART = "apart"
_OPEN = "open_to_users"
"""Of a shared folder that others could change its descriptor, else nothing. Whoever may rename C:\\etc can
put one of his own in its place, with all that the kubelet reads."""


class DirectoryResource(Kind[Directory]):
    firm = frozenset({"type"})

    def wanted(self, want: Directory) -> State:
        wanted: dict[str, Value] = {"type": FileKind.DIRECTORY.value}
        if want.shared:
            wanted[_OPEN] = ""
        else:
            wanted["descriptor"] = str(descriptors.OF_DIRECTORY[want.protection])
            if want.protection in _LOOKS:
                wanted[_LOOKS[want.protection]] = {}
            if want.apart:
                wanted[_APART] = list(want.apart)
        return wanted

    def manner(self, want: Directory) -> State:
        said = {"belongs_to_node": want.belongs_to_node, "shared": want.shared}
        return {name: True for name, is_so in said.items() if is_so}

    def is_content(self, manner: State) -> bool:
        return bool(manner.get("shared"))

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        path = PureWindowsPath(name)
        there = host.files.examine(path)
        if there is None:
            return None
        kind = there.state.kind
        if kind is not FileKind.DIRECTORY:
            return {"type": kind.value}
        found: dict[str, Value] = {"type": kind.value, "descriptor": descriptors.text(there.descriptor)}
        if _OPEN in wanted:
            is_open = _is_open(host, path, there.descriptor)
            found[_OPEN] = found["descriptor"] if is_open else ""
        if _APART in wanted:
            found[_APART] = wanted[_APART]  # nothing that could be otherwise
        for protection, field in _LOOKS.items():
            if field in wanted:
                # What others may not do with a file below.
                forbidden = _TO_CHANGE | _TELLS_CONTENT if protection is Protection.PRIVATE else _TO_CHANGE
                if (
                    there.descriptor
                    and not granted_to_others(there.descriptor, host.access.caller()) & forbidden
                ):
                    # All is born closed in one that is closed: what can be read there was opened on purpose.
                    forbidden = _TO_CHANGE
                exposed = _exposed(host, path, forbidden, _names(wanted.get(_APART)))
                found[field] = dict(islice(exposed, _MOST_EXPOSED + 1))
        return found

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        return descriptors.same(wanted, found) if field == "descriptor" else wanted == found

    def shown(self, field: str, value: Value, manner: State) -> str:
        if field == _OPEN:
            return str(value) or "nobody"
        if field == _APART and isinstance(value, list):
            return ", ".join(map(str, value))
        if field in _LOOKS.values():
            names = list(mapping_in(value))
            return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "") or "nothing"
        return super().shown(field, value, manner)

    def obstacle(self, want: Directory, found: State | None) -> str | None:
        if found is not None and found["type"] != FileKind.DIRECTORY.value:
            return f"{want.path} is a {found['type']}, where a folder is to be; move it away"
        if found is not None and any(
            len(mapping_in(found.get(look))) > _MOST_EXPOSED for look in _LOOKS.values()
        ):
            return f"{want.path} holds over {_MOST_EXPOSED} files that are open to users; give another folder"
        return None

    def apply(self, host: Host, want: Directory, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it has no content
        descriptor = descriptors.OF_DIRECTORY[want.protection]
        if found is None:
            host.files.make_directory(want.path, descriptor)
            return
        # Of a shared folder the folder alone: this hands nothing down to what is in it, which is others'.
        host.files.set_descriptor(want.path, descriptor)
        if not want.shared and want.protection in _LOOKS:
            for name, former in mapping_in(found.get(_LOOKS[want.protection])).items():
                _protect(host, want.path / name, _to_be(want.protection, former))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:
        path = PureWindowsPath(name)
        there = host.files.observe(path)
        if there is not None and there.kind is not FileKind.DIRECTORY:
            return f"{path} is a {there.kind.value} now, and stays"
        if before is None:
            return None if there is None else _take_away(host, path, manner, kept)
        if before["type"] != FileKind.DIRECTORY.value:
            return None  # nothing was done to it
        if there is None:
            _bring_back(host, path, before, kept)
        elif not manner.get("shared") or before.get(_OPEN) or _is_ours(host.files.descriptor(path)):
            host.files.set_descriptor(path, descriptors.parsed(before["descriptor"]))
        _expose_again(host, path, before)
        return None


def _is_ours(descriptor: SecurityDescriptor) -> bool:
    """A folder that is shared now may have been given one when it was not."""
    return any(descriptor.equivalent(ours) for ours in descriptors.OF_DIRECTORY.values())


def _is_open(host: Host, folder: PureWindowsPath, descriptor: SecurityDescriptor | None) -> bool:
    return (
        descriptor is not None
        and bool(granted_to_others(descriptor, host.access.caller()) & _TO_CHANGE)
        and not is_open_on_purpose(host, folder)
    )


def is_open_on_purpose(host: Host, folder: PureWindowsPath) -> bool:
    """Windows' own folders are as Windows, and every program written for it, needs them.

    Users make folders in C:\\ and in ProgramData, but none can rename these, or what is another's in them; in
    C:\\Windows\\Temp they make files, and below C:\\Users each of them owns a folder, which is his to rule.
    """
    facts = host.facts
    if folder.parent == folder or folder in (facts.program_files(), facts.program_data()):
        return True
    whole = (facts.system_directory(), facts.profiles())
    return any(folder == place or place in folder.parents for place in whole)


def _names(value: Value) -> frozenset[str]:
    return frozenset(str(name).lower() for name in value) if isinstance(value, list) else frozenset()


def _exposed(
    host: Host, folder: PureWindowsPath, forbidden: int, apart: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """What is below a folder and open to plain users, with its descriptor.

    Whoever may write a program, or a library beside one, or a manifest, runs as SYSTEM by way of the service.
    Whoever may read a key is the node. A closed folder above keeps nobody out: everybody may pass through.
    """
    caller = host.access.caller()
    granted = lru_cache(maxsize=256)(granted_to_others)  # hundreds of files have the same few
    for name, kind, descriptor in _looked_at(host, folder, apart):
        if granted(descriptor, caller) & (forbidden if kind is FileKind.FILE else _TO_CHANGE):
            yield name, descriptors.text(descriptor)


def _looked_at(
    host: Host, folder: PureWindowsPath, apart: frozenset[str]
) -> Iterator[tuple[str, FileKind, SecurityDescriptor]]:
    """By its name from the folder.

    No links: a target has its own protection, and the link's folder says who may change the link.
    """
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with suppress(NotFound):  # somebody removes it just now
            for entry in host.files.entries(folder / below):
                name = f"{below}{entry.name}"
                if entry.descriptor is None or name.lower() in apart:
                    continue
                yield name, entry.kind, entry.descriptor
                if entry.kind is FileKind.DIRECTORY:
                    waiting.append(f"{name}\\")


def _to_be(protection: Protection, former: Value) -> Protection:
    """Among programs, too, nobody comes to read what was one person's or one service's."""
    is_read = descriptors.parsed(former).granted(SIDS[Principal.USER]) & _TELLS_CONTENT
    return protection if is_read else Protection.PRIVATE


def _protect(host: Host, path: PureWindowsPath, protection: Protection) -> None:
    there = host.files.observe(path)
    if there is None or there.kind is FileKind.LINK:
        return
    kinds = descriptors.OF_FILE if there.kind is FileKind.FILE else descriptors.OF_DIRECTORY
    host.files.set_descriptor(path, kinds[protection])


def _expose_again(host: Host, folder: PureWindowsPath, before: State) -> None:
    """What was open to users is again, and what has been opened since is not."""
    for protection, field in _LOOKS.items():
        if field not in before:
            continue
        former = mapping_in(before[field])
        for name, opened in list(_exposed(host, folder, _TO_CHANGE, _names(before.get(_APART)))):
            if name not in former:
                _protect(host, folder / name, _to_be(protection, opened))
        for name, descriptor in former.items():
            with suppress(NotFound):
                host.files.set_descriptor(folder / name, descriptors.parsed(descriptor))


def _take_away(host: Host, folder: PureWindowsPath, manner: State, kept: Kept) -> str | None:
    try:
        if manner.get("belongs_to_node") and trees.are_on_one_drive(folder, kept.aside(folder)):
            # In one move, so that it can come back whole if the run fails after all.
            host.files.move(folder, kept.aside(folder), patience=_PATIENCE_SECONDS)
        else:
            host.files.remove_directory(folder)
    except NotFound:
        return None
    except NotEmpty:
        return f"{folder} {trees.of_others(_names_in(host, folder))}, and stays"
    return None


def _names_in(host: Host, folder: PureWindowsPath) -> Sequence[str]:
    try:
        return host.files.list(folder)
    except HostError:
        return ()


def _bring_back(host: Host, folder: PureWindowsPath, before: State, kept: Kept) -> None:
    try:
        host.files.move(kept.aside(folder), folder)
    except NotFound:
        host.files.make_directory(folder, descriptors.parsed(before["descriptor"]))


# Files below a folder that is closed to others: the strictest rights count, whichever part asked for which.
# The folder closes what it finds open, and the file's own rights would open it again: each would be drift to
# the other for ever.


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
    protection = next((each for each, field in _LOOKS.items() if field in wanted), None)
    if key.kind != Directory.kind or protection is None:
        return None
    path, apart = PureWindowsPath(key.name), wanted.get(_APART)
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
