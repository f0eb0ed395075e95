"""A copy of advisories instead of somebody to ask: a folder of documents in OSV's form.

They may lie in it as they like: PyPA's own (`pypa/advisory-database`, YAML) as they are cloned, or OSV's for
PyPI (JSON) as they are unpacked. PyPA's do not tell of what only GitHub knows (GHSA); OSV's are both.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from packaging.utils import canonicalize_version
from packaging.version import InvalidVersion, Version

from releasing import ReleaseError
from releasing.vulnerabilities import Advisory, Told, normalized

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from releasing.vulnerabilities import Package

_ECOSYSTEM = "PyPI"
_ORDER = ("fixed", "introduced", "last_affected", "limit")
"""Of what happens at one version: from where something begins, it is not over before it has begun."""

Document = dict[str, Any]
Event = tuple[str, str]


class Entry(NamedTuple):
    """What one advisory says of one package."""

    id: str
    aliases: tuple[str, ...]
    versions: tuple[str, ...]
    ranges: tuple[tuple[Event, ...], ...]


def told_of(packages: Iterable[Package], folder: Path) -> Told:
    """All of these packages: one that no advisory is about has none."""
    entries: dict[str, list[Entry]] = defaultdict(list)
    until = date.min
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".yaml", ".json"):
            continue
        try:
            document = _document(file)
            for affected in _of_python(document):
                until = max(until, date.fromisoformat(document["modified"][:10]))
                if not document.get("withdrawn"):
                    entries[normalized(affected["package"]["name"])].append(_entry(document, affected))
        except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
            raise ReleaseError(f"{file}: this advisory cannot be read") from error
    if until == date.min:
        raise ReleaseError(f"{folder}: no advisory in it is about a package of {_ECOSYSTEM}")
    return Told({package: _about(package, entries[package.name]) for package in packages}, until)


def _document(file: Path) -> Document:
    """Nothing where it is something else that lies beside advisories."""
    content = file.read_text("utf-8")
    # Each value as it is written, and no other objects: of a version 1.10 a number would make 1.1.
    found = json.loads(content) if file.suffix == ".json" else yaml.load(content, yaml.CBaseLoader)  # noqa: S506
    return found if isinstance(found, dict) else {}


def _of_python(document: Document) -> list[Document]:
    return [
        affected
        for affected in document.get("affected", ())
        if affected.get("package", {}).get("ecosystem") == _ECOSYSTEM
    ]


def _entry(document: Document, affected: Document) -> Entry:
    ranges = [each["events"] for each in affected.get("ranges", ()) if each["type"] == "ECOSYSTEM"]
    return Entry(
        document["id"],
        tuple(document.get("aliases", ())),
        tuple(affected.get("versions", ())),
        tuple(tuple(event for each in events for event in each.items()) for events in ranges),
    )


def _about(package: Package, entries: Sequence[Entry]) -> tuple[Advisory, ...]:
    """Each vulnerability once, though several may tell of it under names of their own."""
    found: list[Advisory] = []
    names: set[str] = set()
    for entry in sorted(entries):
        try:
            is_affected = _is_affected(package.version, entry)
            fixed = _fixed(package.version, entry) if is_affected else ()
        except InvalidVersion as error:
            raise ReleaseError(f"{package}: {entry.id} has to be read by a person: {error}") from error
        if is_affected and names.isdisjoint((entry.id, *entry.aliases)):
            names.update((entry.id, *entry.aliases))
            found.append(Advisory(entry.id, entry.aliases, fixed))
    return tuple(found)


def _is_affected(version: str, entry: Entry) -> bool:
    if canonicalize_version(version) in map(canonicalize_version, entry.versions):
        return True
    return any(_is_within(Version(version), events) for events in entry.ranges)


def _is_within(version: Version, events: Sequence[Event]) -> bool:
    limits = [limit for kind, limit in events if kind == "limit"]
    if limits and all(limit != "*" and version >= Version(limit) for limit in limits):
        return False
    is_within = False
    for kind, at in sorted(events, key=_place):
        if kind == "introduced" and (at == "0" or version >= Version(at)):
            is_within = True
        elif (kind == "fixed" and version >= Version(at)) or (
            kind == "last_affected" and version > Version(at)
        ):
            is_within = False
    return is_within


def _place(event: Event) -> tuple[Version, int]:
    kind, at = event
    return Version("0.dev0" if at in ("0", "*") else at), _ORDER.index(kind)


def _fixed(version: str, entry: Entry) -> tuple[str, ...]:
    """The versions that have it no more, of those to which this one can be brought up."""
    told = {at for events in entry.ranges for kind, at in events if kind == "fixed"}
    return tuple(sorted((at for at in told if Version(at) > Version(version)), key=Version))
