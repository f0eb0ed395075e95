"""One document: from bytes to a checked record in the shape of its major version's newest minor."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.sources.ignition import rules, spec2, spec3
from agent.sources.ignition.document import Document, Json
from agent.sources.ignition.findings import Findings
from agent.sources.ignition.merge import append, merge
from agent.sources.ignition.schema import Reader, Record, Struct, folded
from agent.sources.report import Place, quoted

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
