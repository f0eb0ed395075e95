"""A document of Kubernetes', YAML or JSON, as plain values with the line that each stands on.

A kubeconfig holds tokens, and a slip of the pen makes one of them a tag, an anchor or a key: what is wrong is
told by line and column, never by quoting the contents.

Scalars are what Kubernetes' own YAML library makes of them: `on` and `y` are true, 0x10 is a number, 1:30
is text. The bounds are on what the text expands to: a short file of aliases is no way to fill the memory.
"""

import codecs
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import yaml

from agent.json_faults import json_fault
from agent.redaction import register_document
from agent.yaml_events import MOST_VALUES, Builder, Place, yaml_fault

Value = dict[str, "Value"] | list["Value"] | str | int | float | bool | None
Position = tuple[int, int]

_LARGEST = 1024 * 1024
_DEEPEST = 50

_TRUE = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}
_FALSE = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}
_NULL = {"", "~", "null", "Null", "NULL"}
_INTEGER = re.compile(r"[-+]?(0x[0-9a-fA-F]+|0b[01]+|0o?[0-7]+|[1-9][0-9]*|0)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST_NUMBER = 40
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "bool", "int", "float", "null", "map", "seq")}
_TWICE = "this key is there twice"
_NO_MAPPING = "a mapping of settings was expected"


