"""By which ways contents are had from elsewhere, as options say, and what is told while they come."""

from __future__ import annotations

import math
import re
import threading
import time
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from agent.artifacts.means import Means, Mirror, NoMirror, is_on_machine, mirror
from agent.cli import options, values
from agent.cli.arguments import Request
from agent.cli.failure import BadUsage
from agent.host.errors import HostError
from agent.host.files import FileKind
from agent.host.port import Host
from service.elsewhere import private_mirrors

if TYPE_CHECKING:
    from agent.cli.engine_run import Told


_BETWEEN_MIRRORS = re.compile(r",(?=https?://|\\\\|[A-Za-z]:[\\/])")
_PATIENCE_SECONDS = 120.0
_SHOWN_EVERY_SECONDS = 0.2
_MEGABYTE = 1_000_000


def means_of(request: Request, host: Host, *, is_checked: bool = True) -> Means:
    """Raises BadUsage. Not `is_checked`, a folder need not be there: not yet, or not any more."""
    most = values.seconds(request, options.MAX_TIME, math.inf)
    folder = _folder(request, host, is_checked=is_checked)
    return Means(_mirrors(request), folder, min(most, _PATIENCE_SECONDS), most)


def means_of_service(request: Request, host: Host) -> Means:
    """By which the resident service fetches: its command line says most, a private file the rest."""
    found = means_of(request, host, is_checked=False)
    return replace(found, mirrors=(*found.mirrors, *map(mirror, private_mirrors(host))))


def _mirrors(request: Request) -> tuple[Mirror, ...]:
    given = request.value(options.MIRROR, "")
    if not given:
        return ()
    try:
        # Given several times, they stand here with commas between.
        return tuple(mirror(each) for each in _BETWEEN_MIRRORS.split(given))
    except NoMirror as fault:
        raise BadUsage.of(options.MIRROR.name, given, str(fault)) from fault


def _folder(request: Request, host: Host, *, is_checked: bool) -> str:
    """As it is for every process: the resident service has another current folder."""
    given = request.value(options.ARTIFACTS, "")
    if not given:
        return ""
    folder = given if is_on_machine(given) else str(Path(given).absolute())
    try:
        is_there = not is_checked or _is_folder(folder, host)
    except OSError as fault:
        why = f"it cannot be read (error {fault.errno}: {fault.strerror})"
        raise BadUsage.of(options.ARTIFACTS.name, given, why) from fault
    if not is_there:
        raise BadUsage.of(options.ARTIFACTS.name, given, "there is no such folder")
    return folder


def _is_folder(folder: str, host: Host) -> bool:
    if not is_on_machine(folder):
        return Path(folder).is_dir()
    try:
        there = host.files.observe(PureWindowsPath(folder))
    except HostError:
        return False
    return there is not None and there.kind is FileKind.DIRECTORY


class Fetching:
    """Tells of what comes: on a console how much of it there is by now, else only what goes wrong."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._turn = threading.Lock()
        self._received: dict[str, tuple[int, int | None]] = {}
        self._shown_at = 0.0

    def came(self, name: str, received: int, size: int | None) -> None:
        with self._turn:
            self._received[name] = received, size
            now = time.monotonic()
            if now - self._shown_at >= _SHOWN_EVERY_SECONDS:
                self._shown_at = now
                self._told.meanwhile(self._line())

    def tried_again(self, name: str, why: str) -> None:
        with self._turn:
            self._told.remark(f"wmcb: {name}: {why}")

    def _line(self) -> str:
        return "fetching " + ", ".join(
            f"{name} {_megabytes(received)}" + (f" of {_megabytes(size)} MB" if size else " MB")
            for name, (received, size) in self._received.items()
            if received != size
        )


def _megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:.0f}"
