"""A cloud-config's YAML as values that know where they stand, so that they can be merged and still be blamed.

Scalars are what PyYAML makes of them, since cloud-init and cloudbase-init both read with it: `yes` is true,
0644 is octal. Built from the parser's events, without recursion, and bounded by what aliases expand to.
"""

from __future__ import annotations

from typing import NoReturn

import yaml

from agent.records import field, frozen, mutable
from agent.sources.cloudconfig.faults import Origin, Refused
from agent.sources.report import quoted

Scalar = str | int | float | bool | bytes | None

_MOST_VALUES = 50_000
_DEEPEST = 50
_LONGEST_NUMBER = 40
_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PREFIX = "tag:yaml.org,2002:"
_SCALARS = frozenset(_PREFIX + name for name in ("str", "bool", "int", "float", "null", "binary"))
_MERGE = "<<"


@mutable
class Node:
    value: Scalar | list[Node] | dict[str, Node] = field(shown=False)
    origin: Origin

    @property
    def mapping(self) -> dict[str, Node]:
        """Empty where it is none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def text(self) -> str:
        """A scalar as Python writes it, which is how both of them turn one into text."""
        return "" if self.value is None else str(self.value)


@frozen
class Document:
    root: Node
    repeated: tuple[Origin, ...]
    """Keys that are there a second time, which takes the place of the first."""


def read(part: str, text: str, first_line: int = 1) -> Document:
    """A cloud-config. Raises Refused."""
    builder = _Builder(part, first_line)
    try:
        root = builder.build(text)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark
        line, column = (mark.line + first_line, mark.column + 1) if mark else (None, None)
        raise Refused(Origin(part, (), line, column), "it is not YAML") from None
    except yaml.YAMLError:
        raise Refused(Origin(part), "it is not YAML: a character in it cannot be there") from None
    if root is None or not isinstance(root.value, dict):
        origin = root.origin if root else Origin(part)
        raise Refused(origin, "a cloud-config is a mapping of keys such as write_files and runcmd")
    return Document(root, tuple(builder.repeated))


class _NoScalar(Exception):
    pass


class _Scalars(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """PyYAML's own rules for what a scalar is."""

    def __init__(self) -> None:
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)

    def made(self, event: yaml.ScalarEvent) -> Scalar:
        """Raises _NoScalar."""
        tag = event.tag
        if tag is None or tag == "!":
            tag = self.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
        if tag not in _SCALARS:
            if event.tag in (None, "!"):
                # A date: as the text that it is.
                return str(event.value)
            raise _NoScalar("this tag has no meaning here")
        if tag in (_PREFIX + "int", _PREFIX + "float") and len(event.value) > _LONGEST_NUMBER:
            raise _NoScalar("this number has too many digits")
        try:
            made: Scalar = self.construct_object(yaml.ScalarNode(tag, event.value))
        except (yaml.YAMLError, ValueError, LookupError, ArithmeticError):
            # What they say quotes the value.
            raise _NoScalar("this is not what its tag says") from None
        return made


@mutable
class _Open:
    node: Node
    size: int
    """How many values were there before it."""
    anchor: str | None
    key: str | None = None
    merged: set[str] = field(default_factory=set)
    """Keys that came by <<, which an own one may replace."""


class _Builder:
    def __init__(self, part: str, first_line: int) -> None:
        self._part = part
        self._first_line = first_line
        self._scalars = _Scalars()
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._size = 0
        self._root: Node | None = None
        self._documents = 0
        self.repeated: list[Origin] = []

    def build(self, text: str) -> Node | None:
        parser = _LOADER(text)
        try:
            while event := parser.get_event():
                self._take(event)
        finally:
            parser.dispose()
        return self._root

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._fail(event, "a second YAML document begins here; a cloud-config is one")
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
            self._fail(event, f"it is nested deeper than {_DEEPEST} levels")
        if self._wants_key():
            self._fail(event, "a key has to be text")
        if event.tag not in (None, "!", _PREFIX + "map", _PREFIX + "seq"):
            self._fail(event, "this tag has no meaning here")
        made: dict[str, Node] | list[Node]
        made = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Open(Node(made, self._origin(event)), self._size, event.anchor))

    def _end(self) -> None:
        ended = self._open.pop()
        if ended.anchor:
            self._anchors[ended.anchor] = (ended.node, self._size - ended.size + 1)
        self._put(ended.node, 1)

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        if self._wants_key():
            self._take_key(event)
            return
        try:
            value = self._scalars.made(event)
        except _NoScalar as fault:
            self._fail(event, str(fault))
        node = Node(value, self._origin(event))
        if event.anchor:
            self._anchors[event.anchor] = (node, 1)
        self._put(node, 1)

    def _take_key(self, event: yaml.ScalarEvent) -> None:
        current = self._open[-1]
        key = str(event.value)
        current.key = key
        if key == _MERGE and not event.style:
            return
        if key in current.node.mapping and key not in current.merged:
            self.repeated.append(self._origin(event))
        current.merged.discard(key)

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        if self._wants_key():
            self._fail(event, "a key has to be text")
        if event.anchor not in self._anchors:
            self._fail(event, "there is no finished value with this anchor")
        node, size = self._anchors[event.anchor]
        self._put(Node(node.value, self._origin(event)), size)

    def _put(self, node: Node, size: int) -> None:
        self._size += size
        if self._size > _MOST_VALUES:
            raise Refused(node.origin, f"it expands to more than {_MOST_VALUES:,} values")
        if not self._open:
            self._root = node
            return
        current = self._open[-1]
        into = current.node.value
        if isinstance(into, list):
            into.append(node)
        elif isinstance(into, dict) and current.key is not None:
            if current.key == _MERGE:
                self._merge(current, into, node)
            else:
                into[current.key] = node
            current.key = None

    def _merge(self, current: _Open, into: dict[str, Node], node: Node) -> None:
        for source in node.value if isinstance(node.value, list) else [node]:
            if not isinstance(source.value, dict):
                raise Refused(source.origin, "<< wants a mapping, or a list of them")
            for key, inherited in source.value.items():
                if key not in into:
                    into[key] = inherited
                    current.merged.add(key)

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].node.value, dict) and self._open[-1].key is None

    def _origin(self, event: yaml.Event) -> Origin:
        place: tuple[str | int, ...] = ()
        if self._open:
            current = self._open[-1]
            value = current.node.value
            step = len(value) if isinstance(value, list) else current.key
            place = (*current.node.origin.place, "" if step is None else step)
        mark = event.start_mark
        if mark is None:
            return Origin(self._part, place)
        return Origin(self._part, place, mark.line + self._first_line, mark.column + 1)

    def _fail(self, event: yaml.Event, why: str) -> NoReturn:
        raise Refused(self._origin(event), why)


def kind_of(node: Node) -> str:
    """What it is, for a message that must not show it."""
    value = node.value
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    return (
        "true or false"
        if isinstance(value, bool)
        else "a number"
        if isinstance(value, int | float)
        else "text"
    )


def key_name(key: str) -> str:
    return quoted(key)[1:-1]
