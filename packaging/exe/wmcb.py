"""The script that PyInstaller freezes: takes back what its loader set, and hands over to the command line."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import sys

from agent.cli.main import called_by, prepare_streams, run

assert sys.platform == "win32"

_MOST_NEW_OBJECTS = 20_000
"""New objects until garbage is collected. Most of what is made at first are modules, which stay."""
_LOAD_LIBRARY_SEARCH_SYSTEM32 = 0x800
_SEM_FAILCRITICALERRORS, _SEM_NOOPENFILEERRORBOX = 0x1, 0x8000


def confine_libraries() -> None:
    """Load libraries that are asked for by a bare name from System32 alone, and show no message box.

    The loader has put its folder into the search order with SetDllDirectory, which child processes inherit.
    AddDllDirectory, which they do not, lets Python's modules find there what they need beside System32.
    """
    kernel32 = ctypes.WinDLL("kernel32", winmode=_LOAD_LIBRARY_SEARCH_SYSTEM32)
    kernel32.SetDefaultDllDirectories(_LOAD_LIBRARY_SEARCH_SYSTEM32)
    kernel32.SetDllDirectoryW(None)
    os.add_dll_directory(sys._MEIPASS)  # type: ignore[attr-defined]  # set by the loader
    kernel32.SetErrorMode(_SEM_FAILCRITICALERRORS | _SEM_NOOPENFILEERRORBOX)


def restore_environment() -> None:
    """Remove the loader's variables and folders from what child processes inherit."""
    for name in [name for name in os.environ if name.startswith("_PYI_")]:
        del os.environ[name]
    own = sys._MEIPASS.lower()  # type: ignore[attr-defined]
    path = os.environ.get("PATH", "")
    kept = [folder for folder in path.split(os.pathsep) if not folder.lower().startswith(own)]
    if len(kept) != path.count(os.pathsep) + 1:
        os.environ["PATH"] = os.pathsep.join(kept)


def main() -> None:
    """Run the command and end the process with its exit code.

    Python is not shut down: Windows frees at once what Python would free object by object.
    """
    gc.set_threshold(_MOST_NEW_OBJECTS)
    confine_libraries()
    restore_environment()
    prepare_streams()
    code = run(sys.argv[1:], called_by(sys.argv[0]))
    atexit._run_exitfuncs()
    os._exit(code)


main()
