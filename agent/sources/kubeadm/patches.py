"""The folder of patches (patches.directory, --patches): which of its files are for the kubelet, how each
is applied.

A name is TARGET, anything, +TYPE, .yaml or .json, such as kubeletconfiguration0+merge.yaml. Of the targets a
worker has only kubeletconfiguration.
"""

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent.documents import Value
from agent.sources.kubeadm.decoding import values
from agent.sources.kubelet import fields
from agent.sources.kubelet.documents import NotReadable
from agent.sources.report import Entry, Report, Severity, bounded, quoted

_INDEX = re.compile(r"[-+]?[0-9]{1,9}", re.ASCII)
_END = "-"


class DoesNotApply(Exception):
    """The text says which part of the patch does not, and why."""


def apply_json(document: dict[str, Value], patch: Value) -> dict[str, Value]:
    """A JSON patch (RFC 6902), as kubeadm's library applies it. Raises DoesNotApply.

    It is more lenient than the RFC: `replace` also adds what an object does not have, `test` takes null for
    what is not there, and an index may count from the end. Null is a patch without operations.
    """
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


def apply_merge(document: dict[str, Value], patch: Value) -> dict[str, Value]:
    """A JSON merge patch (RFC 7396). Raises DoesNotApply."""
    if not isinstance(patch, dict):
        raise DoesNotApply("a merge patch is a mapping")
    made = _merged_by_rfc(document, patch)
    assert isinstance(made, dict), "what a mapping is merged into is one"
    return made


def _merged_by_rfc(value: Value, patch: Value) -> Value:
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
            made[key] = _merged_by_rfc(made[key], inner)
    return made


def without_nulls(value: Value) -> Value:
    """Those that are values of a mapping; in a list they stay."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_MAPS = (fields.TEXT_MAP, fields.BOOL_MAP, fields.TEXTS_MAP)


def apply_strategic(document: dict[str, Value], patch: Value) -> dict[str, Value]:
    """A strategic merge patch of a KubeletConfiguration, as kubeadm applies it. Raises DoesNotApply.

    No list of it is merged, so a list in a patch takes the place of the one before. What is left of the
    strategy are directives: `$patch: replace` and `$patch: delete`, `$retainKeys`, and
    `$deleteFromPrimitiveList/NAME`. Null changes nothing.
    """
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise DoesNotApply("a strategic patch is a mapping")
    return _merged(copy.deepcopy(document), copy.deepcopy(patch), "")


def _merged(value: dict[str, Value], patch: dict[str, Value], within: str) -> dict[str, Value]:
    """`within` is the name of the mapping, with those around it, and a dot at its end."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    if _RETAIN in patch:
        _retain(value, patch)
    for key, inner in patch.items():
        if key.startswith(_ORDER):
            raise DoesNotApply(f"{quoted(key)}: no list of a KubeletConfiguration has an order to set")
        name = key.removeprefix(_DELETE_FROM)
        if inner is None:
            value.pop(name, None)
        elif name != key:
            _delete_from(value, name, inner, within)
        else:
            _put(value, key, inner, within)
    return value


def _directed(patch: dict[str, Value]) -> dict[str, Value]:
    directive = patch.pop(_DIRECTIVE)
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise DoesNotApply(f"{_DIRECTIVE} can be replace or delete only")


def _retain(value: dict[str, Value], patch: dict[str, Value]) -> None:
    kept = patch.pop(_RETAIN)
    if not isinstance(kept, list):
        raise DoesNotApply(f"{_RETAIN} wants a list of names")
    own = [
        key
        for key, inner in patch.items()
        if inner is not None and not key.startswith((_DELETE_FROM, _ORDER))
    ]
    if any(key not in kept for key in own):
        raise DoesNotApply(f"what the patch sets has to be in {_RETAIN} as well")
    for key in [key for key in value if key not in kept]:
        del value[key]


def _delete_from(value: dict[str, Value], name: str, unwanted: Value, within: str) -> None:
    there = value.get(name)
    if not isinstance(there, list) or not isinstance(unwanted, list):
        return
    _look_up(name, within)
    if not there and not unwanted:
        return
    kinds = {type(item) for item in (*there, *unwanted)}
    if len(kinds) > 1 or kinds & {dict, list}:
        raise DoesNotApply(
            f"{quoted(name)} and what is to go from it have to be of one kind, and plain values"
        )
    value[name] = [item for item in there if item not in unwanted]


