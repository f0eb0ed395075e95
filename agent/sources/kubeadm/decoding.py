"""One configuration of kubeadm's, found in a file of several documents and checked against its fields."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.documents import Value, mapping
from agent.sources.kubeadm.parts import Part, parts
from agent.sources.kubeadm.schema import DEPRECATED, GROUP, VERSIONS, Checking, Fields
from agent.sources.kubeadm.validation import Fault
from agent.sources.kubelet.documents import NotReadable
from agent.sources.report import Entry, Outcome, Place, Severity, bounded, quoted

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
