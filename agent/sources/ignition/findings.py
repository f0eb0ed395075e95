"""What is wrong with a document, collected before anybody has looked for its line and column."""

from dataclasses import dataclass, field

from agent.sources.report import Place, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """An entry whose line and column nobody has looked for yet."""

    severity: Severity
    place: Place
    message: str
    at_key: bool = False
    """It is about the key at that place, not the value."""
    is_unserved: bool = False
    """As in an entry."""


@dataclass(slots=True)
class Findings:
    """Collects, and counts what is beyond its room: a document can be wrong in a million places.

    Errors have their own room, so that warnings never hide that a document is refused.
    """

    room: int = 500
    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    omitted: int = 0

    def error(self, place: Place, message: str, *, at_key: bool = False, is_unserved: bool = False) -> None:
        self._add(self.errors, Finding(Severity.ERROR, place, message, at_key, is_unserved))

    def warn(self, place: Place, message: str, *, at_key: bool = False) -> None:
        self._add(self.warnings, Finding(Severity.WARNING, place, message, at_key))

    def _add(self, to: list[Finding], finding: Finding) -> None:
        if len(to) < self.room:
            to.append(finding)
        else:
            self.omitted += 1

    @property
    def full_of_warnings(self) -> bool:
        """A further one will be counted only, so its words need no care."""
        return len(self.warnings) >= self.room

    def all(self) -> list[Finding]:
        return self.errors + self.warnings
