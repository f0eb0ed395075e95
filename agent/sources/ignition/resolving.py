"""From one document to the configuration: references followed, everything merged, contents checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from agent.certificates import load_pem
from agent.secret_fields import registers_secrets
from agent.sources import urls
from agent.sources.ignition import compiling
from agent.sources.ignition.compiling import ALLOW_MORE, HEADERS, Unobtainable, obtained
from agent.sources.ignition.document import Document, Findings, NotReadable, decoded
from agent.sources.ignition.model import (
    Configuration,
    Contents,
    Fetch,
    File,
    Inline,
    Network,
    TooLarge,
    Unsound,
)
from agent.sources.ignition.reading import Reading, read
from agent.sources.ignition.schema import MergedCheck, Record, recheck
from agent.sources.report import Origin, Place, Report

_AUTHORITIES_SIZE = 1 << 22
LARGEST_FILE = 256 << 20
"""Bytes of a file unpacked, unless somebody says more: gzip makes them out of a quarter of a megabyte."""

_HEADERS = {
    2: {
        **HEADERS,
        "Accept": "application/vnd.coreos.ignition+json;version=2.2.0, */*;q=0.1",
        "User-Agent": "Ignition/0.35.0",
    },
    3: HEADERS,
}
"""What the last Ignition of each major version sends."""
_COUNTED = (("storage", "files"), ("storage", "directories"), ("storage", "links"), ("systemd", "units"))
_REFERENCES = {2: "append", 3: "merge"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What nobody needs more of."""

    depth: int = 8
    """Of references in referred documents."""
    documents: int = 50
    entries: int = 10_000
    """Of one kind: files, folders, links, units."""
    document_size: int = 256 << 20
    contents_size: int = LARGEST_FILE
    """Of one file, unpacked."""
    unpacked_size: int = 4 * LARGEST_FILE
    """Of all compressed files together."""

    @classmethod
    def of_files(cls, size: int) -> Limits:
        """For a document whose files may be so large, each of them."""
        return cls(contents_size=size, unpacked_size=4 * size)


@registers_secrets
@dataclass(frozen=True, slots=True)
class Outcome:
    configuration: Configuration | None
    """None where the report is fatal."""
    report: Report
    documents: Mapping[str, Document] = field(default_factory=dict, repr=False)
    largest_file: int = LARGEST_FILE
    """Bytes, of one that is fetched later."""

    def located(self, findings: Mapping[str, Findings]) -> Report:
        """What somebody found wrong with the configuration later, by document, with line and column."""
        return _located(self.documents, findings)


def load(name: str, raw: bytes, fetch: Fetch | None = None, limits: Limits | None = None) -> Outcome:
    """The configuration that a document describes, with all that it refers to.

    `name` is what reports call the document. Nothing is raised for a bad one. The bytes of a large one are
    let go early if the caller keeps no reference to them. Without `fetch`, what must be fetched is an error.
    """
    resolver = _Resolver(fetch, limits or Limits())
    try:
        text = decoded(name, raw)
        del raw
        configuration = resolver.configuration(name, text)
    except NotReadable as fault:
        return Outcome(None, fault.report + resolver.report())
    except _Stop:
        configuration = None
    report = resolver.report()
    made = None if report.fatal else configuration
    return Outcome(made, report, resolver.documents, resolver.largest_file)


def _located(documents: Mapping[str, Document], findings: Mapping[str, Findings]) -> Report:
    return sum((documents[name].report(found) for name, found in findings.items()), Report())


class _Stop(Exception):
    """It cannot go on; why is among the findings."""


