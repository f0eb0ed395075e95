"""How a version of the specification is described, and how a document is read by such a description.

A description is data: structs with fields, each with the first and last minor version that has it, and rules
that hold in some versions. Reading yields records: only known fields, under their right names, of the right
types, without nulls and empty defaults, all versions in the shape of the newest one.
"""

from __future__ import annotations

import copy
import difflib
import enum
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

from agent.sources.ignition.document import Findings, Json
from agent.sources.report import Origin, quoted

NEWEST = 99


class Scalar(enum.Enum):
    TEXT = "text"
    FLAG = "true or false"
    NUMBER = "a whole number"
    UNSIGNED = "a whole number that isn't negative"
    UNSIGNED_32 = "a whole number from 0 to 4294967295"


_RANGES = {
    Scalar.NUMBER: range(-(2**63), 2**63),
    Scalar.UNSIGNED: range(2**64),
    Scalar.UNSIGNED_32: range(2**32),
}
_EMPTY: dict[Scalar, str | int | bool] = {Scalar.TEXT: "", Scalar.FLAG: False}


@dataclass(frozen=True, slots=True)
class Source:
    """What a source field says. Data in the URL is decoded once; a URL that nobody asks for is dropped."""

    url: str
    data: bytes | None = None


class Record(dict[str, "Value"]):
    """One object of a document. Fields that aren't there have no key; the methods answer for those too."""

    origin: Origin | None = None
    """Known of what stands in a list."""

    def text(self, name: str) -> str | None:
        value = self.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int | None:
        value = self.get(name)
        return value if isinstance(value, int) else None

    def flag(self, name: str) -> bool | None:
        value = self.get(name)
        return value if isinstance(value, bool) else None

    def source(self, name: str = "source") -> Source | None:
        value = self.get(name)
        return value if isinstance(value, Source) else None

    def record(self, name: str) -> Record:
        value = self.get(name)
        return value if isinstance(value, Record) else Record()

    def records(self, name: str) -> list[Record]:
        value = self.get(name)
        return [item for item in value if isinstance(item, Record)] if isinstance(value, list) else []

    def texts(self, name: str) -> list[str]:
        value = self.get(name)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


Value = str | int | bool | Source | Record | list["Value"]


class Check:
    """What a rule tells its findings to. Knows where the record stands that the rule is looking at."""

    def __init__(self, findings: Findings, minor: int) -> None:
        self.minor = minor
        self._findings = findings
        self._where: list[str | int] = []

    def error(self, message: str, *below: str | int, at_key: bool = False) -> None:
        self._findings.error((*self._where, *below), message, at_key=at_key)

    def warn(self, message: str, *below: str | int, at_key: bool = False) -> None:
        self._findings.warn((*self._where, *below), message, at_key=at_key)


class MergedCheck(Check):
    """Of what several documents became. What is wrong is told where it was said, as far as that is known."""

    def __init__(self, documents: Mapping[str, Findings], main: str, minor: int) -> None:
        super().__init__(documents[main], minor)
        self._documents = documents

    def below(self, *steps: str | int, origin: Origin | None = None) -> MergedCheck:
        """The same for what is there; where its origin is known, for that."""
        other = copy.copy(self)
        if origin:
            other._findings, other._where = self._documents[origin.document], list(origin.place)
        else:
            other._where = [*self._where, *steps]
        return other

    def warn(self, message: str, *below: str | int, at_key: bool = False) -> None:
        """Its document has been warned about already."""


Rule = Callable[[Record, Check], None]


@dataclass(frozen=True, slots=True)
class Many:
    """A list. Those with keys are merged by them, and in version 3 no two items may have the same."""

    of: Scalar | Struct
    key: Callable[[Record], str] | None = None
    keyed: bool = True

    def key_of(self, item: Value) -> str:
        if isinstance(item, Record):
            return self.key(item) if self.key else ""
        return str(item)


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: Scalar | Many | Struct
    since: int = 0
    until: int = NEWEST
    optional: bool = False
    """Whether being there and empty differs from not being there."""
    filled: bool = False
    """Not being there means empty, in these versions; the newest one, whose shape records have, differs."""


