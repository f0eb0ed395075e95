"""One document: from bytes to a checked record in the shape of its major version's newest minor."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.sources.ignition import rules, spec2, spec3
from agent.sources.ignition.document import Document, Findings, Json
from agent.sources.ignition.schema import Field, Many, Reader, Record, Struct, Value, folded, layout
from agent.sources.report import Place, quoted


def append(parent: Record, child: Record, struct: Struct, minor: int) -> Record:
    """Version 2: lists grow; what the child says goes before the parent's word, and often its silence too."""
    result = Record()
    for name, field in layout(struct, minor).fields.items():
        value = _appended(name, field, parent, child, minor)
        if value is not None:
            result[name] = value
    return result


def _appended(name: str, field: Field, parent: Record, child: Record, minor: int) -> Value | None:
    ours, theirs = parent.get(name), child.get(name)
    if name == "version":
        return ours
    # The child's references are those to follow next; the parent's have been.
    if name == "config":
        return theirs
    if isinstance(field.kind, Many):
        both = _items(ours) + _items(theirs)
        return both or None
    if isinstance(field.kind, Struct) and not field.optional:
        return append(parent.record(name), child.record(name), field.kind, minor)
    return theirs if theirs is not None or not field.optional else ours


def merge(parent: Record, child: Record, struct: Struct, minor: int) -> Record:
    """Version 3: items of lists are merged by their keys; what the child says goes before the parent's."""
    result = Record()
    # Where both say something it is the child that counts, and where to look first.
    result.origin = child.origin or parent.origin
    known = layout(struct, minor).fields
    taken = _keys_by_list(child, struct, known)
    for name, field in known.items():
        value: Value | None = child.get(name)
        if isinstance(field.kind, Many):
            elsewhere = {key for other in taken if name in taken and other != name for key in taken[other]}
            value = _merged_lists(name, field.kind, _items(parent.get(name)), _items(value), elsewhere, minor)
        elif isinstance(field.kind, Struct):
            value = merge(parent.record(name), child.record(name), field.kind, minor)
        elif value is None and field.optional:
            value = parent.get(name)
        if value is not None and value != [] and value != {}:
            result[name] = value
    return result


def _keys_by_list(child: Record, struct: Struct, known: dict[str, Field]) -> dict[str, set[str]]:
    """Of the child's lists that share one name space: a file of the child removes the parent's link there."""
    return {
        name: {field.kind.key_of(item) for item in _items(child.get(name))}
        for name, field in known.items()
        if name in struct.one_name_space and isinstance(field.kind, Many)
    }


def _merged_lists(
    name: str, kind: Many, parent: list[Value], child: list[Value], elsewhere: set[str], minor: int
) -> list[Value]:
    if not kind.keyed:
        return parent + child
    news = {kind.key_of(item): item for item in child}
    result: list[Value] = []
    for item in parent:
        key = kind.key_of(item)
        if key not in news:
            if key not in elsewhere:
                result.append(item)
            continue
        new = news[key]
        if isinstance(item, Record) and isinstance(new, Record) and isinstance(kind.of, Struct):
            # A header without a value takes the parent's away.
            if name != "httpHeaders" or "value" in new:
                result.append(merge(item, new, kind.of, minor))
        else:
            result.append(new)
    had = {kind.key_of(item) for item in parent}
    return result + [item for item in child if kind.key_of(item) not in had]


def _items(value: Value | None) -> list[Value]:
    return value if isinstance(value, list) else []


_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-(?P<pre>[^+]*))?(?:\+(?P<build>.*))?", re.ASCII | re.DOTALL)
_DIGITS = 18
"""More of them are no number to Ignition either."""


@dataclass(frozen=True, slots=True)
class Specification:
    major: int
    newest_minor: int
    config: Struct
    combine: Callable[[Record, Record, Struct, int], Record]
    keys: bool
    """Lists have keys, and what is merged is held to the rules again."""

    def merged(self, parent: Record, child: Record) -> Record:
        return self.combine(parent, child, self.config, self.newest_minor)


SPECIFICATIONS = {
    2: Specification(2, spec2.NEWEST_MINOR, spec2.CONFIG, append, keys=False),
    3: Specification(3, spec3.NEWEST_MINOR, spec3.CONFIG, merge, keys=True),
}


@dataclass(frozen=True, slots=True)
class Reading:
    specification: Specification
    minor: int
    config: Record


def read(document: Document, findings: Findings) -> Reading | None:
    """What a document says. Of no use where there are errors among the findings."""
    value, document.value = document.value, None
    if not isinstance(value, dict):
        findings.error((), "an Ignition configuration is a JSON object")
        return None
    specification, minor = _specification(value, findings)
    if specification is None:
        return None
    reader = Reader(
        document.name,
        findings,
        minor,
        keys=specification.keys,
        half_characters=document.maybe_half_characters,
    )
    config = reader.read(value, specification.config)
    if specification.major == 3 and minor < 6:
        _drop_special_bits(config)
    config.record("ignition")["version"] = f"{specification.major}.{specification.newest_minor}.0"
    return Reading(specification, minor, config)


def _specification(value: dict[str, Json], findings: Findings) -> tuple[Specification | None, int]:
    place, version = _version(value)
    specification, minor, fault = _judged(version, old="ignitionVersion" in value)
    if fault:
        findings.error(place, fault)
    return specification, minor


def _judged(version: Json, *, old: bool) -> tuple[Specification | None, int, str]:
    if not isinstance(version, str) or not version:
        why = "it is for Ignition 1" if old else "ignition.version must say for which version it is"
        return None, 0, f"{why}; use {_KNOWN}"
    found = _VERSION.fullmatch(version)
    if found is None or len(max(found.groups()[:3], key=len)) > _DIGITS:
        return None, 0, f"{quoted(version)} is no version; use {_KNOWN}"
    major, minor, patch = (int(number) for number in found.groups()[:3])
    known = SPECIFICATIONS.get(major)
    if found["pre"] or found["build"]:
        return None, 0, f"{quoted(version)} is no final version of the specification; use {_KNOWN}"
    if known is None or minor > known.newest_minor or patch:
        return None, 0, f"version {quoted(version)} is not known to this program; use {_KNOWN}"
    return known, minor, ""


_KNOWN = " or ".join(
    f"{major}.0.0 to {major}.{known.newest_minor}.0" for major, known in SPECIFICATIONS.items()
)


def _version(value: Json) -> tuple[Place, Json]:
    """Looked for before anything else, in keys of any case, as Ignition does."""
    place: tuple[str | int, ...] = ()
    for name in ("ignition", "version"):
        keys = [key for key in value if folded(key) == name] if isinstance(value, dict) else []
        if not isinstance(value, dict) or not keys:
            return place, None
        place, value = (*place, keys[-1]), value[keys[-1]]
    return place, value


def _drop_special_bits(config: Record) -> None:
    """Before 3.6 they had no effect. Ignition drops them, so that an old document doesn't mean more now."""
    for name in ("files", "directories"):
        for node in config.record("storage").records(name):
            if mode := node.number("mode"):
                node["mode"] = mode & ~rules.SPECIAL_BITS
