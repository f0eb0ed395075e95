"""The resident service put on a machine, and taken off again.

The exe that is shipped unpacks itself at each start. The service does not: the same program is laid out once
under Program Files, in a folder of its version, where users may run it and only administrators may write, and
starts as one process.

PyInstaller's loader opens the program's file again at each import, so what runs from a folder is never
written to: another release gets a folder of its own. The old one is removed then if nothing runs from it,
else at the next installation.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

from agent.engine.inventory import Inventory
from agent.engine.machine_lock import Busy
from agent.engine.run import at_rest
from agent.engine.state_folder import StateFolder
from agent.host.errors import AccessDenied, AlreadyExists, InUse, NotFound, ServiceAlreadyRunning
from agent.host.files import FileKind, Files
from agent.host.port import Host, RegistryKind
from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.registry_contents import MESSAGE_FILE, source_key
from agent.host.replacing import is_leftover
from agent.host.services import Recovery, RecoveryAction, ServiceDefinition, ServiceState, SidType
from agent.release import RELEASE
from agent.resources.environment import PATH
from agent.resources.kind import CannotBeSo
from agent.resources.service import ask_to_stop
from agent.resources.trees import inside, remove_tree
from agent.spec import Key
from agent.spec.machine import PathEntry
from service.program import RESUME_SERVICE, SERVICE, STOP_SECONDS
from service.program_folder import INTERNAL, KUBEADM, PROGRAM, home, place

_RUN = ("daemon", "run")

_RESTART_AFTER_MILLISECONDS = (1_000, 5_000, 30_000)
_HEALTHY_AFTER_SECONDS = 3600


def definition(program: PureWindowsPath, arguments: Sequence[str] = ()) -> ServiceDefinition:
    return ServiceDefinition(
        name=SERVICE,
        command=(str(program), *_RUN, *arguments),
        display_name="wmcb node agent",
        description="Keeps this machine a Kubernetes worker node, as its cluster wants it.",
        recovery=Recovery(
            actions=tuple((RecoveryAction.RESTART, pause) for pause in _RESTART_AFTER_MILLISECONDS),
            reset_seconds=_HEALTHY_AFTER_SECONDS,
            on_error_exit=True,
        ),
        preshutdown_milliseconds=int(2 * STOP_SECONDS * 1000),
        sid_type=SidType.UNRESTRICTED,
    )


@dataclass(frozen=True, slots=True)
class Installed:
    place: PureWindowsPath
    """The folder that the program is laid out in."""
    unsupported: Sequence[str]
    """What this Windows would not keep of the registration."""
    is_another: bool
    """Whether anything of the program is another than before."""


def program(host: Host) -> PureWindowsPath:
    """Return the program that the service starts, or without it would start."""
    there = host.services.read(SERVICE)
    return place(host) / PROGRAM if there is None else PureWindowsPath(there.definition.command[0])


def arguments(host: Host) -> Sequence[str]:
    """What the service is told at its start: which ConfigMap to follow."""
    there = host.services.read(SERVICE)
    return () if there is None else there.definition.command[1 + len(_RUN) :]


def install(
    host: Host, program: PureWindowsPath, arguments: Sequence[str] = (), *, as_kubeadm: bool = False
) -> Installed:
    """Lays out what lies around the running `program`, and registers the service to start with Windows, told
    these `arguments`.

    Done again, it brings all up to date, with `as_kubeadm` or without: once there, a kubeadm.exe stays.
    """
    target, is_another = lay_out(host, program, as_kubeadm=as_kubeadm)
    registered = _texts_of_events(host)
    if registered is None or home(host) in registered.parents or host.files.observe(registered) is None:
        # Else a node has its own, which stays when this goes.
        host.events.register(SERVICE, target / PROGRAM)
    wanted = definition(target / PROGRAM, arguments)
    there = host.services.read(SERVICE)
    is_another = is_another or there is None or there.definition.command[0] != wanted.command[0]
    unsupported = host.services.create(wanted) if there is None else host.services.change(wanted)
    return Installed(target, unsupported, is_another)


def lay_out(
    host: Host, program: PureWindowsPath, *, as_kubeadm: bool = False
) -> tuple[PureWindowsPath, bool]:
    """The same without the service: for people, and for a machine that is no node yet.

    Return the folder, and whether anything of the program is another than before.
    """
    as_kubeadm = as_kubeadm or any(
        host.files.observe(folder / KUBEADM) is not None for folder in installed(host)
    )
    is_installed = home(host) in program.parents
    target = folder_of(host, program)
    if not is_installed:
        ensure_folder(host.files, home(host))
    is_another = not is_installed and lay_out_at(host.files, program, target)
    if is_installed:
        _keep_at_reboot(host.files, target)
    if as_kubeadm:
        _put(host.files, target / PROGRAM, target / KUBEADM)
    return target, is_another


def have_it_run(host: Host, seconds: float) -> None:
    """Whether or not it does; waits until it does."""
    with suppress(ServiceAlreadyRunning):
        host.services.start(SERVICE)
    host.services.wait(SERVICE, ServiceState.RUNNING, seconds)


def restart(host: Host, seconds: float) -> None:
    """If it runs, so that it goes by what it is now, and by what it is told."""
    if host.services.status(SERVICE).state is ServiceState.RUNNING:
        ask_to_stop(host, SERVICE, seconds)
        host.services.start(SERVICE)


def _texts_of_events(host: Host) -> PureWindowsPath | None:
    """The program in which Event Viewer looks for them."""
    with suppress(NotFound):
        value = host.registry.read(source_key(SERVICE), MESSAGE_FILE)
        return None if value is None else PureWindowsPath(str(value.data))
    return None


def lay_out_at(files: Files, program: PureWindowsPath, target: PureWindowsPath) -> bool:
    """Copy a program, with the folder of what it loads, elsewhere; return whether anything changed there."""
    source, internal = program.parent / INTERNAL, target / INTERNAL
    tree = {path.relative_to(source): kind for path, kind in inside(files, source)}
    for folder in (target, internal):
        ensure_folder(files, folder)
    others = [each for each in inside(files, internal) if each[0].relative_to(internal) not in tree]
    written = []
    for path, kind in tree.items():
        if kind is FileKind.DIRECTORY:
            ensure_folder(files, internal / path)
        else:
            written.append(_put(files, source / path, internal / path))
    # The program last: what it loads is there when it can first be started.
    written.append(_put(files, program, target / PROGRAM))
    for path in _removed(files, others):
        files.remove_at_reboot(path)
    return any(written) or bool(others)


def ensure_folder(files: Files, folder: PureWindowsPath) -> None:
    try:
        files.make_directory(folder, PROGRAM_DIRECTORY)
    except AlreadyExists:
        files.set_descriptor(folder, PROGRAM_DIRECTORY)
    files.keep_at_reboot(folder)


def _keep_at_reboot(files: Files, target: PureWindowsPath) -> None:
    """Take back what an uninstallation by this very program left to Windows' next start."""
    for path in (target.parent, target, *(path for path, _ in inside(files, target))):
        if not is_leftover(path.name):
            files.keep_at_reboot(path)