@dataclass(frozen=True, slots=True)
class Within:
    """A rule that not all versions have."""

    rule: Rule
    since: int = 0
    until: int = NEWEST


class Struct:
    """Of fields, and rules for what they say together."""

    def __init__(
        self,
        *fields: Field,
        rules: tuple[Rule | Within, ...] = (),
        one_name_space: frozenset[str] = frozenset(),
    ) -> None:
        """`one_name_space`: lists of which an item with some key may be in one only: files and links, say."""
        self.fields = fields
        self.rules = rules
        self.one_name_space = one_name_space


def fields(
    names: str,
    kind: Scalar | Many | Struct,
    since: int = 0,
    until: int = NEWEST,
    *,
    optional: bool = False,
    filled: bool = False,
) -> tuple[Field, ...]:
    """Return a field of each of the names, which stand between blanks."""
    return tuple(Field(name, kind, since, until, optional, filled) for name in names.split())


maybe = functools.partial(fields, optional=True)


class Layout(NamedTuple):
    """A struct in one version."""

    fields: dict[str, Field]
    folded: dict[str, Field]
    """By the lower case of their names: Ignition takes those in any case."""
    filled: tuple[Field, ...]
    keyed: tuple[Field, ...]
    rules: tuple[Rule, ...]


@functools.cache
def layout(struct: Struct, minor: int) -> Layout:
    fields = {field.name: field for field in struct.fields if field.since <= minor <= field.until}
    all_rules = (rule if isinstance(rule, Within) else Within(rule) for rule in struct.rules)
    return Layout(
        fields,
        {folded(name): field for name, field in fields.items()},
        tuple(field for field in fields.values() if field.filled),
        tuple(field for field in fields.values() if isinstance(field.kind, Many) and field.kind.keyed),
        tuple(within.rule for within in all_rules if within.since <= minor <= within.until),
    )


