"""How a command ends: few exit codes, and one line for whoever reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

DONE = 0
GO_ON_AFTER_RESTART = 1003
"""As cloudbase-init takes it: restart this machine, and run the same again."""
FAILED = 1
BAD_USAGE = 2
REFUSED = 3

_USER_IN_URL = r"://[^/\s\\]*@"
_ID, _SECRET = 6, 16
"""How long the parts of a bootstrap token are."""
_PASTED_ALONG = ",.;:\"'()<>"
_MOST_LOST = 4
"""Of the secret, when somebody copied it: so few can be guessed."""


def without_secret(word: str) -> str:
    """A bootstrap token that somebody gave in a wrong place, by its id alone, and a URL without its password:
    what is told may be kept.
    """
    shown = without_password(word)
    token = token_in(shown)
    return f"{token[0]}{token[1]}.***" if token else shown


def token_in(word: str) -> tuple[str, str, str] | None:
    """What comes before a bootstrap token, its id and its secret."""
    beginning, equals, end = word.rpartition("=")
    token_id, dot, secret = end.strip(_PASTED_ALONG).partition(".")
    is_token = dot and (token_id + secret).isalnum() and _are_of_a_token(token_id, secret)
    return (f"{beginning}{equals}", token_id, secret) if is_token else None


def without_password(word: str) -> str:
    if "@" not in word:
        return word
    return re.sub(_USER_IN_URL, "://***@", word)


def _are_of_a_token(token_id: str, secret: str) -> bool:
    """Also of one that was copied with a letter too few or too many; no file's name has such an end."""
    if (len(token_id), len(secret)) == (_ID, _SECRET):
        return True
    is_near = abs(len(token_id) - _ID) <= 1 and len(secret) >= _SECRET - _MOST_LOST
    return is_near and sum(letter.isdigit() for letter in secret) > 1


class Failure(Exception):
    """Ends a command. The text is the one line that is shown; no traceback follows."""

    exit_code = FAILED
    kind = "failed"
    """For programs: what a word means never changes."""

    def __init__(
        self, text: str, *, where: str = "", others: Sequence[Failure] = (), details: Sequence[str] = ()
    ) -> None:
        """`where`: the option, the place in a document, the file or the check that it is about.

        `others` are told before it, a line each. `details` are shown below it, as the last lines of a
        program's log are.
        """
        super().__init__(text)
        self.where = where
        self.others = others
        self.details = details

    def with_details(self) -> str:
        return "\n    ".join([str(self), *self.details])

    def whole(self) -> str:
        """For a log."""
        return "\n    ".join([*map(str, self.others), self.with_details()])


class Interrupted(Failure):
    """By whoever called it."""

    kind = "interrupted"


class Unexpected(Failure):
    """A fault of ours."""

    kind = "unexpected"


class BadUsage(Failure):
    """Arguments that cannot be meant."""

    exit_code = BAD_USAGE
    kind = "usage"

    @classmethod
    def of(cls, option: str, value: str, fault: str) -> Self:
        """An option's value that cannot be meant."""
        return cls(f"{option} {without_secret(value)}: {fault}", where=option)


class BadInput(BadUsage):
    """A document, or a file, that cannot be meant."""

    kind = "input"


class Refused(Failure):
    """Something has to be so first: an administrator's rights, a condition of the machine."""

    exit_code = REFUSED
    kind = "refused"
