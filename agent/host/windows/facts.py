"""What the machine is."""

import sys

assert sys.platform == "win32"

from collections.abc import Sequence
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import NotFound, Unsupported
from agent.host.names import check_pipe
from agent.host.port import DiskSpace, ListeningPort, NetworkAddress, Registry, WindowsVersion
from agent.host.windows.api import machine
from agent.host.windows.failure import Win32Error, failed, telling

_CURRENT_VERSION = "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
_FOLDERS = "SOFTWARE\\Microsoft\\Windows\\CurrentVersion"
_PROFILES = f"{_CURRENT_VERSION}\\ProfileList"
_ARCHITECTURES = {0x8664: "amd64", 0xAA64: "arm64"}
_WORKSTATION = 1
_MILLISECONDS = 1
"""The least that a pipe is waited for: 0 is whatever its owner chose."""
_PIPE_IS_BUSY = {winerror.ERROR_SEM_TIMEOUT, winerror.ERROR_PIPE_BUSY}
"""Every instance of it has a client."""
_CONTAINERS = "SELECT InstallState FROM Win32_OptionalFeature WHERE Name = 'Containers'"
_INSTALL_STATES = {1: True, 2: False, 3: False}
"""Enabled, disabled, absent. One that is not known cannot be told."""
_NOT_A_FOLDER = {winerror.ERROR_FILE_NOT_FOUND, winerror.ERROR_PATH_NOT_FOUND, winerror.ERROR_DIRECTORY}


class WindowsFacts:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def windows_version(self) -> WindowsVersion:
        with telling("ask for", "the version of Windows"):
            # As the exe's manifest says: without one it would be told of Windows 8.
            found = sys.getwindowsversion()
        revision = self._registry.read(_CURRENT_VERSION, "UBR")
        return WindowsVersion(
            major=found.major,
            minor=found.minor,
            build=found.build,
            revision=revision.data if revision and isinstance(revision.data, int) else 0,
            product=self._text(_CURRENT_VERSION, "ProductName") or "Windows",
            edition=self._text(_CURRENT_VERSION, "EditionID") or "",
            server=found.product_type != _WORKSTATION,
        )

    def architecture(self) -> str:
        with telling("ask for", "the processor's architecture"):
            found = machine.native_machine()
        try:
            return _ARCHITECTURES[found]
        except KeyError:
            raise Unsupported(
                "tell", f"processor architecture {found:#x}", winerror.ERROR_NOT_SUPPORTED
            ) from None

    def memory(self) -> int:
        import psutil  # noqa: PLC0415 - psutil, 2.7 MB of the resident service

        with telling("ask for", "the memory's size"):
            return psutil.virtual_memory().total

    def disk(self, path: PureWindowsPath) -> DiskSpace:
        import win32api  # noqa: PLC0415 - loads shell32.dll, 1.2 MB of the resident service

        with telling("ask for the space on the disk of", str(path)):
            for folder in (path, *path.parents):
                try:
                    available, total, _ = win32api.GetDiskFreeSpaceEx(str(folder))
                except Win32Error as failure:
                    # It isn't there yet, or is a file.
                    if failure.winerror not in _NOT_A_FOLDER:
                        raise
                else:
                    return DiskSpace(total=total, free=available)
            raise failed(winerror.ERROR_FILE_NOT_FOUND, "GetDiskFreeSpaceExW")

    def addresses(self) -> Sequence[NetworkAddress]:
        from agent.host.windows.api.network import addresses  # noqa: PLC0415 - loads iphlpapi.dll

        with telling("list", "network addresses"):
            return [found for _, found in addresses()]

    def listening_ports(self) -> Sequence[ListeningPort]:
        import psutil  # noqa: PLC0415 - psutil, 2.7 MB of the resident service

        with telling("list", "listening ports"):
            return [
                ListeningPort(found.laddr.ip, found.laddr.port, found.pid or 0)
                for found in psutil.net_connections("tcp")
                if found.laddr and found.status == psutil.CONN_LISTEN
            ]

    def pipe_exists(self, name: str) -> bool:
        import win32pipe  # noqa: PLC0415 - win32pipe, for the preflight check alone

        check_pipe(name)
        with telling("look for", f"pipe {name}"):
            try:
                # Its owner doesn't notice.
                win32pipe.WaitNamedPipe(f"\\\\.\\pipe\\{name}", _MILLISECONDS)
            except Win32Error as failure:
                if failure.winerror == winerror.ERROR_FILE_NOT_FOUND:
                    return False
                if failure.winerror not in _PIPE_IS_BUSY:
                    raise
        return True

    def host_name(self) -> str:
        import socket  # noqa: PLC0415 - socket, 0.8 MB of the resident service

        with telling("ask for", "the machine's name"):
            return socket.gethostname()  # by GetComputerNameEx: the physical DNS host name

    def containers_feature(self) -> bool | None:
        """By WMI: that needs no administrator, as DISM does."""
        from agent.host.windows.api.com import ask, management  # noqa: PLC0415 - traceback, 0.3 MB

        def read() -> list[int]:
            return [feature.InstallState for feature in management("root\\cimv2").query(_CONTAINERS)]

        try:
            states = ask(read)
        except Win32Error:
            return None
        return _INSTALL_STATES.get(states[0]) if states else None

    def system_directory(self) -> PureWindowsPath:
        with telling("ask for", "the Windows folder"):
            return PureWindowsPath(machine.windows_directory())

    def program_files(self) -> PureWindowsPath:
        return self._folder(_FOLDERS, "ProgramFilesDir")

    def program_data(self) -> PureWindowsPath:
        return self._folder(_PROFILES, "ProgramData")

    def profiles(self) -> PureWindowsPath:
        return self._folder(_PROFILES, "ProfilesDirectory")

    def _folder(self, key: str, name: str) -> PureWindowsPath:
        """Out of the registry: SHGetKnownFolderPath looks there too, but brings all of shell32 along."""
        found = self._text(key, name)
        if not found:
            raise NotFound("ask for", f"the folder {name}", winerror.ERROR_FILE_NOT_FOUND)
        # Not by this process' variables, which whoever started it chose.
        drive = self.system_directory().drive
        return PureWindowsPath(found.replace("%SystemDrive%", drive))

    def _text(self, key: str, name: str) -> str | None:
        value = self._registry.read(key, name)
        return value.data if value and isinstance(value.data, str) else None
