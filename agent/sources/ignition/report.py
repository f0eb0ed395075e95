"""What is wrong with a document, told as Ignition tells it: warning or error, a path, a line and a column.

Nothing here ever shows contents: a value that is quoted is a name or a path, cut short and on one line.
"""

from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass, field

Place = tuple[str | int, ...]
"""Where in a document: keys and list indexes from the top."""

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 80


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Entry:
    severity: Severity
    message: str
    document: str
    """The file or URL that it is about."""
    place: Place = ()
    line: int | None = None
    column: int | None = None

    @property
    def path(self) -> str:
        """As Ignition writes it: $.storage.files.3.contents.source"""
        return ".".join(["$", *map(_step, self.place)])

    def __str__(self) -> str:
        spot = f" line {self.line}, column {self.column}" if self.line is not None else ""
        path = f" at {self.path}" if self.place else ""
        return f"{self.severity.value}: {self.document}{spot}{path}: {self.message}"


@dataclass(frozen=True, slots=True)
class Report:
    entries: tuple[Entry, ...] = ()
    omitted: int = 0
    """How many more there are than `entries` has room for."""

    @property
    def fatal(self) -> bool:
        return any(entry.severity is Severity.ERROR for entry in self.entries)

    @property
    def errors(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.severity is Severity.WARNING)

    def __add__(self, other: Report) -> Report:
        return Report(self.entries + other.entries, self.omitted + other.omitted)


@dataclass(frozen=True, slots=True)
class Finding:
    """An entry whose line and column nobody has looked for yet."""

    severity: Severity
    place: Place
    message: str
    at_key: bool = False
    """It is about the key at that place, not the value."""


@dataclass(slots=True)
class Findings:
    """Collects, and counts what is beyond its room: a document can be wrong in a million places.

    Errors have their own room, so that warnings never hide that a document is refused.
    """

    room: int = 500
    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    omitted: int = 0

    def error(self, place: Place, message: str, *, at_key: bool = False) -> None:
        self._add(self.errors, Finding(Severity.ERROR, place, message, at_key))

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


def quoted(text: str) -> str:
    """A user's own word inside a message: on one line, printable everywhere, never long."""
    return json.dumps(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def _step(step: str | int) -> str:
    if isinstance(step, int) or (_PLAIN_KEY.fullmatch(step) and len(step) <= _SHOWN):
        return str(step)
    return quoted(step)
