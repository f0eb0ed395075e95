"""What a document may hold, as tables: one is what its reader goes by and what its published schema says.

A value has the form that its table wants, or there is an entry that says where it has not, and what is
expected there. Values are never quoted: any of them may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from agent.documents import Value
from agent.sources.kubelet.documents import Document
from agent.sources.report import Entry, Place, Severity, quoted_key

LONGEST_TEXT = 1 << 20
"""As much as a ConfigMap can hold."""

_MOST_BITS = 10_000
_LEFT_OUT = "; leave the quotes out"


@dataclass(frozen=True, slots=True)
class Text:
    about: str = ""
    """For a person who reads the published schema; so with every form."""
    expected: str = "text"
    pattern: str = ""
    """Of the whole of it, in what Python and ECMAScript read alike."""
    one_of: tuple[str, ...] = ()
    least: int = 0
    most: int = LONGEST_TEXT


@dataclass(frozen=True, slots=True)
class Number:
    about: str = ""
    least: float = 0
    most: float = 2**31 - 1
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Flag:
    about: str = ""
    only_true: bool = False
    """One that says something by standing there."""


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Form
    about: str = ""
    least: int = 0
    most: int = 1000


@dataclass(frozen=True, slots=True)
class MapOf:
    value: Form
    about: str = ""
    key: Text = field(default_factory=Text)
    least: int = 0
    most: int = 1000


@dataclass(frozen=True, slots=True)
class Fields:
    forms: Mapping[str, Form]
    about: str = ""
    needed: tuple[str, ...] = ()
    exactly_one: tuple[str, ...] = ()
    """Of these fields one is there, and no second."""
    one_of_each: tuple[tuple[str, ...], ...] = ()
    """The same of several groups."""
    some: tuple[str, ...] = ()
    """Of these at least one is there."""
    together: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """With the first, the others are there."""


Form = Text | Number | Flag | ListOf | MapOf | Fields


class _Wrong(Exception):
    """It has an entry."""


@dataclass(slots=True)
class Checking:
    """Makes of a document what its table knows of it; what is wrong goes into `entries`."""

    document: Document
    entries: list[Entry]
    as_go: bool = False
    """As Go's decoder reads JSON: names of fields in any case, null for nothing; what is not known is left
    out, with a warning."""

    def of(self, form: Form, value: Value, place: Place) -> Value:
        """The value, without what is wrong in it; None for what is wrong as a whole."""
        try:
            return self._of(form, value, place)
        except _Wrong:
            return None

    def wrong(self, place: Place, message: str) -> None:
        self.entries.append(self.document.entry_near(Severity.ERROR, place, message))

    def warn(self, place: Place, message: str) -> None:
        self.entries.append(self.document.entry_near(Severity.WARNING, place, message))

    def _of_key(self, severity: Severity, place: Place, message: str) -> None:
        self.entries.append(self.document.entry_of_key(severity, place, message))

    def _of(self, form: Form, value: Value, place: Place) -> Value:
        if isinstance(form, Fields):
            return self._fields(form, self._mapping(form, value, place), place)
        if isinstance(form, MapOf):
            return self._map(form, self._mapping(form, value, place), place)
        if isinstance(form, ListOf):
            return self._list(form, value, place)
        if fault := _fault(form, value):
            self._refuse(place, fault)
        return value

    def _mapping(self, form: Fields | MapOf, value: Value, place: Place) -> dict[str, Value]:
        if not isinstance(value, dict):
            self._refuse(place, f"a mapping is expected, such as {_example(form)}")
        return value

    def _fields(self, form: Fields, value: dict[str, Value], place: Place) -> Value:
        names = {name.lower(): name for name in form.forms} if self.as_go else {}
        made: dict[str, Value] = {}
        there: set[str] = set()
        for key, inner in value.items():
            name = names.get(key.lower(), key)
            if name not in form.forms:
                self._unknown(form, key, place)
            elif inner is not None or not self.as_go:
                there.add(name)
                self._put(made, name, form.forms[name], inner, (*place, key))
        self._check_presence(form, there, place)
        return made

    def _put(self, made: dict[str, Value], name: str, form: Form, value: Value, place: Place) -> None:
        try:
            made[name] = self._of(form, value, place)
        except _Wrong:
            return

    def _unknown(self, form: Fields, key: str, place: Place) -> None:
        import difflib  # noqa: PLC0415 - difflib, 1 ms and 0.1 MB

        close = difflib.get_close_matches(key[:60], form.forms, 1)
        meant = f"; is {close[0]} meant?" if close else ""
        message = f"there is no field {quoted_key(key)} here"
        if self.as_go:
            self._of_key(Severity.WARNING, (*place, key), f"{message}, and it is ignored{meant}")
        else:
            message += meant or f"; known are {', '.join(form.forms)}"
            self._of_key(Severity.ERROR, (*place, key), message)

    def _check_presence(self, form: Fields, there: set[str], place: Place) -> None:
        for name in form.needed:
            if name not in there:
                self.wrong((*place, name), "it is missing, and there has to be one")
        for group in (*([form.exactly_one] if form.exactly_one else ()), *form.one_of_each):
            if len(there.intersection(group)) != 1:
                self.wrong(place, f"exactly one of {', '.join(group)} is expected")
        if form.some and there.isdisjoint(form.some):
            self.wrong(place, f"{' or '.join(form.some)} is expected")
        for name, others in form.together.items():
            for missing in (other for other in others if name in there and other not in there):
                self.wrong((*place, missing), f"it is missing; {name} needs it")

    def _map(self, form: MapOf, value: dict[str, Value], place: Place) -> Value:
        self._check_count(len(value), form.least, form.most, place)
        made: dict[str, Value] = {}
        for key, inner in value.items():
            if fault := _fault(form.key, key):
                self._of_key(Severity.ERROR, (*place, key), f"this name cannot be one: {fault}")
            elif inner is None and self.as_go:
                made[key] = _nothing(form.value)
            else:
                self._put(made, key, form.value, inner, (*place, key))
        return made

    def _list(self, form: ListOf, value: Value, place: Place) -> Value:
        if not isinstance(value, list):
            self._refuse(place, f"a list is expected, such as {_example(form)}")
        self._check_count(len(value), form.least, form.most, place)
        made: list[Value] = []
        for number, inner in enumerate(value):
            here = (*place, number)
            made.append(
                _nothing(form.item) if inner is None and self.as_go else self.of(form.item, inner, here)
            )
        return made

    def _check_count(self, count: int, least: int, most: int, place: Place) -> None:
        if count > most:
            self._refuse(place, f"there are {count:,} of them; at most {most:,} are allowed")
        if count < least:
            self._refuse(place, "it is empty; leave it out, or put something into it")

    def _refuse(self, place: Place, message: str) -> NoReturn:
        self.wrong(place, message)
        raise _Wrong


def _example(form: Form, depth: int = 2) -> str:
    """What it looks like, with three dots for what is a person's to say."""
    if isinstance(form, Fields):
        groups = (form.exactly_one, *form.one_of_each, form.some)
        names = (*form.needed, *(group[0] for group in groups if group)) or tuple(form.forms)[:1]
        inside = (f"{name}: {_example(form.forms[name], depth - 1)}" for name in names)
        return f"{{{', '.join(inside)}}}" if depth else "{...}"
    if isinstance(form, MapOf):
        return f"{{NAME: {_example(form.value, depth - 1)}}}" if depth else "{...}"
    if isinstance(form, ListOf):
        item = '"...", "..."' if isinstance(form.item, Text) else _example(form.item, depth - 1)
        return f"[{item}]" if depth else "[...]"
    return "..."


