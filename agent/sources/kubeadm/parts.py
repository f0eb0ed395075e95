"""A file of several documents, such as kubeadm reads: split, each read, each with what API it is of."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from agent import documents
from agent.documents import Value
from agent.sources.kubelet.documents import Document, NotReadable
from agent.sources.report import Entry, Place, Severity

_SEPARATOR = "---"
_TWICE = "this key is there twice; the last one counts"


@dataclass(frozen=True, slots=True)
class Part:
    """One of its documents."""

    document: Document
    group: str
    version: str
    kind: str
    twice: tuple[Place, ...] = ()
    """Keys that are there again."""

    @property
    def api(self) -> str:
        return f"{self.group}/{self.version}"

    def twice_entries(self, severity: Severity) -> Iterator[Entry]:
        for place in self.twice:
            yield self.document.entry(severity, place, _TWICE)


def parts(name: str, contents: bytes) -> tuple[Part, ...]:
    """Raises NotReadable: not text, no YAML or JSON, a document without its kind, two of one kind."""
    found: list[Part] = []
    for line, text, reading in values(name, contents):
        part = _part(name, line, reading)
        if text.lstrip().startswith("{") and not _is_json(text):
            raise _unusable(name, "it begins with { as JSON does, but is none", line)
        if any(part.kind == other.kind for other in found):
            raise _unusable(name, f"there are two documents of the kind {part.kind}", line)
        found.append(part)
    return tuple(found)


def values(
    name: str, contents: bytes, *, trims: bool = False
) -> Iterator[tuple[int, str, documents.Reading]]:
    """Each document: its first line, its text, and what that says. Raises NotReadable.

    With `trims` white space around a document is no part of it, and one of white space alone is left out.
    """
    try:
        text = documents.decoded(contents)
    except documents.NotReadable as fault:
        raise _unusable(name, str(fault)) from None
    for line, part in _trimmed(name, text) if trims else _split(name, text):
        try:
            # Empty lines before it, so that what is wrong is told by the line of the file.
            placed = "\n" * (line - 1) + part
            yield line, part, documents.read_leniently(placed.encode())
        except documents.NotReadable as fault:
            at_line, column = fault.at or (line, None)
            entry = Entry(Severity.ERROR, str(fault), name, fault.place, at_line, column)
            raise NotReadable(entry) from None


def _trimmed(name: str, text: str) -> Iterator[tuple[int, str]]:
    for line, part in _split(name, text):
        if trimmed := part.strip():
            yield line + part[: part.index(trimmed)].count("\n"), f"{trimmed}\n"


def _split(name: str, text: str) -> Iterator[tuple[int, str]]:
    """As Kubernetes' own reader: a separator with nothing before it belongs to the document behind it."""
    first, gathered = 1, list[str]()
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
        if line.startswith(_SEPARATOR):
            behind = line[len(_SEPARATOR) :].strip()
            if behind and not behind.startswith("#"):
                raise _unusable(name, "behind --- only a comment can stand", number)
            if gathered:
                yield first, "\n".join(gathered) + "\n"
                first, gathered = number + 1, []
                continue
        gathered.append(line.removesuffix("\r"))
    if gathered:
        yield first, "\n".join(gathered) + "\n"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _part(name: str, line: int, reading: documents.Reading) -> Part:
    value = reading.value
    if not isinstance(value, dict):
        raise _unusable(name, "a document with apiVersion and kind was expected", line)
    document = Document(name, value, reading.positions, reading.keys)
    group, slash, version = _text(value, "apiVersion").partition("/")
    kind = _text(value, "kind")
    if "/" in version:
        raise NotReadable(document.entry(Severity.ERROR, ("apiVersion",), "it is no GROUP/VERSION"))
    if not slash or not group or not version or not kind:
        raise _unusable(name, "a document has to say its apiVersion (GROUP/VERSION) and its kind", line)
    return Part(document, group, version, kind, reading.twice)


def _text(value: dict[str, Value], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _unusable(name: str, message: str, line: int | None = None) -> NotReadable:
    return NotReadable(Entry(Severity.ERROR, message, name, line=line))
