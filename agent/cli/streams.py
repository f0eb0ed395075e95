"""Words out, also where nobody can hear them.

A service has no streams at all, whoever detaches a program may close them, and a reader of a pipe may leave
before it has read all. None of that is a failure of what was asked for.
"""

import os
import sys
from typing import TextIO

from agent.cli.failure import Failure
from agent.redaction import redacted

_EPIPE = 32
_EINVAL = 22  # what Windows' C runtime makes of a pipe whose other end is closed


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


def overwrite(text: str) -> None:
    """A part of a line, to a console on standard error."""
    tell(text, end="")


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
