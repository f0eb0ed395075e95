"""Free space that all downloads into a folder share."""

from __future__ import annotations

import threading
from pathlib import PureWindowsPath

from agent.host.errors import NoSpace
from agent.host.port import Host

RESERVE = 256 << 20
"""Bytes that stay free, for Windows and the services that run meanwhile."""
_DISK_FULL = 112
_MEBIBYTE = 1 << 20


class Room:
    """Any thread may ask."""

    def __init__(self, host: Host, folder: PureWindowsPath) -> None:
        self._host = host
        self._drive = PureWindowsPath(folder.anchor)
        self._coming: dict[str, int] = {}
        """By name, how many bytes are still to come."""
        self._turn = threading.Lock()

    def require(self, name: str, size: int) -> None:
        """Note that so many bytes of `name` are still to be written.

        Raises NoSpace where the disk does not have them beside what others are still to write, and a reserve.
        """
        with self._turn:
            self._coming.pop(name, None)
            needed = sum(self._coming.values()) + size
            free = self._host.facts.disk(self._drive).free
            if free < needed + RESERVE:
                raise NoSpace(
                    "fetch",
                    name,
                    _DISK_FULL,
                    f"{self._drive.drive} has {free // _MEBIBYTE:,} MiB free, {-(-needed // _MEBIBYTE):,} MiB"
                    f" are to be written, and {RESERVE // _MEBIBYTE} MiB have to stay free: make room there",
                )
            self._coming[name] = size

    def release(self, name: str) -> None:
        """Nothing more of it comes."""
        with self._turn:
            self._coming.pop(name, None)
