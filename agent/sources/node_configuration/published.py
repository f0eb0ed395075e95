"""The same table as a JSON schema, for editors and pipelines.

`python -m agent.sources.node_configuration.published` writes what packaging/schemas has.
"""

import json
import sys
from typing import Any

from agent.sources.forms import LONGEST_TEXT, Fields, Flag, Form, ListOf, MapOf, Number, Text
from agent.sources.node_configuration.schema import KIND, SCHEMA, VERSION


def json_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:wmcb:{KIND.lower()}:{VERSION}",
        "title": KIND,
    }
    return head | json_schema_of(SCHEMA)


def text() -> str:
    return json.dumps(json_schema(), indent=2) + "\n"


def json_schema_of(form: Form) -> dict[str, Any]:
    """Of a part of it."""
    made = {"description": form.about} if form.about else {}
    if isinstance(form, Fields):
        return made | _fields(form)
    if isinstance(form, MapOf):
        return made | {
            "type": "object",
            "propertyNames": json_schema_of(form.key),
            "additionalProperties": json_schema_of(form.value),
            "minProperties": form.least,
            "maxProperties": form.most,
        }
    if isinstance(form, ListOf):
        counted = {"minItems": form.least, "maxItems": form.most}
        return made | {"type": "array", "items": json_schema_of(form.item)} | counted
    if isinstance(form, Flag):
        return made | {"type": "boolean"} | ({"const": True} if form.only_true else {})
    if isinstance(form, Number):
        kind = "integer" if form.whole else "number"
        return made | {"type": kind, "minimum": form.least, "maximum": form.most}
    return made | _text(form)


def _text(form: Text) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "string"}
    if form.one_of:
        return made | {"enum": list(form.one_of)}
    if form.pattern:
        made["pattern"] = f"^(?:{form.pattern})$"
    if form.least:
        made["minLength"] = form.least
    return made | ({"maxLength": form.most} if form.most != LONGEST_TEXT else {})


def _fields(form: Fields) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "object",
        "properties": {name: json_schema_of(inner) for name, inner in form.forms.items()},
        "additionalProperties": False,
    }
    if form.needed:
        made["required"] = list(form.needed)
    if form.exactly_one:
        made["oneOf"] = [{"required": [name]} for name in form.exactly_one]
    if form.one_of_each:
        made["allOf"] = [{"oneOf": [{"required": [name]} for name in group]} for group in form.one_of_each]
    if form.some:
        made["anyOf"] = [{"required": [name]} for name in form.some]
    if form.together:
        made["dependentRequired"] = {name: list(others) for name, others in form.together.items()}
    return made


if __name__ == "__main__":
    sys.stdout.write(text())
