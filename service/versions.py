"""The folders below Program Files\\wmcb: one for each release that is installed or still runs.

PyInstaller's loader opens the program's file again at each import, so what runs from a folder is never
written to: another release gets a folder of its own. The old one is removed then if nothing runs from it,
else at the next installation.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.engine.inventory import Inventory
from agent.engine.machine_lock import Busy
from agent.engine.run import at_rest
from agent.engine.state_folder import StateFolder
from agent.host.errors import AccessDenied, InUse, NotFound
from agent.host.port import FileKind, Host, RegistryKind
from agent.release import RELEASE
from agent.resources.kind import CannotBeSo
from agent.resources.path_entry import PATH
from agent.resources.trees import remove_tree
from agent.spec import Key
from agent.spec.machine import PathEntry
from service.program import RESUME_SERVICE, SERVICE
from service.program_folder import KUBEADM, PROGRAM, home, place


def installed(host: Host) -> Sequence[PureWindowsPath]:
    """Return the folders of all versions that lie there."""
    files, folder = host.files, home(host)
    if files.observe(folder) is None:
        return []
    found = [(folder / name, files.observe(folder / name)) for name in files.list(folder)]
    return [path for path, state in found if state is not None and state.kind is FileKind.DIRECTORY]


def folder_of(host: Host, program: PureWindowsPath) -> PureWindowsPath:
    """Return the folder that a running program is laid out in: its own, where it is an installed one."""
    if home(host) in program.parents:
        return program.parent
    return folder_of_content(host, host.files.read(program))


def folder_of_content(host: Host, content: bytes) -> PureWindowsPath:
    """Return the folder that a program is in or gets: this release's, unless another build of it is there."""
    of_release = place(host)
    of_build = of_release.with_name(f"{RELEASE}-{hashlib.sha256(content).hexdigest()[:8]}")
    for folder in (of_build, of_release):
        if host.files.observe(folder / PROGRAM) is not None and host.files.read(folder / PROGRAM) == content:
            return folder
    return of_release if host.files.observe(of_release / PROGRAM) is None else of_build


def _is_stopped(host: Host, folder: PureWindowsPath) -> bool:
    """Remove a version's programs, which Windows refuses while they run; return whether it let them go."""
    for name in (PROGRAM, KUBEADM):
        try:
            host.files.remove(folder / name)
        except NotFound:
            continue
        except (InUse, AccessDenied):
            return False
    return True


def switch_path(host: Host, target: PureWindowsPath, notice: Callable[[str], None]) -> None:
    """Put a version into the machine's Path where another has an entry, and into wmcb's record of it.

    Both are changed or neither: the resident service would put back into Path what the record alone has.
    """
    try:
        if not _leads_elsewhere(host, target):
            return
        with at_rest(host, notice) as is_at_rest:
            if is_at_rest:
                _switch_record(host, target)
                _switch_entries(host, target)
                return
        why = "a run was cut off on this machine"
    except (Busy, CannotBeSo) as fault:
        why = str(fault)
    notice(f"{PATH} still leads to another version than {target}: {why}; the next daemon install switches it")


def _leads_elsewhere(host: Host, target: PureWindowsPath) -> bool:
    """Return whether Path, or the record of it, names another version. Raises CannotBeSo."""
    return any(_is_other(host, target, name) for name in _entries(host)) or bool(
        _other_keys(host, target, Inventory.load(StateFolder.of(host)))
    )


def _is_other(host: Host, target: PureWindowsPath, entry: str) -> bool:
    """Return whether this is another version's folder, also of one that is not there any more."""
    folder = PureWindowsPath(entry)
    return folder.parent == home(host) and folder != target


def _entries(host: Host) -> Sequence[str]:
    return (host.environment.get(PATH) or "").split(";")


def _other_keys(host: Host, target: PureWindowsPath, inventory: Inventory) -> AbstractSet[Key]:
    keys = inventory.records.keys()
    return {key for key in keys if key.kind == PathEntry.kind and _is_other(host, target, key.name)}


def _switch_record(host: Host, target: PureWindowsPath) -> None:
    folder = StateFolder.of(host)
    inventory = Inventory.load(folder)
    keys = _other_keys(host, target, inventory)
    if keys:
        _rename(inventory, keys, PathEntry(target).key).save(folder)


def _switch_entries(host: Host, target: PureWindowsPath) -> None:
    before = _entries(host)
    entries = [str(target) if _is_other(host, target, entry) else entry for entry in before]
    if entries != before:
        kind = host.environment.kind(PATH) or RegistryKind.EXPANDABLE
        host.environment.set(PATH, ";".join(_without_repetition(entries, str(target))), kind)


def _rename(inventory: Inventory, keys: Iterable[Key], key: Key) -> Inventory:
    records = {}
    for name, record in inventory.records.items():
        if name in keys:
            record = replace(record, target=replace(record.target, key=key))  # noqa: PLW2901
        records[record.target.key] = record
    return replace(inventory, records=records)


def _without_repetition(entries: Iterable[str], target: str) -> list[str]:
    kept: list[str] = []
    for entry in entries:
        if entry != target or target not in kept:
            kept.append(entry)
    return kept


def remove_others(host: Host, kept: PureWindowsPath) -> None:
    """Remove the versions that nothing runs from, except `kept` and those that a service or Path leads to."""
    folders = {kept, *map(PureWindowsPath, _entries(host))}
    for name in (SERVICE, RESUME_SERVICE):
        there = host.services.read(name)
        if there is not None and there.definition.command:
            folders.add(PureWindowsPath(there.definition.command[0]).parent)
    for folder in installed(host):
        if folder not in folders and _is_stopped(host, folder):
            with suppress(InUse, AccessDenied, NotFound):
                remove_tree(host.files, folder)
