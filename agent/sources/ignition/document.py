"""Bytes in, JSON values out, and later the line and column of whatever turns out to be wrong.

The values come from Python's own parser in C. It takes a few things that JSON, or Ignition, does not have;
those are refused here.
"""

import codecs
import itertools
import json
import re
from typing import NoReturn

from agent.json_faults import json_fault
from agent.redaction import register_document
from agent.sources.ignition import positions
from agent.sources.ignition.findings import Finding, Findings
from agent.sources.report import Entry, Report, Severity, quoted_key

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

_MARKS = (
    (codecs.BOM_UTF8, "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_GZIP = b"\x1f\x8b"
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_LONGEST_NUMBER = 20
"""Digits and sign of a 64-bit number; a longer one is no number that Ignition takes."""


class NotReadable(Exception):
    """The bytes are no JSON document. Carries the report."""

    def __init__(self, report: Report) -> None:
        super().__init__(*report.entries)
        self.report = report


class Document:
    """One JSON text with a name. Raises NotReadable where it is none."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text
        # Most have no backslash, and to find none takes a fraction of the other search.
        self.maybe_half_characters = "\\" in text and bool(_HALF_CHARACTER.search(text))
        self._repeated = False
        self.value: Json = self._parse()
        """For one reader, who may take it apart."""
        register_document(self.value)
        if self._repeated:
            self._refuse_repeated_keys()

    def report(self, findings: Findings) -> Report:
        """The findings with line and column."""
        found = findings.all()
        if not found:
            return Report()
        spots = positions.locate(self._text, found)
        entries = (self._entry(finding, *spot) for finding, spot in zip(found, spots, strict=True))
        return Report(tuple(entries), findings.omitted)

    def _entry(self, finding: Finding, line: int, column: int) -> Entry:
        return Entry(
            finding.severity, finding.message, self.name, finding.place, line, column, finding.is_unserved
        )

    def _parse(self) -> Json:
        try:
            value: Json = json.loads(
                self._text, object_pairs_hook=self._object, parse_int=_whole_number, parse_constant=_no_number
            )
        except json.JSONDecodeError as fault:
            why = f"it is not JSON: {json_fault(fault)}"
            _refuse(self.name, why, (fault.lineno, fault.colno))
        except _NoNumber as fault:
            spot = positions.line_and_column(
                self._text, positions.word_outside_strings(self._text, fault.word)
            )
            _refuse(self.name, f"it is not JSON: {fault.word} is no number", spot)
        except RecursionError:
            _refuse(self.name, "lists and objects are nested too deeply; Ignition needs about ten levels")
        return value

    def _object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._repeated = True
        return made

    def _refuse_repeated_keys(self) -> NoReturn:
        findings = Findings()
        offsets: list[int] = []
        for place, offset in itertools.islice(positions.duplicate_keys(self._text), findings.room):
            offsets.append(offset)
            findings.error(place, f"the key {quoted_key(str(place[-1]))} is given twice; keep one of them")
        spots = positions.lines_and_columns(self._text, offsets)
        entries = (self._entry(finding, *spot) for finding, spot in zip(findings.errors, spots, strict=True))
        raise NotReadable(Report(tuple(entries), findings.omitted))


def decoded(name: str, raw: bytes) -> str:
    """The document's text; raises NotReadable. Apart from parsing it, so that the bytes need not live on."""
    if not raw or raw.isspace():
        _refuse(name, "it is empty; an Ignition configuration is expected")
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            _refuse(name, f"it is {encoding}; save it as UTF-8 without a byte order mark", (1, 1))
    if raw.startswith(_GZIP):
        _refuse(name, "it is compressed with gzip; unpack it first")
    if raw.startswith((b"#cloud-config", b"Content-Type: multipart", b"#!")):
        _refuse(name, "it is cloud-init user data, not an Ignition configuration")
    try:
        return raw.decode()
    except UnicodeDecodeError as fault:
        before = raw[: fault.start].decode()
        why = f"it is not UTF-8: byte {raw[fault.start]:#04x} cannot be here; save it as UTF-8"
        _refuse(name, why, positions.line_and_column(before, len(before)))


def _refuse(name: str, why: str, spot: tuple[int, int] | None = None) -> NoReturn:
    line, column = spot or (None, None)
    raise NotReadable(Report((Entry(Severity.ERROR, why, name, (), line, column),)))


class _NoNumber(Exception):
    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


def _no_number(word: str) -> NoReturn:
    """Python's parser takes NaN and Infinity for numbers; JSON has no such words."""
    raise _NoNumber(word)


def _whole_number(digits: str) -> int | float:
    """A number of a million digits would take Python minutes; as a float it is refused for its type."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float("inf")
