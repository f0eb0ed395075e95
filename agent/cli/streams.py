"""Words out, also where nobody can hear them: lines and colours for people, JSON for programs.

A service has no streams at all, whoever detaches a program may close them, and a reader of a pipe may leave
before it has read all. None of that is a failure of what was asked for.

JSON comes with a format number. Within one number fields are added, never taken away or given another
meaning. A command that ends with a failure says, in place of its own document,

    format      1
    error       kind ("usage", "input", "refused", "failed", "interrupted", or "unexpected" for a fault of
                wmcb's own), message, where (an option, a place in a document, a file or the id of a check;
                null if it is nowhere in particular), exit_code, details (lines of a program's log),
                others (message and where of what else was found wrong)
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from agent.cli.failure import Failure
from agent.redaction import Redacted, redacted, redacted_document

_SEVERAL = {"directory": "directories"}
COUNTED = ("directory", "file")
"""Kinds of which there may be hundreds."""
_EPIPE = 32
_EINVAL = 22  # what Windows' C runtime makes of a pipe whose other end is closed
_CODES = {"red": 31, "green": 32, "yellow": 33}
FORMAT = 1


def many(number: int, one: str) -> str:
    several = _SEVERAL.get(one, f"{one}s")
    return f"{number} {one if number == 1 else several}"


def did_you_mean(wrong: str, known: Iterable[str], otherwise: str) -> str:
    """The end of a line about a word that is unknown; `otherwise` where none is like it."""
    import difflib  # noqa: PLC0415 - difflib, 1 ms of each start

    near = difflib.get_close_matches(wrong, list(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise


def counted(kinds: Iterable[str]) -> list[str]:
    """How many of each, the first first."""
    return [many(number, kind) for kind, number in Counter(kinds).items()]


def say(text: str) -> None:
    """A result, to standard output. Failure when it cannot be kept there: the disk is full, say."""
    _write(sys.stdout, text)


def tell(text: str, end: str = "\n") -> None:
    """Progress, a warning or an error, to standard error."""
    try:  # noqa: SIM105 - contextlib would have to be imported at each start
        _write(sys.stderr, text, end)
    except Failure:
        pass  # there is nowhere left to tell it


def notice(line: str) -> None:
    """A line of wmcb's own for a person, to standard error."""
    tell(f"wmcb: {line}")


def _write(stream: TextIO | None, text: str, end: str = "\n") -> None:
    if stream is None:
        return
    try:
        stream.write(redacted(text) + end)
        stream.flush()
    except OSError as error:
        _let_go(stream)
        if error.errno not in (_EPIPE, _EINVAL):
            raise Failure(f"cannot write the output: {error.strerror}") from error


def _let_go(stream: TextIO) -> None:
    """What could not be written would be tried again, and complained of, when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Colours:
    """On a console that shows them and for whoever wants them."""

    def __init__(self, stream: TextIO | None) -> None:
        self._on = (
            stream is not None
            and stream.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
            and _shows_codes()
        )

    def paint(self, colour: str | None, text: str) -> str:
        """Return the text as it is for None."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self._on and colour else text


def _shows_codes() -> bool:
    # The old console window shows them only to a program that asks it to; newer ones say who they are.
    return sys.platform != "win32" or bool(os.environ.get("WT_SESSION") or os.environ.get("TERM"))


def document(**fields: object) -> Redacted:
    return Redacted(json.dumps(redacted_document({"format": FORMAT, **fields}), indent=2))


def error_document(failure: Failure) -> Redacted:
    return document(
        error={
            "kind": failure.kind,
            **_told(failure),
            "exit_code": failure.exit_code,
            "details": list(failure.details),
            "others": [_told(other) for other in failure.others],
        }
    )


def _told(failure: Failure) -> dict[str, str | None]:
    return {"message": str(failure), "where": failure.where or None}
