"""Several cloud-configs made one.

cloudbase-init carries out each part for itself, one after the other: every list is worked through, and of a
single value the last one holds. So it is here. A part that says how it is to be merged, by merge_how,
merge_type or a header Merge-Type, is merged as cloud-init does.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.sources.cloudconfig.document import Node
from agent.sources.cloudconfig.faults import Refused
from agent.sources.report import Origin

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
    """Raises Refused where a part says how in a way that nobody knows."""
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