class NotReadable(Exception):
    """The bytes are no such document. The text says why, on one line, and quotes nothing of them."""

    def __init__(self, message: str, place: Place = (), at: Position | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.at = at


@dataclass(frozen=True, slots=True)
class Document:
    value: dict[str, Value]
    positions: Mapping[Place, Position] = field(default_factory=dict)
    """Line and column of each value, counted from one; none for JSON."""
    keys: Mapping[Place, Position] = field(default_factory=dict)
    """The same of each key, by the place of its value."""


@dataclass(frozen=True, slots=True)
class Reading:
    value: Value
    positions: Mapping[Place, Position] = field(default_factory=dict)
    """As of a Document."""
    keys: Mapping[Place, Position] = field(default_factory=dict)
    """As of a Document."""
    twice: tuple[Place, ...] = ()
    """The keys that were there before. Of each the last value counts."""


def read_document(contents: bytes) -> Document:
    """Raises NotReadable: not text, not YAML or JSON, not a mapping, a key twice, too large in any way."""
    reading = _read(contents, leniently=False)
    if not isinstance(reading.value, dict):
        _refuse(_NO_MAPPING)
    return Document(reading.value, reading.positions, reading.keys)


def read_leniently(contents: bytes) -> Reading:
    """Any value, and a key twice, as Kubernetes' tools take it. Raises NotReadable for all else.

    JSON is read as the YAML that it is, too, whatever the document begins with.
    """
    return _read(contents, leniently=True)


def _read(contents: bytes, *, leniently: bool) -> Reading:
    if len(contents) > _LARGEST:
        _refuse(f"it is longer than {_LARGEST // 1024} KiB")
    text = decoded(contents)
    # The kubelet decides by the first character, too.
    is_json = text.lstrip().startswith("{") and not leniently
    reading = _read_json(text) if is_json else _read_yaml(text, leniently)
    register_document(reading.value)
    return reading


def decoded(contents: bytes) -> str:
    """Raises NotReadable."""
    if contents.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        _refuse("it is UTF-16; save it as UTF-8")  # as PowerShell writes it unless it is told otherwise
    try:
        return contents.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        _refuse(f"it is not UTF-8: byte {fault.start + 1} is wrong; save it as UTF-8")


def _refuse(message: str, place: Place = (), at: Position | None = None) -> NoReturn:
    raise NotReadable(message, place, at)


def _read_json(text: str) -> Reading:
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as fault:
        _refuse(f"it is not JSON: {json_fault(fault)}", at=(fault.lineno, fault.colno))
    except _NoJsonNumber as fault:
        _refuse(f"{fault} is no JSON number")
    except _KeyTwice:
        # Python's reader of JSON does not tell where; JSON is YAML, whose reader does.
        _read_yaml(text, leniently=False)
        _refuse(_TWICE)
    except RecursionError:
        _refuse(f"it is nested deeper than {_DEEPEST} levels")
    except ValueError:
        # Python's own bound on the digits of a number.
        _refuse("it has a number of thousands of digits")
    _check_size(value)
    return Reading(value)


class _NoJsonNumber(Exception):
    """NaN, Infinity or -Infinity, by name."""


class _KeyTwice(Exception):
    """In JSON, somewhere."""


def _without_duplicates(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    made: dict[str, Value] = {}
    for key, value in pairs:
        if key in made:
            raise _KeyTwice
        made[key] = value
    return made


def _refuse_constant(constant: str) -> NoReturn:
    raise _NoJsonNumber(constant)


def _check_size(value: Value) -> None:
    level: list[Value] = [value]
    count = 0
    for depth in range(_DEEPEST + 2):
        count += len(level)
        if count > MOST_VALUES:
            _refuse(f"it has more than {MOST_VALUES:,} values")
        if not level:
            return
        if depth > _DEEPEST:
            _refuse(f"it is nested deeper than {_DEEPEST} levels")
        level = [child for parent in level for child in _children(parent)]


def _children(value: Value) -> Iterator[Value]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _read_yaml(text: str, leniently: bool) -> Reading:
    try:
        builder = _Builder(leniently=leniently)
        value = builder.build(text)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark
        at = None if mark is None else (mark.line + 1, mark.column + 1)
        _refuse(f"it is not YAML{yaml_fault(fault, text)}", at=at)
    except yaml.YAMLError:
        _refuse("it is not YAML")
    return Reading(value, builder.positions, builder.keys, tuple(builder.places_twice))


class _Builder(Builder[Value]):
    def __init__(self, *, leniently: bool) -> None:
        super().__init__()
        self._leniently = leniently
        self.places_twice: list[Place] = []
        self.positions: dict[Place, Position] = {}
        self.keys: dict[Place, Position] = {}

    def collection(self, inside: dict[str, Value] | list[Value], event: yaml.CollectionStartEvent) -> Value:
        self._check_tag(event)
        self._note_position(event)
        return inside

    def scalar(self, event: yaml.ScalarEvent) -> Value:
        self._check_tag(event)
        self._note_position(event)
        # Only a plain one can be anything but text; an explicit tag asks for what the plain one would be.
        kind = (event.tag or "").rpartition(":")[2]
        if kind == "str" or event.tag == "!" or (event.tag is None and event.style):
            return str(event.value)
        if _NO_NUMBER.fullmatch(event.value):
            self.fail(event, "a number without a value cannot be meant")
        value = plain(event.value)
        if kind and not _is_of(value, kind):
            self.fail(event, f"this is no {kind}")
        return value

    def again(self, made: Value, event: yaml.AliasEvent) -> Value:
        self._note_position(event)
        return made

    def inside(self, made: Value) -> Value:
        return made

    def key(self, event: yaml.ScalarEvent) -> str:
        self._check_tag(event)
        key = super().key(event)
        if position := _position(event):
            self.keys[(*self.place()[:-1], key)] = position
        return key

    def twice(self, event: yaml.ScalarEvent) -> None:
        *above, _ = place = self.place()
        if not self._leniently:
            _refuse(_TWICE, tuple(above), _position(event))
        self.places_twice.append(place)

    def fail(self, event: yaml.Event, why: str) -> NoReturn:
        _refuse(why, at=_position(event))

    def refuse(self, made: Value, why: str) -> NoReturn:  # noqa: ARG002 - a value does not know where it stands
        _refuse(why, self.place()[:-1])

    def _note_position(self, event: yaml.Event) -> None:
        if position := _position(event):
            self.positions[self.place()] = position

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is not None and event.tag != "!" and event.tag not in _TAGS:
            self.fail(event, "this tag has no meaning here")


def _position(event: yaml.Event) -> Position | None:
    mark = event.start_mark
    return None if mark is None else (mark.line + 1, mark.column + 1)


def plain(text: str) -> Value:
    """What a scalar without quotes stands for."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    digits = text.replace("_", "")
    # The library looks at the first character to see whether it can be a number at all.
    if not digits or len(digits) > _LONGEST_NUMBER or text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(digits):
        return _integer(digits)
    if _FLOAT.fullmatch(digits) and not math.isinf(float(digits)):
        return float(digits)
    return text


def _integer(digits: str) -> int | float | str:
    sign = -1 if digits[0] == "-" else 1
    number = digits.lstrip("+-")
    base = {"0x": 16, "0b": 2, "0o": 8}.get(number[:2])
    if base is None and number.startswith("0") and number != "0":
        base = 8
    value = sign * int(number, base or 10)
    # Beyond 64 bits the kubelet's library goes on with a floating point number.
    return value if -(2**63) <= value < 2**64 else float(value)


def _is_of(value: Value, kind: str) -> bool:
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "float":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return value is None


# What a value says that is known to be of its form, or not there.


def mapping(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def items(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def text(value: Value) -> str:
    return value if isinstance(value, str) else ""


def texts(value: Value) -> tuple[str, ...]:
    return tuple(map(text, items(value)))


def number(value: Value, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
