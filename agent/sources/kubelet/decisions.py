"""What was kept, changed, dropped and added on the way to Windows, and why: for `plan` to show."""

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.spec import Effect, Note


class About(enum.Enum):
    FLAG = "flag"
    CONFIGURATION = "configuration"
    VARIABLE = "variable"
    """Of the command line, answered for Windows."""
    ENVIRONMENT = "environment"
    """What the service gets."""
    COMMAND = "command"


class Outcome(enum.Enum):
    KEPT = "kept"
    CHANGED = "changed"
    DROPPED = "dropped"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Decision:
    about: About
    name: str
    """--node-ip, authentication.x509.clientCAFile, HTTP_PROXY."""
    outcome: Outcome
    reason: str
    before: str = ""
    after: str = ""
    secret: bool = False
    """Whether before and after may be shown to nobody."""


_EFFECTS = {Outcome.CHANGED: Effect.CHANGED, Outcome.DROPPED: Effect.DROPPED, Outcome.ADDED: Effect.ADDED}


def notes_of(made: Iterable[Decision]) -> Iterator[Note]:
    """Of what was kept there is nothing to tell."""
    for decision in made:
        if decision.outcome in _EFFECTS:
            before, after = ("", "") if decision.secret else (decision.before, decision.after)
            subject = f"{decision.about.value} {decision.name}"
            yield Note(_EFFECTS[decision.outcome], subject, decision.reason, before, after)
