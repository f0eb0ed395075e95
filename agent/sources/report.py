"""What is wrong with a document, told as Ignition tells it: warning or error, a path, a line and a column.

Nothing here ever shows contents: a value that is quoted is a name or a path, cut short and on one line.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.redaction import redacted
from agent.secret_patterns import REDACTED

Place = tuple[str | int, ...]
"""Where in a document: keys and list indexes from the top; in a unit file its section and setting."""

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_OF_A_NAME = re.compile(r"[^:=]*[:=]?")
_SHOWN = 80


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Entry:
    severity: Severity
    message: str
    document: str
    """The file, unit or URL that it is about."""
    place: Place = ()
    line: int | None = None
    column: int | None = None
    is_unserved: bool = False
    """Whether a server failed to serve what the document refers to, which itself may be right."""

    @property
    def path(self) -> str:
        """As Ignition writes it: $.storage.files.3.contents.source"""
        return ".".join(["$", *map(_step, self.place)])

    @property
    def where(self) -> str:
        """For a person: the document and the spot in it."""
        spot = f" line {self.line}" if self.line is not None else ""
        if spot and self.column is not None:
            spot += f", column {self.column}"
        path = f" at {self.path}" if self.place else ""
        return f"{self.document}{spot}{path}"

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something was said, for messages about it."""

    document: str
    """The file, the unit, or part 2 of user data: as a person would look for it."""
    place: Place = ()
    line: int | None = None
    column: int | None = None

    def below(self, *steps: str | int) -> Origin:
        """A field that is not there, or that has no line of its own."""
        return Origin(self.document, (*self.place, *steps), self.line, self.column)

    def entry(self, severity: Severity, message: str) -> Entry:
        return Entry(severity, message, self.document, self.place, self.line, self.column)

    def error(self, message: str) -> Entry:
        return self.entry(Severity.ERROR, message)

    def __str__(self) -> str:
        return f"{self.document} line {self.line}" if self.line is not None else self.document


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


Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Made]):
    """What a document says, and what is wrong with it."""

    configuration: Made | None
    """None where the report is fatal."""
    report: Report


def bounded(entries: Sequence[Entry], room: int = 500) -> Report:
    """A document can be wrong in a million places: the first errors and the first warnings are told."""
    kept: list[Entry] = []
    left = {Severity.ERROR: room, Severity.WARNING: room}
    for entry in entries:
        if left[entry.severity]:
            left[entry.severity] -= 1
            kept.append(entry)
    return Report(tuple(kept), len(entries) - len(kept))


def quoted(text: str) -> str:
    """A user's own word inside a message: on one line, printable everywhere, never long. It is for a person:
    a backslash stands as it is, as in a path of Windows.
    """
    text = redacted(text)  # before it is cut: half a secret looks like none
    return json.dumps(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...").replace("\\\\", "\\")


def quoted_key(key: str) -> str:
    """A key inside a message, up to where a value may begin: `value:secret` is a key, as long as
    there is no blank behind its colon.
    """
    found = _OF_A_NAME.match(key)
    name = found[0] if found else ""
    return quoted(f"{name}{REDACTED}" if len(name) < len(key) else key)


def _step(step: str | int) -> str:
    if isinstance(step, int) or (_PLAIN_KEY.fullmatch(step) and len(step) <= _SHOWN):
        return str(step)
    return quoted_key(step)
