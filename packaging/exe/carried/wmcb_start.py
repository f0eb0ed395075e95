"""The first module that the launcher imports: makes imports and output right, then hands over to the CLI."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import _thread
import _winapi
import atexit
import gc
import marshal
import msvcrt
import nt
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader, spec_from_file_location

import wmcb_built  # written by build.spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_MOST_NEW_OBJECTS = 20_000
"""Until garbage is looked for. Most of what is made at first are modules, which stay."""
_FROM_START = 0
_SHARED = 0x1 | 0x4
"""FILE_SHARE_READ and FILE_SHARE_DELETE: the file of a program that runs may be moved."""


class Modules:
    """Finds modules in the program's file, and reads each when it is imported.

    Python's own way is to take them where they lie, in the image that Windows maps: there their code would
    stay in the memory of a process that stays, beside what is made of it.
    """

    def __init__(self) -> None:
        """Raises OSError where the file that is at the program's path now is not the one that runs."""
        handle = _winapi.CreateFile(
            sys.executable, _winapi.GENERIC_READ, _SHARED, 0, _winapi.OPEN_EXISTING, 0, 0
        )
        self._file = msvcrt.open_osfhandle(handle, nt.O_RDONLY | nt.O_NOINHERIT)
        self._reading = _thread.allocate_lock()
        self._places = {}
        place = wmcb_built.PLACE + len(wmcb_built.MARK)
        for name, size, is_package in wmcb_built.READ:
            self._places[name] = (place, size, is_package)
            place += size
        if self._read(wmcb_built.PLACE, len(wmcb_built.MARK)) != wmcb_built.MARK:
            raise OSError

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """Answers the import system."""
        if name not in self._places:
            return None
        return ModuleSpec(name, self, origin="frozen", is_package=self._places[name][2])  # type: ignore[arg-type]  # no subclass

    def create_module(self, spec: ModuleSpec) -> None:
        """As any other."""

    def exec_module(self, module: ModuleType) -> None:
        """Makes it what it is."""
        place, size, _ = self._places[module.__name__]
        exec(marshal.loads(self._read(place, size)), module.__dict__)  # noqa: S102, S302 - as the launcher would

    def _read(self, place: int, size: int) -> bytes:
        with self._reading:
            nt.lseek(self._file, place, _FROM_START)
            return nt.read(self._file, size)


class Extensions:
    """Finds modules written in C by a list made at build time; they all lie in one flat folder."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG004
        """Answers the import system."""
        file = wmcb_built.EXTENSIONS.get(name)
        if file is None:
            return None
        place = f"{sys.prefix}\\{file}"
        return spec_from_file_location(name, place, loader=ExtensionFileLoader(name, place))


def main() -> int:
    """The program; its exit code."""
    gc.set_threshold(_MOST_NEW_OBJECTS)
    # Instead of the finder for sys.path: nothing is imported from anywhere else.
    sys.meta_path[2:] = [Extensions]
    try:  # noqa: SIM105 - contextlib would be one module more
        sys.meta_path.insert(1, Modules())
    except OSError:
        pass  # then they are taken where they lie
    sys.frozen = True  # type: ignore[attr-defined]  # what third-party modules ask to know that they are in an exe
    from agent.cli.main import called_by, run

    code = run(sys.argv[1:], called_by(sys.argv[0]))
    # The launcher ends the process without taking Python down. What was said is flushed, each word of it.
    atexit._run_exitfuncs()
    return code
