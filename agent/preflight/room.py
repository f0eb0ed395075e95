"""Whether there is room for what will be written."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Host
from agent.preflight.finding import Verdict
from agent.preflight.situation import Situation
from agent.spec import File, Specification

_MARGIN = 1 << 30
"""For logs, and for Windows not to come to a halt while it is written."""


def disk(situation: Situation) -> tuple[Verdict, str]:
    """Room for what will be written, on each drive."""
    host = situation.host
    found = []
    for drive, files in sorted(_files(host, situation.specification).items()):
        try:
            free = host.facts.disk(PureWindowsPath(f"{drive}\\")).free
        except NotFound:
            return Verdict.ERROR, f"there is no drive {drive}, and files are to go there; name another"
        told = f"{drive} has {_shown(free)} free"
        if free < _size(files) + _MARGIN:
            # Now it is worth a look at each of them.
            size = _size([file for file in files if not _is_there(host, file)])
            if not size:
                return Verdict.WARNING, f"{told}; a node needs more to work well"
            if free < size + _MARGIN:
                needed = f"{_shown(size)} are to be written, and {_shown(_MARGIN)} have to be left"
                return Verdict.ERROR, f"{told}; {needed}: make room there"
        found.append(told)
    return Verdict.GOOD, ", ".join(found)


def _files(host: Host, specification: Specification | None) -> Mapping[str, list[File]]:
    """By drive; wmcb's own folder is on one, whatever is wanted."""
    files: defaultdict[str, list[File]] = defaultdict(list, {host.facts.program_data().drive.upper(): []})
    for want in specification.wants if specification else ():
        if isinstance(want, File):
            files[want.path.drive.upper()].append(want)
    return files


def _size(files: Iterable[File]) -> int:
    return sum(file.content.size for file in files if file.content is not None)


def _is_there(host: Host, file: File) -> bool:
    """One of the same size is taken for the one that is wanted."""
    try:
        there = host.files.observe(file.path)
    except NotFound:
        return False
    return there is not None and file.content is not None and there.size == file.content.size


def _shown(size: int) -> str:
    if size >= 1 << 30:
        return f"{size / (1 << 30):.1f} GiB"
    return f"{max(1, round(size / (1 << 20)))} MiB"
