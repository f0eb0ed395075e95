"""As much of JSON Schema (draft 2020-12) as our published schema uses, each rule as its text has it.

A keyword that is not known here fails the test: whoever uses a further one in the schema adds it here. The
library for it would bring five more packages into the locked development tools, one of them compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Schema = dict[str, Any]

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: not isinstance(value, bool) and (isinstance(value, int) or _whole(value)),
}
_TOLD = {"$schema", "$id", "title", "description"}


def _whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()


def is_valid(schema: Schema, value: Any) -> bool:
    """Each keyword counts for values of its own type, and for all others it holds."""
    return all(_holds(keyword, schema, value) for keyword in schema.keys() - _TOLD)


def _holds(keyword: str, schema: Schema, value: Any) -> bool:
    wanted = schema[keyword]
    if keyword == "type":
        return _TYPES[wanted](value)
    if keyword == "enum":
        return any(value == each and type(value) is type(each) for each in wanted)
    if keyword == "const":
        return value is wanted
    if keyword in ("oneOf", "anyOf"):
        fitting = sum(is_valid(each, value) for each in wanted)
        return fitting == 1 if keyword == "oneOf" else fitting > 0
    if keyword == "allOf":
        return all(is_valid(each, value) for each in wanted)
    for kind, rules in _RULES.items():
        if keyword in rules:
            return not isinstance(value, kind) or isinstance(value, bool) or rules[keyword](schema, value)
    raise AssertionError(f"{keyword} is not known to this checker")


def _properties(schema: Schema, value: dict[str, Any]) -> bool:
    known = schema["properties"]
    return all(is_valid(known[name], inner) for name, inner in value.items() if name in known)


def _additional(schema: Schema, value: dict[str, Any]) -> bool:
    others = [inner for name, inner in value.items() if name not in schema.get("properties", {})]
    wanted = schema["additionalProperties"]
    return not others if wanted is False else all(is_valid(wanted, inner) for inner in others)


def _dependent(schema: Schema, value: dict[str, Any]) -> bool:
    return all(
        value.keys() >= set(others) for name, others in schema["dependentRequired"].items() if name in value
    )


_RULES: Mapping[type | tuple[type, ...], Mapping[str, Callable[[Schema, Any], bool]]] = {
    dict: {
        "properties": _properties,
        "additionalProperties": _additional,
        "dependentRequired": _dependent,
        "required": lambda schema, value: value.keys() >= set(schema["required"]),
        "propertyNames": lambda schema, value: all(is_valid(schema["propertyNames"], name) for name in value),
        "minProperties": lambda schema, value: len(value) >= schema["minProperties"],
        "maxProperties": lambda schema, value: len(value) <= schema["maxProperties"],
    },
    list: {
        "items": lambda schema, value: all(is_valid(schema["items"], each) for each in value),
        "minItems": lambda schema, value: len(value) >= schema["minItems"],
        "maxItems": lambda schema, value: len(value) <= schema["maxItems"],
    },
    str: {
        # ECMAScript's $ is the very end, which Python's is not.
        "pattern": lambda schema, value: re.fullmatch(schema["pattern"], value) is not None,
        "minLength": lambda schema, value: len(value) >= schema["minLength"],
        "maxLength": lambda schema, value: len(value) <= schema["maxLength"],
    },
    (int, float): {
        "minimum": lambda schema, value: value >= schema["minimum"],
        "maximum": lambda schema, value: value <= schema["maximum"],
    },
}
