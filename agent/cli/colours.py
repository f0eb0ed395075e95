"""Colours, on a console that shows them and for whoever wants them."""

import os
import sys
from typing import TextIO

_CODES = {"red": 31, "green": 32, "yellow": 33}


class Colours:
    def __init__(self, stream: TextIO | None) -> None:
        self._on = (
            stream is not None
            and stream.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
            and _shows_codes()
        )

    def paint(self, colour: str, text: str) -> str:
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self._on else text


def _shows_codes() -> bool:
    # The old console window shows them only to a program that asks it to; newer ones say who they are.
    return sys.platform != "win32" or bool(os.environ.get("WT_SESSION") or os.environ.get("TERM"))
