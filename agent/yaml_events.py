"""Values out of a YAML parser's events: without recursion, so that no depth can end the process.

The bounds are on what the text expands to: a short file of aliases is no way to fill the memory. What a value
is, and how it is refused, differs from one format to another. What is wrong with a document that is no YAML
is told in words of our own, the same for all; nothing of it is quoted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, NoReturn, TypeVar

import yaml

Made = TypeVar("Made")
Place = tuple[str | int, ...]
"""Keys and list indexes from the top."""

MOST_VALUES = 50_000
_DEEPEST = 50
_MERGE = "<<"
_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INSIDE = {
    "flow sequence": "a comma is missing before this, or the closing bracket ]",
    "flow mapping": "a comma is missing before this, or the closing brace }",
    "flow node": "a value is missing before this, or the closing bracket",
    "quoted scalar": "a text in quotes is not closed, or has a backslash that means nothing: in double quotes"
    " it is written twice",
    "block mapping": "this line is indented otherwise than those of the mapping that it belongs to",
    "block collection": "this line is indented otherwise than those of the list that it belongs to",
    "simple key": "a colon and a space are missing behind the name",
    "block scalar": "behind | or > the line ends, and the text begins on the next one",
    "next token": "a text that begins with this character needs quotes",
    "anchor": "a name is missing behind &, and quotes around a text that begins so",
    "alias": "a name is missing behind *, and quotes around a text that begins so",
}
"""What the parser, in C or in Python, was reading. Its own words may quote what was there."""


@dataclass(slots=True)
class _Open(Generic[Made]):
    """A mapping or list that has not ended yet."""

    made: Made
    inside: dict[str, Made] | list[Made]
    place: Place
    size: int
    """How many values were there before it."""
    anchor: str | None
    key: str | None = None
    merges: bool = False
    """Whether that key is <<, and not a text that looks like it."""
    merged: set[str] = field(default_factory=set)
    """Keys that came by <<, which an own one may replace."""


class Builder(Generic[Made]):
    """What has no body here is the format's."""

    def __init__(self) -> None:
        self._open: list[_Open[Made]] = []
        self._anchors: dict[str, tuple[Made, int]] = {}
        """Each anchored value, and of how many values it consists."""
        self._size = 0
        self._result: Made | None = None
        self._documents = 0

    def build(self, text: str) -> Made | None:
        """None where there is nothing. Raises yaml.YAMLError for what is no YAML."""
        parser = _LOADER(text)
        try:
            while event := parser.get_event():
                self._take(event)
        finally:
            parser.dispose()
        return self._result

    # The format's

    def collection(self, inside: dict[str, Made] | list[Made], event: yaml.CollectionStartEvent) -> Made:
        raise NotImplementedError

    def scalar(self, event: yaml.ScalarEvent) -> Made:
        raise NotImplementedError

    def again(self, made: Made, event: yaml.AliasEvent) -> Made:
        """What an alias stands for."""
        raise NotImplementedError

    def inside(self, made: Made) -> object:
        """The mapping or list in it, if it is one."""
        raise NotImplementedError

    def key(self, event: yaml.ScalarEvent) -> str:
        return str(event.value)

    def twice(self, event: yaml.ScalarEvent) -> None:
        """The last of the values counts, if this returns."""
        raise NotImplementedError

    def fail(self, event: yaml.Event, why: str) -> NoReturn:
        raise NotImplementedError

    def refuse(self, made: Made, why: str) -> NoReturn:
        raise NotImplementedError

    def place(self) -> Place:
        """Of what comes next."""
        if not self._open:
            return ()
        current = self._open[-1]
        step = len(current.inside) if isinstance(current.inside, list) else current.key
        return (*current.place, step if step is not None else "")

    # Ours

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self.fail(event, "it holds more than one document")
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._begin(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._end()
        elif isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            self._take_alias(event)

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        if len(self._open) >= _DEEPEST:
            self.fail(event, f"it is nested deeper than {_DEEPEST} levels")
        self._refuse_as_key(event)
        inside: dict[str, Made] | list[Made] = {} if isinstance(event, yaml.MappingStartEvent) else []
        made = self.collection(inside, event)
        self._open.append(_Open(made, inside, self.place(), self._size, event.anchor))

    def _end(self) -> None:
        ended = self._open.pop()
        if ended.anchor:
            self._anchors[ended.anchor] = (ended.made, self._size - ended.size + 1)
        self._put(ended.made, 1)

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        if self._wants_key():
            self._take_key(self._open[-1], event)
            return
        made = self.scalar(event)
        if event.anchor:
            self._anchors[event.anchor] = (made, 1)
        self._put(made, 1)

    def _take_key(self, current: _Open[Made], event: yaml.ScalarEvent) -> None:
        key = self.key(event)
        current.merges = key == _MERGE and not event.style
        current.key = key
        if not current.merges:
            if key in current.inside and key not in current.merged:
                self.twice(event)
            current.merged.discard(key)

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        self._refuse_as_key(event)
        if event.anchor not in self._anchors:
            self.fail(event, "there is no finished value with this anchor")
        made, size = self._anchors[event.anchor]
        self._put(self.again(made, event), size)

    def _put(self, made: Made, size: int) -> None:
        self._size += size
        if self._size > MOST_VALUES:
            self.refuse(made, f"it expands to more than {MOST_VALUES:,} values")
        if not self._open:
            self._result = made
            return
        current = self._open[-1]
        if isinstance(current.inside, list):
            current.inside.append(made)
        elif current.key is not None:
            if current.merges:
                self._merge(current, current.inside, made)
            else:
                current.inside[current.key] = made
            current.key = None

    def _merge(self, current: _Open[Made], into: dict[str, Made], made: Made) -> None:
        inside = self.inside(made)
        for source in inside if isinstance(inside, list) else [made]:
            settings: Mapping[str, Made] | object = self.inside(source)
            if not isinstance(settings, dict):
                self.refuse(source, "<< wants a mapping, or a list of them")
            for key, inherited in settings.items():
                if key not in into:
                    into[key] = inherited
                    current.merged.add(key)

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].inside, dict) and self._open[-1].key is None

    def _refuse_as_key(self, event: yaml.Event) -> None:
        if self._wants_key():
            self.fail(event, "a key has to be text")


def yaml_fault(fault: yaml.MarkedYAMLError, text: str) -> str:
    """Begins with a colon; empty where nothing more is known than that."""
    line, column = "", 0
    if fault.problem_mark is not None:
        lines = text.split("\n")[fault.problem_mark.line :][:1]
        line, column = (lines[0] if lines else ""), fault.problem_mark.column
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return ": a tab indents it; use spaces"
    if "mapping values are not allowed" in (fault.problem or ""):
        if ": " in line[:column]:
            return ": a text with a colon in it needs quotes, or a line break is missing before this"
        return ": it goes on with the text of a line above: indent it as that is, or end that with its colon"
    context = fault.context or ""
    return next((f": {why}" for inside, why in _INSIDE.items() if inside in context), "")
