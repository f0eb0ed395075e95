"""What is wrong with user data, or of no use in it: by part, line and field, never quoting contents."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from agent.sources.report import Entry, Origin, Report, bounded
from agent.spec import Effect, Note

_MOST_NOTES = 500


class Refused(Exception):
    """It cannot go on. The text says why, on one line."""

    def __init__(self, origin: Origin, why: str, *, is_unserved: bool = False) -> None:
        super().__init__(why)
        self.origin = origin
        self.is_unserved = is_unserved
        """Whether a server failed to serve what it refers to."""


@dataclass(slots=True)
class Findings:
    """Collects errors, and notes of what is left out."""

    errors: list[Entry] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def error(self, origin: Origin, why: str, *, is_unserved: bool = False) -> None:
        self.errors.append(replace(origin.error(why), is_unserved=is_unserved))

    def refused(self, fault: Refused) -> None:
        self.error(fault.origin, str(fault), is_unserved=fault.is_unserved)

    def ignore(self, subject: str, why: str) -> None:
        self._note(Note(Effect.IGNORED, subject, why))

    def warn(self, subject: str, why: str) -> None:
        self._note(Note(Effect.WARNING, subject, why))

    def change(self, subject: str, why: str) -> None:
        self._note(Note(Effect.CHANGED, subject, why))

    def take(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._note(note)

    @property
    def full(self) -> bool:
        """Of notes: a further one is not kept, so its words need no care."""
        return len(self.notes) >= _MOST_NOTES

    def report(self) -> Report:
        return bounded(self.errors)

    def _note(self, note: Note) -> None:
        if not self.full:
            self.notes.append(note)
