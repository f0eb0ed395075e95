"""What a check found."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace


class Verdict(enum.Enum):
    GOOD = "ok"
    WARNING = "warning"
    ERROR = "error"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    """Its id."""
    verdict: Verdict
    text: str
    """One line. Of a warning or an error it says what to do."""

    @property
    def is_error(self) -> bool:
        return self.verdict is Verdict.ERROR

    def forgiven(self) -> Finding:
        """An error that somebody knows of and goes on in spite of."""
        return replace(self, verdict=Verdict.WARNING) if self.is_error else self
