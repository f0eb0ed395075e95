"""Lines and columns in a JSON text, looked for only when there is something to report.

The text is known to be valid JSON. Values on the way are skipped, never built.
"""

import re
from collections.abc import Iterable, Iterator
from json import decoder

from agent.sources.ignition.findings import Finding
from agent.sources.report import Place

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
