"""The resident service put on a machine, and taken off again.

The exe that is shipped unpacks itself at each start. The service does not: the same program is laid out once
under Program Files, in a folder of its version, where users may run it and only administrators may write, and
starts as one process.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.host.errors import AccessDenied, AlreadyExists, InUse, NotFound, ServiceAlreadyRunning
from agent.host.files import FileKind, Files
from agent.host.port import Host
from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.registry_contents import MESSAGE_FILE, source_key
from agent.host.replacing import is_leftover
from agent.host.services import Recovery, RecoveryAction, ServiceDefinition, ServiceState, SidType
from agent.resources.service import ask_to_stop
from agent.resources.trees import inside
from service.program import SERVICE, STOP_SECONDS
from service.program_folder import INTERNAL, KUBEADM, PROGRAM, home, place
from service.versions import folder_of, installed

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
