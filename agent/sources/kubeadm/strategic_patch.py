"""Strategic merge patches of a KubeletConfiguration, as kubeadm applies them.

No list of it is merged, so a list in a patch takes the place of the one before. What is left of the strategy
are directives: `$patch: replace` and `$patch: delete`, `$retainKeys`, and `$deleteFromPrimitiveList/NAME`.
"""

import copy

from agent.documents import Value
from agent.sources.kubeadm.json_patch import DoesNotApply, without_nulls
from agent.sources.kubelet import fields
from agent.sources.report import quoted

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_MAPS = (fields.TEXT_MAP, fields.BOOL_MAP, fields.TEXTS_MAP)


def apply(document: dict[str, Value], patch: Value) -> dict[str, Value]:
    """Raises DoesNotApply. Null changes nothing."""
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
