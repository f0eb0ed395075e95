"""JSON patches (RFC 6902) and JSON merge patches (RFC 7396), as kubeadm's library applies them.

It is more lenient than the RFC: `replace` also adds what an object does not have, `test` takes null for what
is not there, and an index may count from the end.
"""

import copy
import re
from collections.abc import Callable, Mapping

from agent.documents import Value
from agent.sources.report import quoted

_INDEX = re.compile(r"[-+]?[0-9]{1,9}", re.ASCII)
_END = "-"


class DoesNotApply(Exception):
    """The text says which part of the patch does not, and why."""


def apply(document: dict[str, Value], patch: Value) -> dict[str, Value]:
    """Raises DoesNotApply. Null is a patch without operations."""
    if patch is None:
        return document
    if not isinstance(patch, list):
        raise DoesNotApply("a JSON patch is a list of operations")
    made: Value = copy.deepcopy(document)
    for number, operation in enumerate(patch, 1):
        if not isinstance(operation, dict):
            raise DoesNotApply(f"operation {number} is no mapping")
        try:
            made = _apply(made, operation)
        except DoesNotApply as fault:
            shown = f"{_text(operation, 'op')} {quoted(_text(operation, 'path'))}"
            raise DoesNotApply(f"operation {number} ({shown}): {fault}") from None
    if not isinstance(made, dict):
        raise DoesNotApply("it leaves no mapping of settings")
    return made


def _apply(document: Value, operation: Mapping[str, Value]) -> Value:
    kind = _text(operation, "op")
    path = operation.get("path")
    if kind not in (*_OPERATIONS, "move", "copy"):
        known = ", ".join((*_OPERATIONS, "move", "copy"))
        raise DoesNotApply(f"there is no such operation; a JSON patch has {known}")
    if not isinstance(path, str):
        raise DoesNotApply("it has no path")
    value = copy.deepcopy(operation.get("value"))
    if not path and kind in ("replace", "test"):
        return _whole(document, kind, value)
    if kind in ("move", "copy"):
        value = _taken(document, operation.get("from"), kind)
        kind = "add"
    _OPERATIONS[kind](document, path, value)
    return document


def _taken(document: Value, source: Value, kind: str) -> Value:
    if not isinstance(source, str):
        raise DoesNotApply("it has no from")
    value = copy.deepcopy(_get(document, source))
    if kind == "move":
        _remove(document, source, None)
    return value


def _whole(document: Value, kind: str, value: Value) -> Value:
    if kind == "replace":
        if not isinstance(value, dict | list):
            raise DoesNotApply("the whole can be replaced by a mapping only")
        return value
    if not _equal(document, value):
        raise DoesNotApply("another value is there")
    return document


def _holder(document: Value, path: str) -> tuple[dict[str, Value] | list[Value], str]:
    """What the last part of the path is to be looked for in."""
    _, *parts = path.split("/")
    if not parts:
        raise DoesNotApply("a path begins with /")
    *before, last = (part.replace("~1", "/").replace("~0", "~") for part in parts)
    holder = document
    for part in before:
        holder = _inside(holder, part)
    if not isinstance(holder, dict | list):
        raise DoesNotApply("there is nothing that could hold it")
    return holder, last


def _inside(holder: Value, part: str) -> Value:
    if isinstance(holder, dict):
        return holder.get(part)
    if isinstance(holder, list):
        return holder[_index(part, len(holder))]
    raise DoesNotApply(f"there is nothing at {quoted(part)}")


def _index(part: str, length: int) -> int:
    number = int(part) if _INDEX.fullmatch(part) else None
    if number is None or not -length <= number < length:
        raise DoesNotApply(f"{quoted(part)} is no index of a list of {length}")
    return number


def _get(document: Value, path: str) -> Value:
    holder, last = _holder(document, path)
    return _inside(holder, last)


def _add(document: Value, path: str, value: Value) -> None:
    holder, last = _holder(document, path)
    if isinstance(holder, dict):
        holder[last] = value
    elif last == _END:
        holder.append(value)
    else:
        # Behind the last one, too; counted from the end, -1 is there.
        place = _index(last, len(holder) + 1)
        holder.insert(place if place >= 0 else place + len(holder) + 1, value)


def _remove(document: Value, path: str, _: Value) -> None:
    holder, last = _holder(document, path)
    if isinstance(holder, dict):
        if last not in holder:
            raise DoesNotApply("it is not there")
        del holder[last]
    else:
        del holder[_index(last, len(holder))]


def _replace(document: Value, path: str, value: Value) -> None:
    holder, last = _holder(document, path)
    if isinstance(holder, dict):
        holder[last] = value
    else:
        holder[_index(last, len(holder))] = value


def _test(document: Value, path: str, value: Value) -> None:
    if not _equal(_get(document, path), value):
        raise DoesNotApply("another value is there")


_OPERATIONS: Mapping[str, Callable[[Value, str, Value], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
}


def _equal(one: Value, other: Value) -> bool:
    """As JSON sees it: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _text(operation: Mapping[str, Value], key: str) -> str:
    found = operation.get(key)
    return found if isinstance(found, str) else ""


def merge(document: dict[str, Value], patch: Value) -> dict[str, Value]:
    """A merge patch. Raises DoesNotApply."""
    if not isinstance(patch, dict):
        raise DoesNotApply("a merge patch is a mapping")
    made = _merged(document, patch)
    assert isinstance(made, dict), "what a mapping is merged into is one"
    return made


def _merged(value: Value, patch: Value) -> Value:
    if not isinstance(patch, dict):
        return without_nulls(patch) if not isinstance(value, dict) else copy.deepcopy(patch)
    if not isinstance(value, dict):
        return without_nulls(patch)
    made = dict(value)
    for key, inner in patch.items():
        if inner is None:
            made.pop(key, None)
        elif made.get(key) is None:
            made[key] = without_nulls(inner)
        else:
            made[key] = _merged(made[key], inner)
    return made


def without_nulls(value: Value) -> Value:
    """Those that are values of a mapping; in a list they stay."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value
