"""Bytes in, JSON values out, and later the line and column of whatever turns out to be wrong.

The values come from Python's own parser in C. It takes a few things that JSON, or Ignition, does not have;
those are refused here.
"""

import codecs
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from json import decoder
from typing import NoReturn

from agent.json_faults import json_fault
from agent.redaction import register_document
from agent.sources.report import Entry, Place, Report, Severity, quoted_key


@dataclass(frozen=True, slots=True)
class Finding:
    """An entry whose line and column nobody has looked for yet."""

    severity: Severity
    place: Place
    message: str
    at_key: bool = False
    """It is about the key at that place, not the value."""
    is_unserved: bool = False
    """As in an entry."""


@dataclass(slots=True)
class Findings:
    """Collects, and counts what is beyond its room: a document can be wrong in a million places.

    Errors have their own room, so that warnings never hide that a document is refused.
    """

    room: int = 500
    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    omitted: int = 0

    def error(self, place: Place, message: str, *, at_key: bool = False, is_unserved: bool = False) -> None:
        self._add(self.errors, Finding(Severity.ERROR, place, message, at_key, is_unserved))

    def warn(self, place: Place, message: str, *, at_key: bool = False) -> None:
        self._add(self.warnings, Finding(Severity.WARNING, place, message, at_key))

    def _add(self, to: list[Finding], finding: Finding) -> None:
        if len(to) < self.room:
            to.append(finding)
        else:
            self.omitted += 1

    @property
    def full_of_warnings(self) -> bool:
        """A further one will be counted only, so its words need no care."""
        return len(self.warnings) >= self.room

    def all(self) -> list[Finding]:
        return self.errors + self.warnings


_BLANK = re.compile(r"[ \t\n\r]*")
_BRACKET_OR_STRING = re.compile(r'["{}\[\]]')
_SCALAR = re.compile(r"[^ \t\n\r,\]}]+")


class _Wanted:
    """What is looked for below one value."""

    __slots__ = ("below", "keys", "values")

    def __init__(self) -> None:
        self.below: dict[str | int, _Wanted] = {}
        self.keys: list[int] = []
        self.values: list[int] = []


def _string(text: str, start: int) -> tuple[str, int]:
    """A string whose quote is before `start`, and where it ends. The stubs lack the scanner in C."""
    found: tuple[str, int] = decoder.scanstring(text, start)  # type: ignore[attr-defined]
    return found


def locate(text: str, findings: list[Finding]) -> list[tuple[int, int]]:
    """Line and column of each, counted from 1; of the nearest value around it where the place has none."""
    offsets = [0] * len(findings)
    root = _Wanted()
    for number, finding in enumerate(findings):
        node = root
        for step in finding.place:
            node = node.below.setdefault(step, _Wanted())
        (node.keys if finding.at_key else node.values).append(number)
    _visit(text, _skip_blank(text, 0), root, offsets)
    return lines_and_columns(text, offsets)


def duplicate_keys(text: str) -> Iterator[tuple[Place, int]]:
    """The place and offset of every key that its object already has. Needs no recursion."""
    place: list[str | int] = []
    seen: list[set[str] | None] = []
    at = _skip_blank(text, 0)
    while True:
        if text[at] in "{[":
            seen.append(set() if text[at] == "{" else None)
            place.append(-1)
            at = _skip_blank(text, at + 1)
        else:
            at = _skip_blank(text, _end(text, at))
        while seen and text[at] in "]}":
            seen.pop()
            place.pop()
            at = _skip_blank(text, at + 1)
        if not seen:
            return
        if text[at] == ",":
            at = _skip_blank(text, at + 1)
        keys = seen[-1]
        if keys is None:
            last = place[-1]
            place[-1] = last + 1 if isinstance(last, int) else 0
            continue
        start = at
        key, at = _string(text, at + 1)
        place[-1] = key
        if key in keys:
            yield tuple(place), start
        keys.add(key)
        at = _skip_blank(text, _skip_blank(text, at) + 1)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    return lines_and_columns(text, [offset])[0]


def word_outside_strings(text: str, word: str) -> int:
    """Where `word` stands for the first time as a word of its own."""
    either = re.compile(f'"|{re.escape(word)}')
    at = 0
    while found := either.search(text, at):
        if found[0] == word:
            return found.start()
        at = _string(text, found.end())[1]
    return 0


def _visit(text: str, at: int, wanted: _Wanted, offsets: list[int]) -> int:
    """Notes where a value and what is wanted below it begin; returns where it ends."""
    _note(wanted.values, at, offsets)
    if not wanted.below:
        return _end(text, at)
    # Whatever is not found below is told at this value.
    for below in _all_below(wanted):
        _note(below.values, at, offsets)
        _note(below.keys, at, offsets)
    if text[at] == "{":
        return _visit_object(text, at, wanted, offsets)
    if text[at] == "[":
        return _visit_list(text, at, wanted, offsets)
    return _end(text, at)


def _visit_object(text: str, at: int, wanted: _Wanted, offsets: list[int]) -> int:
    at = _skip_blank(text, at + 1)
    while text[at] != "}":
        start = at
        key, at = _string(text, at + 1)
        at = _skip_blank(text, _skip_blank(text, at) + 1)
        below = wanted.below.get(key)
        if below is None:
            at = _end(text, at)
        else:
            at = _visit(text, at, below, offsets)
            _note(below.keys, start, offsets)
        at = _after_item(text, at)
    return at + 1


def _visit_list(text: str, at: int, wanted: _Wanted, offsets: list[int]) -> int:
    index = 0
    at = _skip_blank(text, at + 1)
    while text[at] != "]":
        below = wanted.below.get(index)
        at = _end(text, at) if below is None else _visit(text, at, below, offsets)
        at = _after_item(text, at)
        index += 1
    return at + 1


def _all_below(wanted: _Wanted) -> Iterator[_Wanted]:
    waiting = list(wanted.below.values())
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.below.values())


def _note(numbers: Iterable[int], at: int, offsets: list[int]) -> None:
    for number in numbers:
        offsets[number] = at


def _after_item(text: str, at: int) -> int:
    at = _skip_blank(text, at)
    return _skip_blank(text, at + 1) if text[at] == "," else at


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _end(text: str, at: int) -> int:
    """Where the value that begins at `at` ends."""
    if text[at] == '"':
        return _string(text, at + 1)[1]
    if text[at] not in "{[":
        found = _SCALAR.match(text, at)
        return found.end() if found else at
    depth = 0
    while found := _BRACKET_OR_STRING.search(text, at):
        at = found.end()
        if found[0] == '"':
            at = _string(text, at)[1]
            continue
        depth += 1 if found[0] in "{[" else -1
        if depth == 0:
            break
    return at


def lines_and_columns(text: str, offsets: list[int]) -> list[tuple[int, int]]:
    """One pass over the text for all of them."""
    result = [(1, 1)] * len(offsets)
    line, counted = 1, 0
    for number in sorted(range(len(offsets)), key=offsets.__getitem__):
        offset = offsets[number]
        line += text.count("\n", counted, offset)
        counted = offset
        result[number] = (line, offset - text.rfind("\n", 0, offset))
    return result


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
        spots = locate(self._text, found)
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
            spot = line_and_column(self._text, word_outside_strings(self._text, fault.word))
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
        for place, offset in itertools.islice(duplicate_keys(self._text), findings.room):
            offsets.append(offset)
            findings.error(place, f"the key {quoted_key(str(place[-1]))} is given twice; keep one of them")
        spots = lines_and_columns(self._text, offsets)
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
        _refuse(name, why, line_and_column(before, len(before)))


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
