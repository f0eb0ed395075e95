"""The contract's world on Windows and on Wine: this machine, and others who do things on it."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import _winapi
import secrets
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath

import win32evtlog
import win32service

from agent.host.port import EventLevel, Principal
from agent.host.protection import PRIVATE_DIRECTORY
from agent.host.sddl import SecurityDescriptor
from agent.host.services import Control
from agent.host.windows.machine import open_windows
from contract.world import Sharing, runs_under_wine
from lab.waiting import until

REPOSITORY = Path(__file__).parents[2]

_GENERIC_READ = 0x8000_0000
_SHARE_READ = 1
_FOLDERS_TOO = 0x0200_0000  # FILE_FLAG_BACKUP_SEMANTICS
_SHARES = {Sharing.NOTHING: 0, Sharing.READING: _SHARE_READ}


@contextmanager
def open_world(_tmp_path: Path) -> Iterator[WindowsWorld]:
    world = WindowsWorld()
    world.host.files.make_directory(world.folder, PRIVATE_DIRECTORY)
    try:
        yield world
    finally:
        _remove(world.folder)


class WindowsWorld:
    def __init__(self) -> None:
        self.host = open_windows()
        self.under_wine = runs_under_wine()
        # Right below C:, where no link of the machine's own is on the way.
        self.folder = PureWindowsPath(f"C:\\wmcb-contract-{secrets.token_hex(4)}")

    def granted(self, descriptor: SecurityDescriptor, principal: Principal) -> int:
        if self.under_wine:  # which does not have Authz
            from contract.wine_access import granted  # noqa: PLC0415 - it binds what Wine alone has
        else:
            from contract.windows_access import granted  # noqa: PLC0415 - it binds what Wine does not have
        return granted(descriptor, principal)

    def outside(self, path: PureWindowsPath) -> Path:
        return Path(path)

    @contextmanager
    def hold_open(self, path: PureWindowsPath, sharing: Sharing) -> Iterator[None]:
        handle = _winapi.CreateFile(
            str(path), _GENERIC_READ, _SHARES[sharing], 0, _winapi.OPEN_EXISTING, _FOLDERS_TOO, 0
        )
        try:
            yield
        finally:
            _winapi.CloseHandle(handle)

    def leave_lock(self, name: str) -> None:
        self.plant_file(self.host.facts.system_directory() / f"wmcb-{name}.lock")

    @contextmanager
    def run_from(self, path: PureWindowsPath) -> Iterator[int]:
        shutil.copyfile(self.host.facts.system_directory() / "system32" / "cmd.exe", path)
        # Waits for words on a pipe that brings none.
        program = subprocess.Popen(
            [str(path), "/q"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield program.pid
        finally:
            program.kill()
            program.communicate()

    def plant_file(self, path: PureWindowsPath, content: bytes = b"", *, read_only: bool = False) -> None:
        Path(path).write_bytes(content)
        if read_only:
            Path(path).chmod(stat.S_IREAD)

    def plant_folder(self, path: PureWindowsPath, *, read_only: bool = False) -> None:
        Path(path).mkdir()
        if read_only:
            Path(path).chmod(stat.S_IREAD)

    def plant_link(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        Path(path).symlink_to(target, target_is_directory=Path(target).is_dir())

    @contextmanager
    def serve_pipe(self, name: str) -> Iterator[None]:
        once = 1
        handle = _winapi.CreateNamedPipe(
            f"\\\\.\\pipe\\{name}", _winapi.PIPE_ACCESS_DUPLEX, 0, once, 512, 512, 0, _winapi.NULL
        )
        try:
            yield
        finally:
            _winapi.CloseHandle(handle)

    @contextmanager
    def connect_to_pipe(self, name: str) -> Iterator[None]:
        handle = _winapi.CreateFile(f"\\\\.\\pipe\\{name}", _GENERIC_READ, 0, 0, _winapi.OPEN_EXISTING, 0, 0)
        try:
            yield
        finally:
            _winapi.CloseHandle(handle)

    def plant_junction(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        _winapi.CreateJunction(str(target), str(path))

    def events(self, source: str) -> Sequence[tuple[EventLevel, int, str]]:
        log = win32evtlog.OpenEventLog(None, "Application")
        try:
            how = win32evtlog.EVENTLOG_BACKWARDS_READ | win32evtlog.EVENTLOG_SEQUENTIAL_READ
            # The newest: they are what the case has just written.
            records = win32evtlog.ReadEventLog(log, how, 0)
        finally:
            win32evtlog.CloseEventLog(log)
        found = [record for record in reversed(records) if record.SourceName == source]
        return [
            (EventLevel(record.EventType), record.EventID & 0xFFFF, "".join(record.StringInserts or ()))
            for record in found
        ]

    def other_process(self, code: str) -> tuple[str, ...]:
        opening = (
            f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
            "from agent.host.windows.machine import open_windows\n"
            "host = open_windows()\n"
        )
        return (sys.executable, "-c", opening + code)

    def service_command(self, *behaviour: str) -> tuple[str, ...]:
        program = Path(__file__).with_name("service_program.py")
        return (sys.executable, str(program), *behaviour)

    def ask(self, service: str, control: Control) -> None:
        manager = win32service.OpenSCManager(None, None, win32service.SC_MANAGER_CONNECT)
        handle = win32service.OpenService(manager, service, win32service.SERVICE_ALL_ACCESS)
        try:
            win32service.ControlService(handle, control.value)
        finally:
            win32service.CloseServiceHandle(handle)
            win32service.CloseServiceHandle(manager)


def _remove(folder: PureWindowsPath) -> None:
    for file in Path(folder).rglob("*"):
        if not file.stat().st_mode & stat.S_IWRITE:
            file.chmod(stat.S_IWRITE)
    until(lambda: _is_gone(folder), f"{folder} is used no more")


def _is_gone(folder: PureWindowsPath) -> bool:
    """Who has just ended may have it as its current folder for a moment more."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        return False
    return True