def _put(value: dict[str, Value], key: str, inner: Value, within: str) -> None:
    there = value.get(key)
    if isinstance(there, dict) and isinstance(inner, dict):
        _look_up(key, within)
        value[key] = _merged(there, inner, f"{within}{key}.")
    elif isinstance(there, list) and isinstance(inner, list):
        _look_up(key, within)
        value[key] = inner
    elif there is not None and type(there) is type(inner):
        value[key] = inner
    else:
        fresh = without_nulls(inner)
        value[key] = _without_directives(fresh)
        if _is_directed(fresh):
            del value[key]


def _without_directives(value: Value) -> Value:
    """Mappings that carry one are left out."""
    if isinstance(value, dict):
        return {key: _without_directives(inner) for key, inner in value.items() if not _is_directed(inner)}
    if isinstance(value, list):
        return [_without_directives(inner) for inner in value if not _is_directed(inner)]
    return value


def _is_directed(value: Value) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _look_up(key: str, within: str) -> None:
    """What is to be merged has to be known: the library asks the type of the field how."""
    around = fields.by_name().get(within.rstrip("."))
    if around is not None and around.shape in _MAPS:
        raise DoesNotApply(f"{quoted(within + key)}: a mapping of texts holds nothing that could be merged")
    if within and within.rstrip(".") not in fields.with_fields_inside():
        return
    name = f"{within}{key}".lower()
    if not any(known.lower() == name for known in fields.by_name()):
        raise DoesNotApply(f"no kubelet knows {quoted(within + key)}")


TARGET = "kubeletconfiguration"
_TARGETS = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", TARGET, "corednsdeployment",
    "kubeproxydaemonset",
)  # fmt: skip
_APPLY: Mapping[str, Callable[[dict[str, Value], Value], dict[str, Value]]] = {
    "json": apply_json,
    "merge": apply_merge,
    "strategic": apply_strategic,
}
_USUAL = "strategic"
_FILE = re.compile(r".+\.(json|yaml)")
_NAME = re.compile(rf"({'|'.join(_TARGETS)})([^.+\n]*)(\+)?({'|'.join(_APPLY)})?")


@dataclass(frozen=True, slots=True)
class Patch:
    file: str
    line: int
    """Where in the file it begins."""
    type: str
    value: Value


@dataclass(frozen=True, slots=True)
class Patches:
    found: tuple[Patch, ...]
    """In the order of applying."""
    report: Report


def read_patches(files: Mapping[str, bytes]) -> Patches:
    """`files` are all in the folder and in those below it, by their path from there, with slashes. Of
    those that are no `is_patch` the name alone counts.
    """
    found: list[Patch] = []
    entries: list[Entry] = []
    for path in sorted(files, key=lambda path: path.split("/")):
        type_ = _type(path, entries)
        if type_ is None:
            continue
        if not files[path]:
            entries.append(Entry(Severity.WARNING, "it is empty, and no patch", path))
            continue
        try:
            # As kubeadm: nothing between two separators is no patch, and blanks before one are dropped.
            for line, _, reading in values(path, files[path], trims=True):
                if reading.value is not None or reading.positions:
                    found.append(Patch(path, line, type_, reading.value))
        except NotReadable as fault:
            entries.append(fault.entry)
    return Patches(tuple(found), bounded(entries))


def patched(value: dict[str, Value], patches: Patches) -> tuple[dict[str, Value], Report]:
    """The kubelet's configuration with every patch applied; where one does not apply, none after it is."""
    for patch in patches.found:
        try:
            value = _APPLY[patch.type](value, patch.value)
        except DoesNotApply as fault:
            message = f"the {patch.type} patch does not apply: {fault}"
            return value, Report((Entry(Severity.ERROR, message, patch.file, line=patch.line),))
    return value, Report()


def is_patch(path: str) -> bool:
    """By its name, one that is for the kubelet."""
    return _type(path, []) is not None


def _type(path: str, entries: list[Entry]) -> str | None:
    """None for a file that is no patch of ours."""
    name = path.rpartition("/")[2]
    found = _NAME.match(name)
    if not _FILE.fullmatch(name):
        message = "it is left out: the name of a patch ends in .yaml or .json"
    elif found is None:
        message = f"it is left out: the name of a patch begins with {', '.join(_TARGETS)}"
    elif found[3] and not found[4]:
        message = (
            f"behind the + of a patch's name stands {', '.join(_APPLY)}, not {quoted(name[found.end() :])}"
        )
        entries.append(Entry(Severity.ERROR, message, path))
        return None
    elif found[1] == TARGET:
        return found[4] or _USUAL
    else:
        message = f"it is left out: {found[1]} runs in the control plane, not on a Windows node"
    entries.append(Entry(Severity.WARNING, message, path))
    return None
