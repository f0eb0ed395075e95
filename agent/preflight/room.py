"""Whether there is room for what will be written."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.host.errors import NotFound
from agent.preflight.finding import Verdict
from agent.spec import File

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.host.port import Host
    from agent.preflight.situation import Situation
    from agent.spec import Specification

_MARGIN = 1 << 30
"""For logs, and for Windows not to come to a halt while it is written."""


def disk(situation: Situation) -> tuple[Verdict, str]:
    host = situation.host
    found = []
    for drive, size in sorted(_written(host, situation.specification).items()):
        try:
            free = host.facts.disk(PureWindowsPath(f"{drive}\\")).free
        except NotFound:
            return (
                Verdict.ERROR,
                f"there is no drive {drive}, and files are to go there; name another",
            )
        told = f"{drive} has {_shown(free)} free"
        if free < size + _MARGIN:
            if not size:
                return Verdict.WARNING, f"{told}; a node needs more to work well"
            needed = f"{_shown(size)} are to be written, and {_shown(_MARGIN)} have to be left"
            return Verdict.ERROR, f"{told}; {needed}: make room there"
        found.append(told)
    return Verdict.GOOD, ", ".join(found)


def _written(host: Host, specification: Specification | None) -> Mapping[str, int]:
    """By drive. A file of the same size that is there already is taken for the one that is wanted."""
    state = host.facts.program_data().drive.upper()
    sizes: defaultdict[str, int] = defaultdict(int, {state: 0})
    for want in specification.wants if specification else ():
        if isinstance(want, File) and want.content is not None:
            size = want.content.size
            sizes[want.path.drive.upper()] += 0 if _is_there(host, want.path, size) else size
    return sizes


def _is_there(host: Host, path: PureWindowsPath, size: int) -> bool:
    try:
        there = host.files.observe(path)
    except NotFound:
        return False
    return there is not None and there.size == size


def _shown(size: int) -> str:
    if size >= 1 << 30:
        return f"{size / (1 << 30):.1f} GiB"
    return f"{max(1, round(size / (1 << 20)))} MiB"