class _Resolver:
    def __init__(self, fetch: Fetch | None, limits: Limits) -> None:
        self._fetch = fetch
        self._limits = limits
        self.documents: dict[str, Document] = {}
        self._findings: dict[str, Findings] = {}
        self._versions: dict[str, str] = {}
        self._network = Network()
        self._authorities: dict[str, bytes] = {}

    @property
    def largest_file(self) -> int:
        return self._limits.contents_size

    def report(self) -> Report:
        return _located(self.documents, self._findings)

    def configuration(self, name: str, text: str) -> Configuration:
        reading = self._read(name, text)
        major = reading.specification.major
        self._use_network_of(reading.config, major)
        config = self._with_references(reading, name, 0, reading.config)
        self._use_network_of(config, major)
        self._check_number(config, Origin(name, ()))
        # Newer minor versions ask for less than older ones, but until 3.3 not in everything.
        if reading.specification.keys and (len(self.documents) > 1 or reading.minor < 3):
            check = MergedCheck(self._findings, name, reading.specification.newest_minor)
            recheck(config, reading.specification.config, check)
        made = Configuration(
            self._versions,
            compiling.files(config, major, self._error),
            compiling.directories(config, major),
            compiling.links(config, major),
            compiling.units(config),
            tuple(compiling.ignored(config, major)),
            self._network,
        )
        self._check_contents(made.files.values())
        return made

    def _read(self, name: str, text: str) -> Reading:
        document = Document(name, text)
        self.documents[name] = document
        findings = self._findings[name] = Findings()
        reading = read(document, findings)
        if findings.errors or reading is None:
            raise _Stop
        self._versions[name] = f"{reading.specification.major}.{reading.minor}.0"
        self._check_number(reading.config, Origin(name, ()))
        return reading

    def _check_number(self, config: Record, origin: Origin) -> None:
        for section, name in _COUNTED:
            number = len(config.record(section).records(name))
            if number > self._limits.entries:
                why = f"{number:,} of them; a node has no use for more than {self._limits.entries:,}"
                self._stop(origin, why, section, name)

    def _with_references(self, reading: Reading, name: str, depth: int, around: Record) -> Record:
        """The document with all that it refers to; `around` is everything that its settings are part of."""
        specification = reading.specification
        references = reading.config.record("ignition").record("config")
        replacement = references.get("replace")
        if isinstance(replacement, Record) and ("source" in replacement or specification.major == 2):
            origin = Origin(name, ("ignition", "config", "replace"))
            other, other_name = self._follow(replacement, origin, reading, depth)
            self._use_network_of(other.config, specification.major)
            return self._with_references(other, other_name, depth + 1, other.config)
        merged = reading.config
        for index, reference in enumerate(references.records(_REFERENCES[specification.major])):
            place = ("ignition", "config", _REFERENCES[specification.major], index)
            other, other_name = self._follow(reference, Origin(name, place), reading, depth)
            inside = specification.merged(around, other.config)
            self._use_network_of(inside, specification.major)
            whole = self._with_references(other, other_name, depth + 1, inside)
            merged = specification.merged(merged, whole)
            around = specification.merged(around, whole)
            self._use_network_of(around, specification.major)
        return merged

    def _follow(self, reference: Record, origin: Origin, parent: Reading, depth: int) -> tuple[Reading, str]:
        if depth >= self._limits.depth:
            self._stop(origin, f"references go deeper than {self._limits.depth} documents; maybe in a circle")
        if len(self.documents) >= self._limits.documents:
            self._stop(origin, f"more than {self._limits.documents} documents are referred to")
        if reference.source() is None:
            self._stop(origin, "a source is needed here")
        name = self._name(reference, origin)
        major = parent.specification.major
        try:
            text = decoded(name, self._obtained(reference, origin, major, self._limits.document_size))
            reading = self._read(name, text)
        except NotReadable as fault:
            self._stop(origin, f"what it refers to is no configuration: {fault.report.entries[0].message}")
        if reading.specification.major != major:
            why = f"what it refers to has version {self._versions[name]}"
            self._stop(origin, f"{why}, which cannot be merged with version {major}")
        return reading, name

    def _name(self, reference: Record, origin: Origin) -> str:
        source = reference.source()
        url = source.url if source and source.data is None else ""
        name = urls.shown(url) if url else f"{origin.document}: {'.'.join(map(str, origin.place))}"
        taken = sum(other == name or other.startswith(f"{name} (") for other in self.documents)
        return f"{name} ({taken + 1})" if taken else name

    def _use_network_of(self, config: Record, major: int) -> None:
        """From now on. As in Ignition, a configuration without authorities leaves those that there are."""
        self._network = compiling.network(config, self._network.authorities)
        tls = config.record("ignition").record("security").record("tls")
        records = tls.records("certificateAuthorities")
        if records:
            authorities = tuple(self._authority(record, major) for record in records)
            self._network = compiling.network(config, authorities)

    def _authority(self, record: Record, major: int) -> bytes:
        origin = record.origin or Origin(next(iter(self.documents)), ())
        source = record.source()
        if source is None:
            self._stop(origin, "a source is needed here")
        if source.url not in self._authorities:
            pem = self._obtained(record, origin, major, _AUTHORITIES_SIZE)
            if not _is_pem(pem):
                self._stop(origin, "it is no certificate in PEM form", "source")
            self._authorities[source.url] = pem
        return self._authorities[source.url]

    def _obtained(self, record: Record, origin: Origin, major: int, limit: int) -> bytes:
        contents = compiling.contents(record) or Inline(b"")
        try:
            return obtained(contents, self._network, self._fetch, limit, _HEADERS[major])
        except Unobtainable as fault:
            self._stop(origin, str(fault), fault.field, is_unserved=fault.is_unserved)

    def _check_contents(self, files: Iterable[File]) -> None:
        """Contents that cannot be unpacked, or have the wrong hash, show before anything is done."""
        room = self._limits.unpacked_size
        for file in files:
            for place, contents in _all_contents(file):
                if isinstance(contents, Inline) and not contents.packing.plain:
                    try:
                        size = sum(map(len, contents.blocks(min(room, self._limits.contents_size))))
                    except TooLarge as fault:
                        self._error(file.origin, place, f"{fault}; {ALLOW_MORE}")
                        continue
                    except Unsound as fault:
                        self._error(file.origin, place, str(fault))
                        continue
                    room -= size if contents.packing.compressed else 0

    def _error(self, origin: Origin, below: Place, message: str, *, is_unserved: bool = False) -> None:
        place = (*origin.place, *below)
        self._findings[origin.document].error(place, message, is_unserved=is_unserved)

    def _stop(self, origin: Origin, message: str, *below: str | int, is_unserved: bool = False) -> NoReturn:
        self._error(origin, below, message, is_unserved=is_unserved)
        raise _Stop


def _all_contents(file: File) -> Iterator[tuple[Place, Contents]]:
    if file.contents is not None:
        yield ("contents", "source"), file.contents
    for index, contents in enumerate(file.appended):
        yield ("append", index, "source"), contents


def _is_pem(data: bytes) -> bool:
    try:
        return bool(load_pem(data))
    except ValueError:
        return False
