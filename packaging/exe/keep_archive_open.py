"""PyInstaller runs this before the program: its modules are read through an open file, and out of no ZIP.

PyInstaller's loader opens the program's own file for each module, so that it may be renamed. To open a file
takes long where a scanner looks at it, and under Wine: 1.5 ms for each of 300 modules.
"""

import _winapi
import msvcrt
import os
import sys
import threading
import zipimport
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader

import pyimod01_archive  # type: ignore[import-not-found]  # PyInstaller's loader

assert sys.platform == "win32"

_FILE_SHARE_READ, _FILE_SHARE_DELETE = 0x1, 0x4
_of_thread = threading.local()


def _open_once(name: str, _mode: str) -> AbstractContextManager[BufferedReader]:
    """Stand for open() in PyInstaller's reader of archives, which seeks and reads: each thread has a file."""
    if not hasattr(_of_thread, "file"):
        # Unlike Python's open(), this lets others rename the file meanwhile.
        share = _FILE_SHARE_READ | _FILE_SHARE_DELETE
        handle = _winapi.CreateFile(name, _winapi.GENERIC_READ, share, 0, _winapi.OPEN_EXISTING, 0, 0)
        _of_thread.file = os.fdopen(msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_BINARY), "rb")
    return nullcontext(_of_thread.file)


pyimod01_archive.open = _open_once
# base_library.zip has been found already; each package's folder would be looked for as another ZIP.
sys.path_hooks.remove(zipimport.zipimporter)
