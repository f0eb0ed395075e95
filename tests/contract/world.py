"""What a contract case needs beside the host: a machine, and somebody else who does things on it."""

from __future__ import annotations

import ctypes
import enum
import pathlib
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import PureWindowsPath
from typing import Protocol

import pytest

from agent.host.port import EventLevel, Host, Principal
from agent.host.sddl import SecurityDescriptor
from agent.host.services import Control

wine_cannot = pytest.mark.wine_cannot
"""`@wine_cannot("why")`: Wine cannot show this case; there it is reported as not shown.

`@wine_cannot("why", weaker=True)`: it is run there, and asks `world.under_wine` to assert less.
On Windows and in the sandbox the mark means nothing.
"""


class Sharing(enum.Enum):
    """What somebody who holds a file open lets others do with it meanwhile."""

    NOTHING = "nothing"
    READING = "reading"


class World(Protocol):
    host: Host
    under_wine: bool

    folder: PureWindowsPath
    """Made for this case and empty; its descriptor is PRIVATE_DIRECTORY."""

    def granted(self, descriptor: SecurityDescriptor, principal: Principal) -> int:
        """Return the access mask that the machine's own access check grants at most."""

    def outside(self, path: PureWindowsPath) -> pathlib.Path:
        """Where the file lies for the system that the test runs on: to look at it without the host."""

    def hold_open(self, path: PureWindowsPath, sharing: Sharing) -> AbstractContextManager[None]:
        """Another program has the file, or folder, open."""

    def leave_lock(self, name: str) -> None:
        """What is there of a lock when the power was cut while somebody held it."""

    def run_from(self, path: PureWindowsPath) -> AbstractContextManager[int]:
        """A program lies at the path and runs until the block is left; gives its process id."""

    def plant_file(self, path: PureWindowsPath, content: bytes = b"", *, read_only: bool = False) -> None:
        """A file made by somebody else's program, which takes its descriptor from its folder."""

    def plant_folder(self, path: PureWindowsPath, *, read_only: bool = False) -> None: ...
    def plant_link(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        """A symbolic link to a folder or a file, which need not be there."""

    def plant_junction(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        """The other kind of link to a folder."""

    def serve_pipe(self, name: str) -> AbstractContextManager[None]:
        """Another program serves a named pipe: one client at a time, and there is none."""

    def connect_to_pipe(self, name: str) -> AbstractContextManager[None]:
        """A client of it."""

    def events(self, source: str) -> Sequence[tuple[EventLevel, int, str]]:
        """What the event log has of a source."""

    def other_process(self, code: str) -> tuple[str, ...]:
        """A command that runs these Python statements, in which `host` is this same machine."""

    def service_command(self, *behaviour: str) -> tuple[str, ...]:
        """The command of contract/service_program.py, which behaves as the words say."""

    def ask(self, service: str, control: Control) -> None:
        """The service control manager asks a service's program; but only a shutdown can ask for its own."""


def runs_under_wine() -> bool:
    if sys.platform == "win32":
        return hasattr(ctypes.WinDLL("ntdll"), "wine_get_version")
    return False
