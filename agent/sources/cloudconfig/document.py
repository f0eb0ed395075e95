"""A cloud-config's YAML as values that know where they stand, so that they can be merged and still be blamed.

Scalars are what PyYAML makes of them, since cloud-init and cloudbase-init both read with it: `yes` is true,
0644 is octal. Built from the parser's events, without recursion, and bounded by what aliases expand to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import yaml

from agent.redaction import register_document
from agent.secret_fields import registers_secrets
from agent.sources.cloudconfig.model import Refused
from agent.sources.report import Origin, quoted, quoted_key
from agent.yaml_events import Builder, yaml_fault

Scalar = str | int | float | bool | bytes | None

_LONGEST_NUMBER = 40
_PREFIX = "tag:yaml.org,2002:"
_SCALARS = frozenset(_PREFIX + name for name in ("str", "bool", "int", "float", "null", "binary"))


@registers_secrets
@dataclass(slots=True)
class Node:
    value: Scalar | list[Node] | dict[str, Node] = field(repr=False)
    origin: Origin

    @property
    def mapping(self) -> dict[str, Node]:
        """Empty where it is none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def text(self) -> str:
        """A scalar as Python writes it, which is how both of them turn one into text."""
        return "" if self.value is None else str(self.value)


@dataclass(frozen=True, slots=True)
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
        raise Refused(Origin(part, (), line, column), f"it is not YAML{yaml_fault(fault, text)}") from None
    except yaml.YAMLError:
        raise Refused(Origin(part), "it is not YAML: a character in it cannot be there") from None
    if root is None or not isinstance(root.value, dict):
        origin = root.origin if root else Origin(part)
        raise Refused(origin, "a cloud-config is a mapping of keys such as write_files and runcmd")
    register_document(_plain(root))
    return Document(root, tuple(builder.repeated))


def _plain(node: Node) -> object:
    """Without the places. No deeper than a builder lets it be."""
    if isinstance(node.value, dict):
        return {key: _plain(each) for key, each in node.value.items()}
    return [_plain(each) for each in node.value] if isinstance(node.value, list) else node.value


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


class _Builder(Builder[Node]):
    def __init__(self, part: str, first_line: int) -> None:
        super().__init__()
        self._part = part
        self._first_line = first_line
        self._scalars = _Scalars()
        self.repeated: list[Origin] = []

    def collection(self, inside: dict[str, Node] | list[Node], event: yaml.CollectionStartEvent) -> Node:
        if event.tag not in (None, "!", _PREFIX + "map", _PREFIX + "seq"):
            self.fail(event, "this tag has no meaning here")
        return Node(inside, self._origin(event))

    def scalar(self, event: yaml.ScalarEvent) -> Node:
        try:
            value = self._scalars.made(event)
        except _NoScalar as fault:
            self.fail(event, str(fault))
        return Node(value, self._origin(event))

    def again(self, made: Node, event: yaml.AliasEvent) -> Node:
        return Node(made.value, self._origin(event))

    def inside(self, made: Node) -> Scalar | list[Node] | dict[str, Node]:
        return made.value

    def twice(self, event: yaml.ScalarEvent) -> None:
        self.repeated.append(self._origin(event))

    def fail(self, event: yaml.Event, why: str) -> NoReturn:
        raise Refused(self._origin(event), why)

    def refuse(self, made: Node, why: str) -> NoReturn:
        raise Refused(made.origin, why)

    def _origin(self, event: yaml.Event) -> Origin:
        mark = event.start_mark
        if mark is None:
            return Origin(self._part, self.place())
        return Origin(self._part, self.place(), mark.line + self._first_line, mark.column + 1)


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
    return quoted_key(key)[1:-1]


def value_name(value: str) -> str:
    """What is known by a value, a device to mount, a user, a path, as a message can show it: on one line, and
    with Windows' separators as a person writes them.
    """
    return quoted(value)[1:-1]


_HOW = re.compile(r"([A-Za-z_]\w*)\(([^()]*)\)")
_KEYS = ("merge_how", "merge_type")
_RECURSIONS = ("recurse_str", "recurse_array", "recurse_list", "recurse_dict")
_OPTIONS = {
    "dict": {"replace", "no_replace", "allow_delete", *_RECURSIONS},
    "list": {"replace", "no_replace", "append", "prepend", *_RECURSIONS},
    "str": {"append"},
}


