"""How a command ends: few exit codes, and one line for whoever reads."""

from __future__ import annotations

DONE = 0
FAILED = 1
BAD_USAGE = 2
REFUSED = 3


class Failure(Exception):
    """Ends a command. The text is the one line that is shown; no traceback follows."""

    exit_code = FAILED


class BadUsage(Failure):
    """Arguments, or a document, that cannot be meant."""

    exit_code = BAD_USAGE


class Refused(Failure):
    """Something has to be so first: an administrator's rights, a condition of the machine."""

    exit_code = REFUSED