def _put(files: Files, source: PureWindowsPath, target: PureWindowsPath) -> bool:
    """Whether it had to be written."""
    content = files.read(source)
    files.keep_at_reboot(target)  # it was to go, where it has been uninstalled since Windows started
    if files.observe(target) is not None and files.read(target) == content:
        files.set_descriptor(target, PROGRAM_FILE)  # and what runs from it need not be put aside
        return False
    aside = files.write(target, content, PROGRAM_FILE)
    if aside is not None:
        files.remove_at_reboot(aside)
    return True


def uninstall(host: Host, program: PureWindowsPath, seconds: float) -> Sequence[PureWindowsPath]:
    """Takes away what `install` put there; returns what only the next start of Windows can remove.

    That is all of it when the running `program` is what was installed.
    """
    if host.services.read(SERVICE) is not None:
        ask_to_stop(host, SERVICE, seconds)
        host.services.delete(SERVICE)
    target, registered = home(host), _texts_of_events(host)
    if registered is not None and target in registered.parents:
        host.events.unregister(SERVICE)
    left: list[PureWindowsPath] = []
    if host.files.observe(target) is not None:
        is_this = target in program.parents
        left = _removed(
            host.files, [(target, FileKind.DIRECTORY), *inside(host.files, target)], in_use=is_this
        )
    for path in left:
        host.files.remove_at_reboot(path)
    return left


def _removed(
    files: Files, paths: Sequence[tuple[PureWindowsPath, FileKind]], *, in_use: bool = False
) -> list[PureWindowsPath]:
    """Remove these, each folder before what is in it; return what is left, in the order to remove it."""
    left = []
    for path, kind in reversed(paths):
        if kind is not FileKind.DIRECTORY:
            if in_use or not _remove(files, path):
                left.append(path)
        elif files.list(path):
            left.append(path)
        else:
            files.remove_directory(path)
    return left


def _remove(files: Files, path: PureWindowsPath) -> bool:
    """False for what somebody has open."""
    try:
        files.remove(path)
    except (InUse, AccessDenied):
        return False
    return True


# The folders of all versions


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
    """Let the first entry of any version lead to the target, spelled as in its record; drop the others."""
    before, entries = _entries(host), list[str]()
    for entry in before:
        if PureWindowsPath(entry).parent != home(host):
            entries.append(entry)
        elif str(target) not in entries:
            entries.append(str(target))
    if entries != before:
        kind = host.environment.kind(PATH) or RegistryKind.EXPANDABLE
        host.environment.set(PATH, ";".join(entries), kind)


def _rename(inventory: Inventory, keys: Iterable[Key], key: Key) -> Inventory:
    records = {}
    for name, record in inventory.records.items():
        if name in keys:
            record = replace(record, target=replace(record.target, key=key))  # noqa: PLW2901
        records[record.target.key] = record
    return replace(inventory, records=records)


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
