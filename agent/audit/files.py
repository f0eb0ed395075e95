"""Section 4.1: who may do what with the files that a kubelet goes by.

Linux' mode 600 is on Windows: nobody but the system and administrators may do anything. A program may be read
and run by everybody, but who could change it would be the system.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PureWindowsPath

from agent.audit.finding import Judged, Result
from agent.audit.running import Running
from agent.host.errors import HostError, NotFound
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.protection import FILE_EXCHANGE, granted_to_others, is_trusted
from agent.host.sddl import FILE_EXECUTE, FILE_READ
from agent.resources import directory
from agent.spec import Directory, File, Protection, Want

_FILE_ADD_FILE = 0x2
_PROTECTED = "nobody but the system and administrators may {what}"


def programs(running: Running) -> Judged:
    """What stands for the unit file of systemd: the service's command line and all that it runs."""
    faults: list[str] = []
    wants: list[Want] = []
    if _has_open_path(running.installed.image_path):
        faults.append("its command line has blanks in the program's path and no quotes around it")
    host = running.host
    folders = _folders(running.programs, host)
    for path in (*_with_libraries(running.programs, folders, host), *folders):
        try:
            if is_open(host, path, beyond=_harmless(path)):
                faults.append(f"{path} can be changed by others")
                wants += (
                    _closing(host, path) if path in folders else [_closed(host, path, Protection.PROGRAM)]
                )
        except HostError as fault:
            faults.append(str(fault))  # the others are put right all the same
    return _judged(faults, wants, "what the service runs can be changed by administrators alone", "change it")


def _has_open_path(command_line: str) -> bool:
    """Windows tries each blank as the end of the path: C:\\Program.exe is run, if there is one."""
    program = command_line.lower().partition(".exe")[0]
    return " " in program and not command_line.startswith('"')


def ownership_of_programs(running: Running) -> Judged:
    return ownership(running.host, running.programs, Protection.PROGRAM)


def private(host: Host, files: Iterable[PureWindowsPath]) -> Judged:
    there = [path for path in files if host.files.observe(path) is not None]
    faults: list[str] = []
    wants: list[Want] = []
    for path in there:
        try:
            if is_open(host, path, beyond=_not_private(host, path)):
                faults.append(f"{path} is open to others")
                wants.append(_closed(host, path, Protection.PRIVATE))
        except HostError as fault:
            faults.append(str(fault))
    return _judged(faults, wants, _names(there, "is closed to others"), "read or change it")


def _not_private(host: Host, path: PureWindowsPath) -> int:
    """The names in a folder are no secret."""
    state = host.files.observe(path)
    return FILE_READ | FILE_EXECUTE if state is not None and state.kind is FileKind.DIRECTORY else 0


def ownership(
    host: Host, files: Iterable[PureWindowsPath], protection: Protection = Protection.PRIVATE
) -> Judged:
    there = [path for path in files if host.files.observe(path) is not None]
    others = [path for path in there if not is_trusted(host.files.descriptor(path).owner)]
    return _judged(
        [f"{path} belongs to a single account" for path in others],
        [_closed(host, path, protection) for path in others],
        _names(there, "belongs to the system or to administrators"),
        "own it",
    )


def is_open(host: Host, path: PureWindowsPath, beyond: int = 0) -> bool:
    """To anybody who is no administrator, for more than this. Who runs the audit is one of them."""
    try:
        return bool(granted_to_others(host.files.descriptor(path), caller="") & ~beyond)
    except NotFound:
        return False  # that is told elsewhere


def _folders(programs: Sequence[PureWindowsPath], host: Host) -> Sequence[PureWindowsPath]:
    """Whoever may put files into a program's folder may put a library there, or exchange the program."""
    windows = host.facts.system_directory()
    there = (path for path in programs if host.files.observe(path) is not None)
    return list(dict.fromkeys(path.parent for path in there if windows not in path.parents))


def _with_libraries(
    programs: Sequence[PureWindowsPath], folders: Sequence[PureWindowsPath], host: Host
) -> Iterator[PureWindowsPath]:
    """A program takes the libraries of its own folder before any of Windows'."""
    yield from programs
    for folder in folders:
        libraries = (folder / name for name in host.files.list(folder) if name.lower().endswith(".dll"))
        for path in libraries:
            state = host.files.observe(path)
            if state is not None and state.kind is FileKind.FILE:
                yield path


def _harmless(path: PureWindowsPath) -> int:
    """What others may do. In C:\\ users make folders, and can exchange no file for that."""
    return ~(FILE_EXCHANGE | _FILE_ADD_FILE) if path.parent == path else FILE_READ | FILE_EXECUTE


def _closing(host: Host, folder: PureWindowsPath) -> Iterator[Want]:
    """The folder alone, for what is in it may be others'."""
    if not directory.is_open_on_purpose(host, folder):
        yield Directory(folder, Protection.PROGRAM, shared=True)


def _closed(host: Host, path: PureWindowsPath, protection: Protection) -> Want:
    state = host.files.observe(path)
    if state is not None and state.kind is FileKind.DIRECTORY:
        return Directory(path, protection, shared=True)
    return File(path, None, protection)


def _judged(faults: list[str], wants: list[Want], good: str, what: str) -> Judged:
    if not faults:
        return Result.PASS, good, "", ()
    return Result.FAIL, "; ".join(faults), f"see to it that {_PROTECTED.format(what=what)}", tuple(wants)


def _names(paths: Sequence[PureWindowsPath], told: str) -> str:
    return f"{', '.join(map(str, paths))} {told}" if paths else "there is no such file"
