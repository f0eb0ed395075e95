"""What was kept, changed, dropped and added on the way to Windows, and why: for `plan` to show."""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
