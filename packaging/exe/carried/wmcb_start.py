"""The first module that the launcher imports: makes imports and output right, then hands over to the CLI."""

from __future__ import annotations

import atexit
import gc
import sys
from _frozen_importlib_external import ExtensionFileLoader, spec_from_file_location

import wmcb_built  # written by build.spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_MOST_NEW_OBJECTS = 20_000
"""Until garbage is looked for. Most of what is made at first are modules, which stay."""


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
    sys.frozen = True  # type: ignore[attr-defined]  # what third-party modules ask to know that they are in an exe
    from agent.cli.main import called_by, run

    code = run(sys.argv[1:], called_by(sys.argv[0]))
    # The launcher ends the process without taking Python down. What was said is flushed, each word of it.
    atexit._run_exitfuncs()
    return code
