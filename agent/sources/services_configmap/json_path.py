"""Kubernetes' JSONPath, as far as it can lead to one text: a value of the Node, for a command line.

`{.metadata.name}` is looked up. A text without braces stands for itself; the operator gives paths of files
so. Loops (range and end) never lead to one text, and are not read.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from agent.documents import Value
from agent.sources.report import quoted

_LONGEST = 1000
_MOST_RESULTS = 10_000

_FIELD = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\])*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?[0-9.]*", re.ASCII)
_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?", re.ASCII)
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LITERAL_ESCAPES = frozenset("\\'\"")

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


class NoPath(ValueError):
    """The text is no such path, or can never lead to one text. It says why."""


class NotThere(Exception):
    """The Node has nothing there, or not one text. A later one may have."""


class _Constant(NamedTuple):
    value: str | int | float | bool


class _Field(NamedTuple):
    name: str


class _Slice(NamedTuple):
    start: int | None
    end: int | None
    step: int | None
    single: bool
    """Only `start` was given: one item."""


class _Wildcard(NamedTuple):
    pass


class _Descent(NamedTuple):
    pass


class _Union(NamedTuple):
    branches: tuple[_Steps, ...]


class _Filter(NamedTuple):
    left: _Steps
    operator: str
    """Empty where it is only asked whether there is something on the left."""
    right: _Steps


_Step = _Constant | _Field | _Slice | _Wildcard | _Descent | _Union | _Filter
_Steps = tuple[_Step, ...]


class JsonPath:
    """Made of a text; raises NoPath."""

    def __init__(self, path: str) -> None:
        parts = tuple(_parts(path))
        if not parts:
            _refuse("it is empty")
        if len(parts) > 1:
            _refuse("it has several parts, where one text is to come of it; keep a single {...}")
        self._steps = parts[0]
        self.path = path

    @property
    def constant(self) -> bool:
        """It stands for itself."""
        return all(isinstance(step, _Constant) for step in self._steps)

    def text(self, node: Value) -> str:
        """Raises NotThere."""
        found = _walk([node], self._steps)
        if len(found) != 1:
            raise NotThere(f"{len(found) or 'no'} values where there has to be one")
        if not isinstance(found[0], str):
            raise NotThere("what is there is no text")
        return found[0]


def _parts(path: str) -> Iterator[_Steps]:
    """Each text outside of braces, and each pair of braces."""
    if len(path) > _LONGEST:
        _refuse(f"it is longer than {_LONGEST:,} characters")
    place = 0
    while place < len(path):
        brace = path.find("{", place)
        if brace != place:
            end = len(path) if brace < 0 else brace
            yield (_Constant(path[place:end]),)
            place = end
        else:
            parser = _Parser(path, place + 1)
            yield tuple(parser.steps())
            place = parser.place


class _Parser:
    """Of what stands between two braces."""

    def __init__(self, text: str, place: int) -> None:
        self._text = text
        self.place = place

    def steps(self) -> Iterator[_Step]:
        before: _Step | None = None
        while not self._take("}"):
            for step in self._step():
                if isinstance(step, _Descent) and isinstance(before, _Descent):
                    _refuse(".. stands there twice in a row")
                before = step
                yield step

    def _step(self) -> _Steps:
        rest = self._text[self.place : self.place + 1]
        if not rest or rest in "\r\n":
            _refuse("its brace is not closed")
        if self._take("[?("):
            return (self._filter(),)
        if self._take(".."):
            return (_Descent(), self._field()) if _is_word(self._next()) else (_Descent(),)
        if self._take("["):
            return self._brackets()
        if self._take("."):
            return (self._field(),)
        if rest in " @$":  # the current object, or nothing
            self.place += 1
            return ()
        return (self._constant(rest),)

    def _take(self, text: str) -> bool:
        found = self._text.startswith(text, self.place)
        self.place += len(text) * found
        return found

    def _next(self) -> str:
        return self._text[self.place : self.place + 1]

    def _field(self) -> _Step:
        name = self._match(_FIELD)
        return _Wildcard() if name == "*" else _Field(name.replace("\\", ""))

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self.place)
        assert found is not None, "each of them matches the empty text"
        self.place = found.end()
        return found[0]

    def _constant(self, first: str) -> _Step:
        if first in "\"'":
            return _Constant(self._quoted(first))
        if first in "+-" or first.isdecimal():
            return _Constant(_number(self._match(_NUMBER)))
        if not _is_word(first):
            _refuse(f"{quoted(first)} has no meaning there")
        word = self._match(_FIELD)
        if word not in ("true", "false"):
            _refuse(f"{quoted(word)} has no meaning there; a field begins with a dot")
        return _Constant(word == "true")

    def _quoted(self, quote: str) -> str:
        end = self.place + 1
        while self._text[end : end + 1] != quote or self._text[end - 1] == "\\":
            if self._text[end : end + 1] in ("", "\n"):
                _refuse("a quote is not closed")
            end += 1
        inside = self._text[self.place + 1 : end]
        self.place = end + 1
        return _ESCAPED.sub(_unescaped, inside)

    def _brackets(self) -> _Steps:
        end = self._text.find("]", self.place)
        inside = self._text[self.place : end]
        if end < 0 or "\n" in inside:
            _refuse("a bracket is not closed")
        self.place = end + 1
        pieces = inside.split(",")
        if len(pieces) > 1:
            return (_Union(tuple(_inner(f"[{piece.strip(' ')}]") for piece in pieces)),)
        if key := _KEY.fullmatch(inside):
            return _inner(f".{key[1]}")
        return (_slice(":" if inside == "*" else inside),)

    def _filter(self) -> _Step:
        start = self.place
        quote = ""
        while (letter := self._next()) != ")" or quote:
            if letter in ("", "\n"):
                _refuse("a filter is not closed")
            if letter in "\"'" and self._text[self.place - 1] != "\\":
                quote = letter if not quote else "" if letter == quote else quote
            self.place += 1
        inside = self._text[start : self.place]
        if not self._take(")]"):
            _refuse("a filter is closed by )]")
        compared = _COMPARISON.fullmatch(inside)
        if compared is None:
            return _Filter(_inner(inside), "", ())
        if compared[2] not in _OPERATORS:
            _refuse(f"{quoted(compared[2])} compares nothing; use one of {' '.join(_OPERATORS)}")
        return _Filter(_inner(compared[1]), compared[2], _inner(compared[3]))


def _inner(text: str) -> _Steps:
    parser = _Parser(f"{text}}}", 0)
    steps = tuple(parser.steps())
    if parser.place <= len(text):
        _refuse("a brace stands inside of brackets")
    return steps


def _slice(inside: str) -> _Slice:
    found = _SLICE.fullmatch(inside)
    if found is None:
        _refuse("what stands in brackets is no index, no range and no key in single quotes")
    start, end, step = (
        None if part is None or part in ("", ":") else _index(part) for part in found.groups()
    )
    if step is not None and step <= 0:
        _refuse("a range has to step forward")
    return _Slice(start, end, step, single=found[2] is None)


def _index(part: str) -> int:
    digits = part.removeprefix(":")
    if digits == "-" or len(digits) > 9:
        _refuse("what stands in brackets is no index")
    return int(digits)


def _number(digits: str) -> int | float:
    try:
        return float(digits) if "." in digits else int(digits)
    except ValueError:
        _refuse("a number in it is none")


def _unescaped(found: re.Match[str]) -> str:
    letter = found[1]
    if letter not in _ESCAPES and letter not in _LITERAL_ESCAPES:
        _refuse("a backslash stands in quotes before a letter that it gives no meaning")
    return _ESCAPES.get(letter, letter)


def _is_word(letter: str) -> bool:
    return letter == "_" or letter.isalpha() or letter.isdecimal()


def _refuse(why: str) -> NoReturn:
    raise NoPath(why)


# Looking it up


def _walk(values: Sequence[Value], steps: _Steps) -> list[Value]:
    found = list(values)
    for step in steps:
        found = _after(found, step)
        if len(found) > _MOST_RESULTS:
            raise NotThere("it leads to too many values")
    return found


def _after(values: list[Value], step: _Step) -> list[Value]:
    there = [value for value in values if value is not None]
    if isinstance(step, _Constant):
        return [step.value for _ in values] if not isinstance(step.value, str) else [step.value]
    if isinstance(step, _Field):
        return _fields(values, step.name)
    if isinstance(step, _Wildcard):
        return [child for value in there for child in _children(value)]
    if isinstance(step, _Descent):
        return list(_descended(there))
    if isinstance(step, _Slice):
        return [item for value in there for item in _sliced(value, step)]
    if isinstance(step, _Union):
        return [found for branch in step.branches for found in _walk(values, branch)]
    return [item for value in values for item in _filtered(value, step)]


def _fields(values: list[Value], name: str) -> list[Value]:
    found = [value[name] for value in values if isinstance(value, dict) and name in value]
    if values and not found:
        raise NotThere(f"there is no {quoted(name)}")
    return found


def _children(value: Value) -> list[Value]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descended(values: Sequence[Value]) -> Iterator[Value]:
    """All that holds something, from above, each before what it holds. To Go a text holds its bytes."""
    waiting = list(reversed(values))
    count = 0
    while waiting:
        value = waiting.pop()
        children = _children(value)
        if children or (isinstance(value, str) and value):
            count += 1
            if count > _MOST_RESULTS:
                raise NotThere("it leads to too many values")
            yield value
            waiting += reversed(children)


def _sliced(value: Value, wanted: _Slice) -> list[Value]:
    if not isinstance(value, list):
        raise NotThere("what an index is for is no list")
    length = len(value)
    start = wanted.start or 0
    end = start + 1 if wanted.single else length if wanted.end is None else wanted.end
    start += length if start < 0 else 0
    end += length if end < 0 or (end == 0 and wanted.single) else 0
    if start == end:
        return []
    if not (0 <= start < length and start <= end <= length):
        raise NotThere("an index is beyond the end of its list")
    return value[start : end : wanted.step or 1]


def _filtered(value: Value, wanted: _Filter) -> Iterator[Value]:
    if not isinstance(value, list):
        raise NotThere("what a filter is for is no list")
    for item in value:
        try:
            left = _walk([item], wanted.left)
        except NotThere:
            if wanted.operator:
                raise
            continue
        if not wanted.operator:
            if left:
                yield item
        elif left and (right := _walk([item], wanted.right)) and _holds(left, wanted.operator, right):
            yield item


def _holds(left: list[Value], comparison: str, right: list[Value]) -> bool:
    if len(left) > 1 or len(right) > 1:
        raise NotThere("a filter compares more than one value")
    kinds = {_kind(left[0]), _kind(right[0])}
    ordered = comparison not in ("==", "!=")
    if len(kinds) > 1 or not kinds <= ({"text", "number"} if ordered else {"text", "number", "flag"}):
        raise NotThere("a filter compares what cannot be compared")
    return _OPERATORS[comparison](left[0], right[0])


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "other"
