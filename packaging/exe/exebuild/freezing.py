"""Modules into code. Run as a program of its own, so that the code does not depend on who asks for it.

`python -X no_debug_ranges freezing.py` reads a JSON list of modules from its standard input and writes the
table of their code, as marshal, to its standard output. What has to be fixed for the same bytes each time:

- marshal version 2: later ones write references for objects that happen to be used elsewhere in the process;
- the file that a module's code names: made from the module's name, and not where this checkout lies;
- columns within lines are left out (no_debug_ranges), whatever the environment says.
"""

from __future__ import annotations

import json
import marshal
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exebuild.sources import Source

# 3.14 has constants (slices) that no version before its own can write; there the same bytes rest on this
# process doing the same things in the same order each time.
MARSHAL_VERSION = marshal.version if sys.version_info >= (3, 14) else 2
KEEP_ALL = 0
WITHOUT_DOCSTRINGS = 2


class _Wanted(NamedTuple):
    name: str
    path: str
    is_package: bool


def compile_module(name: str, source: bytes, *, is_package: bool, optimize: int) -> bytes:
    file = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
    code = compile(source, file, "exec", dont_inherit=True, optimize=optimize)
    return marshal.dumps(code, MARSHAL_VERSION)


def freeze(sources: Sequence[Source], *, optimize: int) -> dict[str, bytes]:
    """The code of each module, by name."""
    wanted = [[source.name, str(source.path), source.is_package] for source in sources]
    done = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-S", "-B", __file__, str(optimize)],
        input=json.dumps(wanted).encode(),
        # Constants that are sets are written in the order of their hashes.
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONOPTIMIZE": ""},
        stdout=subprocess.PIPE,
        check=True,
    )
    table: dict[str, bytes] = marshal.loads(done.stdout)  # noqa: S302 - written by _main
    return table


def imported_by(repository: Path, names: Sequence[str]) -> list[str]:
    """All modules that these import as they are imported, in that order."""
    program = (
        f"import sys; sys.path.insert(0, {str(repository)!r}); import {', '.join(names)}; print(*sys.modules)"
    )
    command = [sys.executable, "-I", "-B", "-c", program]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def _main() -> None:
    wanted = [_Wanted(*each) for each in json.load(sys.stdin)]
    optimize = int(sys.argv[1])
    table = {
        each.name: compile_module(
            each.name, Path(each.path).read_bytes(), is_package=each.is_package, optimize=optimize
        )
        for each in wanted
    }
    sys.stdout.buffer.write(marshal.dumps(table))


if __name__ == "__main__":
    _main()
