"""What the sandbox's machine is: a plausible Windows Server, or what facts.json in its state says."""

import shutil
from collections.abc import Collection, Sequence
from pathlib import PureWindowsPath
from typing import Any

import psutil

from agent.host import winerror
from agent.host.errors import NotFound
from agent.host.names import check_pipe
from agent.host.port import DiskSpace, ListeningPort, NetworkAddress, WindowsVersion
from agent.host.sandbox.networks import DOCUMENT as NETWORKS
from agent.host.sandbox.networks import attached
from agent.host.sandbox.places import name_key
from agent.host.sandbox.programs import Programs
from agent.host.sandbox.state import Document, State

_DOCUMENT = "facts.json"

# Each may be given in facts.json under the same name; so may `disk`, `listening_ports` and `answers`, which
# has for each port the status that is answered there.
# fmt: off
_DEFAULTS: dict[str, Any] = {
    "windows_version": {
        "major": 10, "minor": 0, "build": 20348, "revision": 4294, "server": True,
        "product": "Windows Server 2022 Datacenter", "edition": "ServerDatacenter",
    },
    "architecture": "amd64",
    "memory": 16 << 30,
    "addresses": [
        {"interface": "Ethernet", "address": "192.0.2.10", "prefix_length": 24, "mac": "00:15:5d:00:02:0a"},
    ],
    "host_name": "winworker",
    "containers_feature": True,
    "administrator": True,
    "pipes": ["containerd-containerd"],
}
# fmt: on


class SandboxFacts:
    def __init__(self, state: State, programs: Programs) -> None:
        self._state = state
        self._programs = programs

    def windows_version(self) -> WindowsVersion:
        return WindowsVersion(**self._fact("windows_version"))

    def architecture(self) -> str:
        return str(self._fact("architecture"))

    def memory(self) -> int:
        return int(self._fact("memory"))

    def disk(self, path: PureWindowsPath) -> DiskSpace:
        if path.drive.upper() != "C:":
            raise NotFound("ask for the space on the disk of", str(path), winerror.ERROR_FILE_NOT_FOUND)
        if given := self._state.read(_DOCUMENT).get("disk"):
            return DiskSpace(**given)
        usage = shutil.disk_usage(self._state.directory)
        return DiskSpace(usage.total, usage.free)

    def addresses(self) -> Sequence[NetworkAddress]:
        """Those of the machine's endpoints in container networks among them."""
        endpoints = attached(self._state.read(NETWORKS))
        return [
            *(NetworkAddress(**address) for address in self._fact("addresses")),
            *(_of_endpoint(address, document) for address, document in endpoints.items()),
        ]

    def listening_ports(self) -> Sequence[ListeningPort]:
        """Without a word in facts.json, those of the programs that the sandbox has started."""
        given = self._state.read(_DOCUMENT).get("listening_ports")
        if given is not None:
            return [ListeningPort(**port) for port in given]
        return _listening_ports(self._programs.running())

    def pipe_exists(self, name: str) -> bool:
        check_pipe(name)
        return name_key(name) in map(name_key, self._fact("pipes"))

    def host_name(self) -> str:
        return str(self._fact("host_name"))

    def is_called(self, name: str) -> None:
        """From now on."""
        with self._state.changing(_DOCUMENT) as document:
            document["host_name"] = name

    def containers_feature(self) -> bool | None:
        installed: bool | None = self._fact("containers_feature")
        return installed

    def system_directory(self) -> PureWindowsPath:
        return PureWindowsPath(r"C:\Windows")

    def program_files(self) -> PureWindowsPath:
        return PureWindowsPath(r"C:\Program Files")

    def program_data(self) -> PureWindowsPath:
        return PureWindowsPath(r"C:\ProgramData")

    def profiles(self) -> PureWindowsPath:
        return PureWindowsPath(r"C:\Users")

    def is_administrator(self) -> bool:
        return bool(self._fact("administrator"))

    def answer(self, port: int) -> int | None:
        """The status that programs at a port are said to answer."""
        given: int | None = self._state.read(_DOCUMENT).get("answers", {}).get(str(port))
        return given

    def _fact(self, name: str) -> Any:
        return self._state.read(_DOCUMENT).get(name, _DEFAULTS[name])


def _of_endpoint(address: str, document: Document) -> NetworkAddress:
    length = int(document["IpConfigurations"][0]["PrefixLength"])
    mac = str(document.get("MacAddress", "")).lower().replace("-", ":")
    return NetworkAddress(f"vEthernet ({document['Name']})", address, length, mac)


def _listening_ports(pids: Collection[int]) -> Sequence[ListeningPort]:
    if not pids:
        return []
    return [
        ListeningPort(connection.laddr.ip, connection.laddr.port, connection.pid)
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.pid is not None
        and connection.pid in pids
    ]
