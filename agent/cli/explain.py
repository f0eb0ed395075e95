"""`wmcb explain`: the fields of a NodeConfiguration, shown as `kubectl explain` shows Kubernetes'."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.cli import options
from agent.cli.arguments import Request
from agent.cli.failure import DONE, BadUsage
from agent.cli.streams import did_you_mean, document, say
from agent.sources.forms import LONGEST_TEXT, Fields, Flag, Form, ListOf, MapOf, Number, Text
from agent.sources.node_configuration.published import json_schema_of
from agent.sources.node_configuration.schema import API, KIND, SCHEMA

_WIDTH = 78
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class _Field:
    form: Form
    path: tuple[str, ...] = ()
    is_needed: bool = False


def show(request: Request) -> int:
    """The whole of it where nothing is named."""
    found = _named(request.operand)
    if request.wants_json:
        path = ".".join(found.path)
        say(document(kind=KIND, version=API, field=path, schema=json_schema_of(found.form)))
    else:
        say("\n".join(_lines(found, recursive=request.has(options.RECURSIVE))))
    return DONE


def _named(operand: str) -> _Field:
    """Raises BadUsage."""
    found = _Field(SCHEMA)
    words = operand.split(".") if operand else []
    if words and words[0].lower() == KIND.lower():
        del words[0]
    for word in words:
        found = _below(found, word, operand)
    return found


def _below(field: _Field, word: str, operand: str) -> _Field:
    inner = innermost(field.form)
    there: Mapping[str, Form] = inner.forms if isinstance(inner, Fields) else {}
    name = next((each for each in there if each.lower() == word.lower()), None)
    if name is None:
        where = ".".join(field.path) or KIND
        names = f"there is {', '.join(there)}" if there else f"it is a {type_of(field.form)}"
        known = did_you_mean(word, there, names)
        raise BadUsage.of("explain", operand, f"{where} has no field {word or 'without a name'}; {known}")
    needed = isinstance(inner, Fields) and name in inner.needed
    return _Field(there[name], (*field.path, name), needed)


def innermost(form: Form) -> Form:
    """Of a list or a map what is in it: its fields are named as if there were one only, as with kubectl."""
    while isinstance(form, ListOf | MapOf):
        form = form.item if isinstance(form, ListOf) else form.value
    return form


def _lines(found: _Field, *, recursive: bool) -> Iterator[str]:
    yield f"KIND:       {KIND}"
    yield f"VERSION:    {API}"
    if found.path:
        yield ""
        yield f"FIELD: {_headed(found)}"
    yield ""
    yield "DESCRIPTION:"
    yield from _described(found.form, itself=True)
    inner = innermost(found.form)
    if isinstance(inner, Fields):
        yield ""
        yield "FIELDS:"
        yield from _names(inner, "  ") if recursive else _fields(inner)


def _fields(form: Fields) -> Iterator[str]:
    for name, inner in form.forms.items():
        yield f"  {_headed(_Field(inner, (name,), name in form.needed))}"
        yield from _described(inner, itself=False)
        yield ""


def _names(form: Fields, indent: str) -> Iterator[str]:
    for name, inner in form.forms.items():
        yield f"{indent}{_headed(_Field(inner, (name,), name in form.needed))}"
        below = innermost(inner)
        if isinstance(below, Fields):
            yield from _names(below, f"{indent}  ")


def _headed(field: _Field) -> str:
    return f"{field.path[-1]} <{type_of(field.form)}>{' -required-' if field.is_needed else ''}"


def type_of(form: Form) -> str:
    if isinstance(form, ListOf):
        return f"[]{type_of(form.item)}"
    if isinstance(form, MapOf):
        return f"map[string]{type_of(form.value)}"
    if isinstance(form, Fields):
        return "Object"
    if isinstance(form, Flag):
        return "boolean"
    if isinstance(form, Number):
        return "integer" if form.whole else "number"
    return "string"


def _described(form: Form, *, itself: bool) -> Iterator[str]:
    for paragraph in _paragraphs(form, itself=itself):
        yield from textwrap.wrap(paragraph, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _paragraphs(form: Form, *, itself: bool) -> Iterator[str]:
    """What it is for, and what its type does not say; of `itself` also how its fields belong together."""
    inner = innermost(form)
    said = [form.about] if inner is form else [form.about, inner.about]
    yield " ".join(each for each in said if each)
    if isinstance(form, ListOf | MapOf) and form.least:
        yield f"At least {form.least}."
    if isinstance(inner, Text):
        yield from _of_text(inner)
    elif isinstance(inner, Number):
        yield f"From {inner.least:,g} to {int(inner.most):,}."
    elif isinstance(inner, Flag) and inner.only_true:
        yield "true, or left out."
    elif isinstance(inner, Fields) and itself:
        yield from _of_fields(inner)


def _of_text(form: Text) -> Iterator[str]:
    if form.one_of:
        yield f"One of: {', '.join(form.one_of)}"
    elif form.expected != Text().expected:
        most = f" At most {form.most:,} characters." if form.most != LONGEST_TEXT else ""
        yield f"Expected: {form.expected.rstrip(',')}.{most}"


def _of_fields(form: Fields) -> Iterator[str]:
    for names in (form.exactly_one, *form.one_of_each):
        if names:
            yield f"Exactly one of: {', '.join(names)}"
    if form.some:
        yield f"At least one of: {', '.join(form.some)}"
    for name, others in form.together.items():
        yield f"{name} needs: {', '.join(others)}"
