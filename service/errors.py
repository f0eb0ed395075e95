"""Why what a ConfigMap wants is not made: it cannot be used as it is, or a run for it was taken back."""

from collections.abc import Sequence

from agent.engine.run import TakenBack
from agent.host.errors import HostError
from agent.resources.kind import CannotBeSo, NotWell
from agent.sources.report import Entry


class Refused(Exception):
    """A ConfigMap cannot be used as it is. One line: where in it, and what is wrong. Nothing was changed."""


def told(entries: Sequence[Entry], most: int = 1) -> str:
    """The first `most` of them, and how many more there are."""
    more = f" (and {len(entries) - most} more)" if entries[most:] else ""
    return "; ".join(f"{each.where}: {each.message}" for each in entries[:most]) + more


def why(failure: TakenBack | CannotBeSo) -> str:
    """Return why a run of the service's own was taken back, or could not begin, in a line."""
    if isinstance(failure, CannotBeSo):
        return str(failure)
    cause = failure.__cause__
    known = isinstance(cause, HostError | NotWell | CannotBeSo)
    text = str(cause) if known else f"unexpected {type(cause).__name__}: {' '.join(str(cause).split())}"
    trouble = "; ".join(failure.undone.trouble)
    return f"{text}; taken back" if not trouble else f"{text}; not all could be taken back: {trouble}"