class Reader(Check):
    """Reads one document. It empties the objects that it has read, so that no text is held twice."""

    def __init__(
        self, document: str, findings: Findings, minor: int, *, keys: bool, half_characters: bool
    ) -> None:
        """`keys`: lists have keys; `half_characters`: there may be halves of surrogate pairs in the texts."""
        super().__init__(findings, minor)
        self._document = document
        self._keys = keys
        self._half_characters = half_characters

    def read(self, value: Json, struct: Struct) -> Record:
        record = Record()
        known = layout(struct, self.minor)
        sound = value is None
        if isinstance(value, dict):
            sound = self._read_object(record, value, struct, known)
        elif value is not None:
            self.error(f"an object is expected here, not {_name(value)}")
        for field in known.filled:
            if field.name not in record:
                self._fill(record, field)
        if sound:
            if self._keys and known.keyed:
                self._refuse_same_keys(record, struct, known)
            for rule in known.rules:
                rule(record, self)
        return record

    def _read_object(self, record: Record, value: dict[str, Json], struct: Struct, known: Layout) -> bool:
        """Whether all of it has the right types."""
        sound = True
        others: dict[str, str] = {}
        for key, item in value.items():
            field = known.fields.get(key)
            if field is None:
                field = known.folded.get(folded(key))
                if field is None:
                    self._warn_of_unknown(key, struct, known)
                    continue
                self._warn_of_case(key, field, others, value)
            if not self._read_field(record, field, key, item):
                sound = False
        value.clear()
        return sound

    def _read_field(self, record: Record, field: Field, key: str, item: Json) -> bool:
        """Whether the item has the right type."""
        if item is None:
            return True
        kind = field.kind
        if isinstance(kind, Scalar):
            if not self._right_type(kind, item):
                self.error(f"{kind.value} is expected here, not {_name(item)}", key)
                return False
            if field.optional or field.filled or item != _EMPTY.get(kind, 0):
                record[field.name] = cast("str | int | bool", item)
            return not (self._half_characters and self._has_half_character(item, key))
        self._where.append(key)
        if isinstance(kind, Many):
            sound = self._read_list(record, field.name, kind, item)
        else:
            sound = isinstance(item, dict)
            record[field.name] = self.read(item, kind)
        self._where.pop()
        return sound

    def _read_list(self, record: Record, name: str, kind: Many, items: Json) -> bool:
        if not isinstance(items, list):
            self.error(f"a list is expected here, not {_name(items)}")
            return False
        result: list[Value] = []
        record[name] = result
        sound = True
        for index, item in enumerate(items):
            if isinstance(kind.of, Struct):
                self._where.append(index)
                result.append(made := self.read(item, kind.of))
                made.origin = Origin(self._document, tuple(self._where))
                self._where.pop()
            elif item is None:
                result.append("")
            elif isinstance(item, str):
                result.append(item)
                if self._half_characters and self._has_half_character(item, index):
                    sound = False
            else:
                self.error(f"{kind.of.value} is expected here, not {_name(item)}", index)
                sound = False
        return sound

    def _right_type(self, kind: Scalar, item: Json) -> bool:
        if kind is Scalar.TEXT:
            return isinstance(item, str)
        if kind is Scalar.FLAG:
            return isinstance(item, bool)
        return isinstance(item, int) and not isinstance(item, bool) and item in _RANGES[kind]

    def _has_half_character(self, item: Json, step: str | int) -> bool:
        if not isinstance(item, str) or item.isascii():
            return False
        try:
            item.encode()
        except UnicodeEncodeError:
            self.error("it has half a character (a surrogate without its pair), which no file can hold", step)
            return True
        return False

    def _fill(self, record: Record, field: Field) -> None:
        if isinstance(field.kind, Struct):
            record[field.name] = self.read(None, field.kind)
        elif isinstance(field.kind, Scalar):
            record[field.name] = _EMPTY.get(field.kind, 0)

    def _warn_of_case(self, key: str, field: Field, others: dict[str, str], value: dict[str, Json]) -> None:
        other = field.name if field.name in value else others.setdefault(field.name, key)
        if other != key:
            self.error(f"it says the same as {quoted(other)}; keep one of them", key, at_key=True)
        else:
            self.warn(f"write {quoted(field.name)}; other programs tell letter case apart", key, at_key=True)

    def _warn_of_unknown(self, key: str, struct: Struct, known: Layout) -> None:
        if self._findings.full_of_warnings:
            return self.warn("", key)
        later = [field for field in struct.fields if field.name == key]
        if later and later[0].since > self.minor:
            advice = f"it is ignored, because it came with minor version {later[0].since}"
        elif later:
            advice = "it is ignored, because this version of the specification no longer has it"
        elif close := difflib.get_close_matches(key[:80], known.fields, 1, 0.7):
            advice = f"it is unknown and ignored; maybe {quoted(close[0])} is meant"
        else:
            advice = "it is unknown and ignored"
        return self.warn(advice, key, at_key=True)

    def _refuse_same_keys(self, record: Record, struct: Struct, known: Layout) -> None:
        shared: set[str] = set()
        for field in known.keyed:
            items = record.get(field.name)
            if not isinstance(items, list) or not isinstance(field.kind, Many):
                continue
            seen = shared if field.name in struct.one_name_space else set()
            for index, item in enumerate(items):
                key = field.kind.key_of(item)
                if key in seen:
                    self.error(
                        f"{quoted(key)} is there already; every entry must be another", field.name, index
                    )
                seen.add(key)


def recheck(record: Record, struct: Struct, check: MergedCheck) -> None:
    """Holds it to the rules again: what was sound in each of two documents may not be so when merged."""
    known = layout(struct, check.minor)
    for rule in known.rules:
        rule(record, check)
    for name, field in known.fields.items():
        if isinstance(field.kind, Struct) and name in record:
            recheck(record.record(name), field.kind, check.below(name))
        elif isinstance(field.kind, Many) and isinstance(field.kind.of, Struct):
            for index, item in enumerate(record.records(name)):
                recheck(item, field.kind.of, check.below(name, index, origin=item.origin))


def folded(name: str) -> str:
    """The same for names that Go's JSON package takes for one; also the long s and the Kelvin sign fold."""
    return name.lower().replace("\u017f", "s")


def _name(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value}"
    return names.get(type(value), "a number that is not whole, or too large")