def _nothing(form: Form) -> Value:
    """Go's zero value."""
    if isinstance(form, Text):
        return ""
    if isinstance(form, Number):
        return 0
    if isinstance(form, Flag):
        return False
    return [] if isinstance(form, ListOf) else {}


def _fault(form: Text | Number | Flag, value: Value) -> str | None:
    if isinstance(form, Flag):
        if form.only_true:
            return None if value is True else "true is expected; leave it out otherwise"
        if isinstance(value, bool):
            return None
        return f"true or false is expected{_LEFT_OUT if value in ('true', 'false') else ''}"
    if isinstance(form, Number):
        fault = _number_fault(form, value)
        is_quoted = fault and isinstance(value, str) and _fits(form, value)
        return f"{fault}{_LEFT_OUT}" if is_quoted else fault
    return _text_fault(form, value)


def _number_fault(form: Number, value: Value) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        whole = isinstance(value, int) or value.is_integer()
        if (whole or not form.whole) and form.least <= value <= form.most:
            return None
    kind = "a whole number" if form.whole else "a number"
    return f"{kind} from {form.least:,g} to {form.most:,.0f} is expected"


def _fits(form: Number, value: str) -> bool:
    return re.fullmatch("[0-9]{1,18}", value) is not None and _number_fault(form, int(value)) is None


def _text_fault(form: Text, value: Value) -> str | None:
    if not isinstance(value, str):
        return _fault_of_no_text(form, value)
    if form.one_of and value not in form.one_of:
        return f"{'one of ' if form.one_of[1:] else ''}{', '.join(form.one_of)} is expected"
    if len(value) < form.least:
        return f"it is empty; {form.expected} is expected"
    if len(value) > form.most:
        return f"it is longer than {form.most:,} characters"
    if form.pattern and not re.fullmatch(form.pattern, value):
        escaped = any(character < " " for character in value.rstrip("\n"))
        doubled = "; in double quotes a backslash is written twice" if escaped else ""
        return f"{form.expected} is expected{doubled}"
    return None


def _fault_of_no_text(form: Text, value: Value) -> str:
    """Quotes are the remedy only where what stands in them would do."""
    written = str(value).lower() if isinstance(value, bool) else _digits(value)
    if written is not None and (fault := _text_fault(form, written)):
        return fault
    quotes = "; put it in quotes" if isinstance(value, bool | int | float) else ""
    return f"{form.expected} is expected{quotes}"


def _digits(value: Value) -> str | None:
    """A whole number as it was written, most likely; of others nobody can tell."""
    # Python writes none that is much longer.
    return str(value) if isinstance(value, int) and value.bit_length() < _MOST_BITS else None
