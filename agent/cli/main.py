"""The program's first and last function. Imports nothing until Ctrl-C is answered in a line."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def console() -> NoReturn:
    """`.venv/bin/wmcb`."""
    prepare_streams()
    sys.exit(run(sys.argv[1:], called_by(sys.argv[0])))


def prepare_streams() -> None:
    """Write UTF-8 in any language, and what it cannot express as escapes. A service has no streams."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def called_by(word: str) -> str:
    """The program's name out of the first word of a command line: its path, with or without .exe."""
    name = word.replace("\\", "/").rpartition("/")[2].lower()
    return name.removesuffix(".exe")


def run(arguments: Sequence[str], called: str = "wmcb") -> int:
    """Does what the arguments ask for. Never raises."""
    try:
        from agent.cli.dispatch import run  # noqa: PLC0415 - Ctrl-C meanwhile is answered in a line

        return run(arguments, called)
    except KeyboardInterrupt:
        from agent.cli.dispatch import ended  # noqa: PLC0415 - Ctrl-C meanwhile is answered in a line
        from agent.cli.failure import Interrupted  # noqa: PLC0415 - Ctrl-C meanwhile is answered in a line

        return ended(Interrupted("interrupted"), arguments, called)