@dataclass(frozen=True, slots=True)
class Strategy:
    """For each kind of value, in what way; a kind that is not named keeps what was there first."""

    options: dict[str, frozenset[str]]

    def merged(self, old: Node, new: Node) -> Node:
        if isinstance(old.value, dict) and "dict" in self.options:
            return Node(self._mappings(old.value, new, self.options["dict"]), old.origin)
        if isinstance(old.value, list) and "list" in self.options:
            return self._lists(old, old.value, new, self.options["list"])
        if isinstance(old.value, str) and isinstance(new.value, str) and "str" in self.options:
            both = old.value + new.value if "append" in self.options["str"] else new.value
            return Node(both, new.origin)
        return old

    def _mappings(self, old: dict[str, Node], new: Node, options: frozenset[str]) -> dict[str, Node]:
        made = dict(old)
        if not isinstance(new.value, dict):
            return made
        replace = "replace" in options
        for key, value in new.value.items():
            if key not in made:
                made[key] = value
            elif value.value is None and "allow_delete" in options:
                del made[key]
            elif replace:
                made[key] = value
            elif self._recurses(value, options | {"recurse_dict"}):
                made[key] = self.merged(made[key], value)
        return made

    def _lists(self, old: Node, items: list[Node], new: Node, options: frozenset[str]) -> Node:
        if "append" in options or "prepend" in options:
            more = new.value if isinstance(new.value, list) else [new]
            both = [*more, *items] if "prepend" in options else [*items, *more]
            return Node(both, old.origin)
        if not isinstance(new.value, list):
            return old if "no_replace" in options else new
        if "no_replace" in options:
            return old
        changed = [
            self.merged(before, after) if self._recurses(after, options) else after
            for before, after in zip(items, new.value, strict=False)
        ]
        return Node([*changed, *items[len(changed) :]], old.origin)

    @staticmethod
    def _recurses(value: Node, options: frozenset[str]) -> bool:
        if isinstance(value.value, list):
            return bool(options & {"recurse_array", "recurse_list"})
        if isinstance(value.value, dict):
            return "recurse_dict" in options
        return isinstance(value.value, str) and "recurse_str" in options


def merged(so_far: Node, part: Node, header: str) -> Node:
    """Several cloud-configs made one. Raises Refused where a part says how in an unknown way.

    cloudbase-init carries out each part for itself, one after the other: every list is worked through, and of
    a single value the last one holds. So it is here. A part that says how it is to be merged, by merge_how,
    merge_type or a header Merge-Type, is merged as cloud-init does.
    """
    strategy = _strategy(part, header)
    value = {key: node for key, node in part.mapping.items() if key not in _KEYS}
    new = Node(value, part.origin)
    if strategy is not None:
        return strategy.merged(so_far, new)
    made = dict(so_far.mapping)
    for key, node in value.items():
        before = made.get(key)
        if before and isinstance(before.value, list) and isinstance(node.value, list):
            made[key] = Node([*before.value, *node.value], before.origin)
        else:
            made[key] = node
    return Node(made, so_far.origin)


def _strategy(part: Node, header: str) -> Strategy | None:
    given = next((part.mapping[key] for key in _KEYS if key in part.mapping), None)
    origin = given.origin if given else part.origin
    said = list(_said(given)) if given else []
    said += _in_text(header, Origin(part.origin.document))
    if not said:
        return None
    made: dict[str, frozenset[str]] = {}
    for name, options in said:
        if name not in _OPTIONS or not options <= _OPTIONS[name]:
            raise Refused(
                origin,
                "this way of merging is not known; use dict(), list() and str() with cloud-init's options",
            )
        made.setdefault(name, options)
    return Strategy(made)


def _said(given: Node) -> Iterator[tuple[str, frozenset[str]]]:
    if isinstance(given.value, str):
        yield from _in_text(given.value, given.origin)
        return
    if not isinstance(given.value, list):
        raise Refused(given.origin, "a text such as dict(recurse_array)+list(append), or a list is expected")
    for item in given.value:
        settings = item.mapping.get("settings")
        if "name" not in item.mapping or settings is None or not isinstance(settings.value, list):
            raise Refused(item.origin, "an entry with name and a list of settings is expected")
        options = frozenset(_normal(option.text) for option in settings.value)
        yield _normal(item.mapping["name"].text), options


def _in_text(text: str, origin: Origin) -> list[tuple[str, frozenset[str]]]:
    made = []
    for word in filter(None, map(str.strip, text.split("+"))):
        found = _HOW.fullmatch(word)
        if found is None:
            raise Refused(origin, "a text such as dict(recurse_array)+list(append) is expected")
        options = frozenset(filter(None, map(_normal, found[2].split(","))))
        made.append((_normal(found[1]), options))
    return made


def _normal(name: str) -> str:
    return name.strip().lower().replace("-", "_")
