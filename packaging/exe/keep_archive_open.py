"""PyInstaller runs this before the program: its modules are read through one open file, and out of no ZIP.

PyInstaller's loader opens the program's own file for each module, so that it may be renamed. To open a file
takes long where a scanner looks at it, and under Wine: 1.5 ms for each of 300 modules.
"""

import _winapi
import msvcrt
import os
import sys
import zipimport
from io import BufferedReader
from threading import Lock

import pyimod01_archive  # type: ignore[import-not-found]  # PyInstaller's loader

assert sys.platform == "win32"

_FILE_SHARE_READ, _FILE_SHARE_DELETE = 0x1, 0x4


class _OpenArchive:
    """The file of the archive: `with` gives it to one thread at a time, and leaves it open."""

    def __init__(self, name: str) -> None:
        # Unlike Python's open(), this lets others rename the file meanwhile.
        share = _FILE_SHARE_READ | _FILE_SHARE_DELETE
        handle = _winapi.CreateFile(name, _winapi.GENERIC_READ, share, 0, _winapi.OPEN_EXISTING, 0, 0)
        self._file = os.fdopen(msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_BINARY), "rb")
        self._lock = Lock()

    def __enter__(self) -> BufferedReader:
        self._lock.acquire()
        return self._file

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_opened: dict[str, _OpenArchive] = {}


def _open_once(name: str, _mode: str) -> _OpenArchive:
    """Stand for open() in PyInstaller's reader of archives."""
    return _opened.get(name) or _opened.setdefault(name, _OpenArchive(name))


pyimod01_archive.open = _open_once
# base_library.zip has been found already; each package's folder would be looked for as another ZIP.
sys.path_hooks.remove(zipimport.zipimporter)
