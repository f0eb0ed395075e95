r"""The whole of a node's C: and of its registry at one moment, and what differs between two of them.

Nothing is left out, but what stands in WINES_OWN.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.registry import Value

# What Wine and Windows change by themselves, by a pattern for its whole name in any letters, and why.
_SYSTEM = r"HKEY_LOCAL_MACHINE\\System\\(Current|)ControlSet(001|)"
_CONTROL = rf"{_SYSTEM}\\Control"
WINES_OWN = {
    r"HKEY_LOCAL_MACHINE\\Hardware\\Description\\System\\CentralProcessor\\\d+\\~MHz": (
        "measured when Windows starts"
    ),
    rf"{_CONTROL}\\DeviceClasses\\.*": "Wine's devices come up some time after its start",
    rf"{_CONTROL}\\ServiceCurrent\\@": "counts the services that were started",
    rf"{_CONTROL}\\(Class|Video)\\{{[^\\]+}}\\0000\\DriverDate(Data)?": (
        "Wine installs its display driver whenever it starts: with the day and the time"
    ),
    rf"{_SYSTEM}\\Hardware Profiles\\Current\\Software\\Fonts\\[A-Z]+\.FON": (
        "Wine registers its fonts at any program's start, by that one's code page"
    ),
    rf"{_CONTROL}\\Video\\{{[^\\]+}}(\\0000(\\DriverError)?)?": "the same: under another number each time",
}


@dataclass(frozen=True)
class Entry:
    """A file, folder or link: its mode bits, and of a file size and SHA-256, of a link its target."""

    kind: str
    mode: int
    size: int
    content: str

    def __str__(self) -> str:
        return f"{self.kind}, mode {self.mode:o}, {self.size} bytes, {self.content[:16]}"


@dataclass(frozen=True)
class Snapshot:
    files: Mapping[str, Entry]
    keys: Mapping[str, Mapping[str, Value]]

    def changes_until(self, later: Snapshot) -> list[str]:
        """Each difference to a later snapshot, in a line; none where nothing was left behind in between."""
        return [line for name, line in sorted(self._differences(later)) if not _is_wines(name)]

    def _differences(self, later: Snapshot) -> Iterator[tuple[str, str]]:
        yield from _compared(self.files, later.files)
        yield from _compared(dict.fromkeys(self.keys, "a key"), dict.fromkeys(later.keys, "a key"))
        yield from _compared(_values(self), _values(later))


def _values(snapshot: Snapshot) -> dict[str, Value]:
    return {
        rf"{key}\{name or '@'}": data
        for key, values in snapshot.keys.items()
        for name, data in values.items()
    }


def _compared(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name in before.keys() | after.keys():
        if name not in after:
            yield name, f"{name}: gone, was {before[name]}"
        elif name not in before:
            yield name, f"{name}: new, {after[name]}"
        elif before[name] != after[name]:
            yield name, f"{name}: {before[name]} became {after[name]}"


def _is_wines(name: str) -> bool:
    return any(re.fullmatch(pattern, name, re.IGNORECASE) for pattern in WINES_OWN)


def files_below(drive: Path) -> dict[str, Entry]:
    r"""All entries of a drive, by the path that they have on Windows: C:\..."""
    found = {}
    for folder, _, _ in os.walk(drive):
        for entry in os.scandir(folder):
            path = os.path.relpath(entry.path, drive).replace("/", "\\")
            with suppress(FileNotFoundError):  # whoever runs there may have removed it just now
                found[rf"C:\{path}"] = _described(entry)
    return found


def _described(entry: os.DirEntry[str]) -> Entry:
    status = entry.stat(follow_symlinks=False)
    mode = stat.S_IMODE(status.st_mode)
    if entry.is_symlink():
        return Entry("link", mode, 0, str(Path(entry.path).readlink()))
    if entry.is_dir(follow_symlinks=False):
        return Entry("folder", mode, 0, "")
    content = _sha256(entry.path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return Entry("file", mode, status.st_size, content)


# A drive has 800 MB, and hardly any of it was written since the last snapshot.
@cache
def _sha256(path: str, *_unchanged: int) -> str:
    with open(path, "rb") as file:  # noqa: PTH123 - some hundred files: without the objects
        return hashlib.file_digest(file, "sha256").hexdigest()
