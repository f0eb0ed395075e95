"""What was found of one control."""

import enum
from dataclasses import dataclass, field

from agent.secret_fields import registers_secrets
from agent.spec import Want

Judged = tuple["Result", str, str, tuple[Want, ...]]
"""Result, reason, remedy, wants."""


class Result(enum.Enum):
    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    MANUAL = "manual"
    """A person has to judge."""
    NONE = "no meaning"
    """On Windows."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Finding:
    """One of a control; ids and their order are the benchmark's."""

    id: str
    title: str
    result: Result
    reason: str
    remedy: str = ""
    """Empty for what passes."""
    wants: tuple[Want, ...] = field(default=(), repr=False)
    """What puts it right; none where only a person can."""
    is_unread: bool = False
    """Whether the kubelet's configuration could not be read, so that the control could not be judged."""
