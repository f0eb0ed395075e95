"""A kubelet's configuration file, YAML or JSON, whose faults go into the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent import documents
from agent.documents import Position, Value
from agent.sources.report import Entry, Place, Severity

__all__ = ["Document", "NotReadable", "Value", "read_document"]


class NotReadable(Exception):
    """The bytes are no such document. Carries the entry for the report."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(str(entry))
        self.entry = entry


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    value: dict[str, Value]
    positions: Mapping[Place, Position] = field(default_factory=dict)
    """Line and column of each value, counted from one; none for JSON."""
    keys: Mapping[Place, Position] = field(default_factory=dict)
    """The same of each key, by the place of its value."""

    def entry(self, severity: Severity, place: Place, message: str) -> Entry:
        return self._at(self.positions.get(place), severity, place, message)

    def entry_near(self, severity: Severity, place: Place, message: str) -> Entry:
        """The same; of what is missing, the line is that of the mapping that it is missing in."""
        there = place
        while there and there not in self.positions:
            there = there[:-1]
        return self._at(self.positions.get(there), severity, place, message)

    def entry_of_key(self, severity: Severity, place: Place, message: str) -> Entry:
        """Not of its value, which may begin lines below it. A key that came by << stands elsewhere."""
        if place not in self.keys:
            return self.entry_near(severity, place, message)
        return self._at(self.keys[place], severity, place, message)

    def _at(self, position: Position | None, severity: Severity, place: Place, message: str) -> Entry:
        line, column = position or (None, None)
        return Entry(severity, message, self.name, place, line, column)


def read_document(name: str, contents: bytes) -> Document:
    """Raises NotReadable: not text, not YAML or JSON, not a mapping, a key twice, too large in any way."""
    try:
        read = documents.read_document(contents)
    except documents.NotReadable as fault:
        line, column = fault.at or (None, None)
        raise NotReadable(Entry(Severity.ERROR, str(fault), name, fault.place, line, column)) from None
    return Document(name, read.value, read.positions, read.keys)
