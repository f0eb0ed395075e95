"""One configuration of kubeadm's, found in a file of several documents and checked against its fields."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent import documents
from agent.documents import Value, mapping
from agent.sources.kubeadm.schema import DEPRECATED, GROUP, VERSIONS, Checking, Fields
from agent.sources.kubeadm.validation import Fault
from agent.sources.kubelet.documents import Document, NotReadable
from agent.sources.report import Entry, Outcome, Place, Severity, bounded, quoted

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


_TOO_OLD = ("v1alpha1", "v1alpha2", "v1alpha3", "v1beta1", "v1beta2")


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    versions: Mapping[str, Fields]
    command: str
    """Which this kind is for, with its article."""

    @property
    def apis(self) -> str:
        return " and ".join(f"{GROUP}/{version}" for version in self.versions)


Made = TypeVar("Made")
Judge = Callable[[dict[str, Value]], Iterable[Fault]]
"""Of a document whose values have their shapes."""


@dataclass(frozen=True, slots=True)
class Reader(Generic[Made]):
    """From the bytes of a file to what it says, by the rules of one kind."""

    kind: Kind
    faults: Judge
    own_faults: Judge
    """What only a command judges, by its options too."""
    without_effect: Judge
    """What Windows, or a worker, has no use for."""
    made: Callable[[dict[str, Value]], Made]

    def __call__(self, name: str, contents: bytes, *, strictly: bool = False) -> Outcome[Made]:
        """Strictly is as `kubeadm config validate` reads: unknown and repeated fields are errors, and so is
        what only a command judges.
        """
        decoded = decode(self.kind, name, contents, strictly=strictly)
        if decoded.usable is not None:
            own = self.own_faults(decoded.known) if strictly else ()
            for place, message in (*self.faults(decoded.known), *own):
                decoded.entry(Severity.ERROR, place, message)
        if decoded.usable is not None:
            for place, message in self.without_effect(decoded.known):
                decoded.entry(Severity.WARNING, place, message)
        report = bounded(decoded.entries)
        return Outcome(None if report.fatal else self.made(decoded.known), report)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a document says, and what is wrong with it so far."""

    part: Part | None
    """None where the file has no such document, or none that is read here."""
    known: dict[str, Value]
    """Each value has the shape that its field has."""
    entries: list[Entry]

    @property
    def usable(self) -> Part | None:
        """The document, unless an error was found in it."""
        return None if bounded(self.entries).fatal else self.part

    def entry(self, severity: Severity, place: Place, message: str) -> None:
        """Record what is wrong at this place; of a missing field, at the mapping that it is missing in."""
        assert self.part is not None, "only a document has places"
        self.entries.append(self.part.document.entry_near(severity, place, message))


def decode(kind: Kind, name: str, contents: bytes, *, strictly: bool) -> Decoded:
    """Return the document of this kind.

    Strictly is as `kubeadm config validate` reads: unknown and repeated fields are errors, and each of the
    other documents is validated by itself.
    """
    try:
        found = parts(name, contents)
    except NotReadable as fault:
        return Decoded(None, {}, [fault.entry])
    wanted = next((part for part in found if part.kind == kind.name), None)
    if wanted is None:
        return Decoded(None, {}, [_not_there(kind, name, found)])
    others = () if strictly else tuple(part for part in found if part is not wanted)
    entries = [_has_no_part(kind, part) for part in others]
    form = kind.versions.get(wanted.version) if wanted.group == GROUP else None
    if form is None:
        entries.append(wanted.document.entry(Severity.ERROR, ("apiVersion",), _version_fault(kind, wanted)))
        return Decoded(None, {}, entries)
    return _decoded(wanted, form, entries, Severity.ERROR if strictly else Severity.WARNING)


def _decoded(part: Part, form: Fields, entries: list[Entry], unknown: Severity) -> Decoded:
    if part.version == DEPRECATED:
        message = f"{part.api} is an old version, which kubeadm will take for some releases more only"
        entries.append(part.document.entry(Severity.WARNING, ("apiVersion",), message))
    entries += part.twice_entries(unknown)
    checking = Checking(part.document, unknown, entries)
    return Decoded(part, mapping(checking.of(form, part.document.value, ())), entries)


def _not_there(kind: Kind, name: str, found: Sequence[Part]) -> Entry:
    kinds = ", ".join(quoted(part.kind) for part in found[:5])
    message = f"there is no {kind.name} in it" + (f", only {kinds}" if kinds else "; it is empty")
    return Entry(Severity.ERROR, message, name)


def _has_no_part(kind: Kind, part: Part) -> Entry:
    message = f"a document of the kind {quoted(part.kind)} ({quoted(part.api)}) has no part in {kind.command}"
    return part.document.entry(Severity.WARNING, ("kind",), message)


def _version_fault(kind: Kind, part: Part) -> str:
    api, reads = quoted(part.api), f"{kind.apis} {'are' if len(kind.versions) > 1 else 'is'} read"
    if part.group != GROUP or part.version in VERSIONS:
        return f"{api} has no {kind.name}; {reads}"
    if part.version in _TOO_OLD:
        return (
            f"{api} is too old; {reads}, and `kubeadm config migrate` of a release that still knew "
            "it makes the one of the other"
        )
    return f"{api} is not known; {reads}"
