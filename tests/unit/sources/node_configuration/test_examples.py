"""Each example in tests/data, read, and held against the schema that is published."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.documents import Value, read_document
from agent.sources.forms import Checking, Fields, Flag, Form, ListOf, MapOf, Number, Text
from agent.sources.kubelet.documents import Document
from agent.sources.node_configuration import published
from agent.sources.node_configuration.schema import SCHEMA
from unit.sources.node_configuration.examples import DATA, expected, judged
from unit.sources.node_configuration.json_schema import is_valid

PUBLISHED = Path(__file__).parents[4] / "packaging" / "schemas" / "nodeconfiguration-v1beta1.json"
JSON_SCHEMA = json.loads(PUBLISHED.read_text())


def _examples(folder: str) -> list[Any]:
    found = [path for path in (DATA / folder).iterdir() if not path.name.endswith(".expected.json")]
    assert found
    return [pytest.param(path, id=path.stem) for path in sorted(found)]


def test_the_published_schema_is_of_the_table_that_the_reader_goes_by() -> None:
    """`python -m agent.sources.node_configuration.published` writes it anew."""
    assert PUBLISHED.read_text() == published.text()


def test_the_example_beside_the_schema_is_valid() -> None:
    told, wanted = judged(
        PUBLISHED.with_name("README.md").read_bytes().split(b"```")[1].removeprefix(b"yaml\n")
    )
    assert told == []
    assert [each["kind"] for each in wanted] == ["directory", "file", "service"]


@pytest.mark.parametrize("path", _examples("valid"))
def test_a_valid_example_is_taken_by_both(path: Path) -> None:
    told, wanted = judged(path.read_bytes())
    assert told == []
    assert wanted == expected(path)
    assert is_valid(JSON_SCHEMA, read_document(path.read_bytes()).value)


@pytest.mark.parametrize("path", _examples("bad"))
def test_a_bad_example_is_refused_by_both(path: Path) -> None:
    told, wanted = judged(path.read_bytes())
    assert (told, wanted) == (expected(path), [])
    assert not is_valid(JSON_SCHEMA, read_document(path.read_bytes()).value)


@pytest.mark.parametrize("path", _examples("bad_in_meaning"))
def test_what_no_schema_can_say_is_refused_by_the_reader(path: Path) -> None:
    told, wanted = judged(path.read_bytes())
    assert (told, wanted) == (expected(path), [])
    assert is_valid(JSON_SCHEMA, read_document(path.read_bytes()).value)


@pytest.mark.parametrize("path", _examples("unreadable"))
def test_what_is_no_such_document_is_refused(path: Path) -> None:
    assert judged(path.read_bytes()) == (expected(path), [])


@pytest.mark.parametrize("folder", ["bad", "bad_in_meaning", "unreadable"])
def test_no_error_quotes_a_content(folder: str) -> None:
    for parameter in _examples(folder):
        told, _ = judged(parameter.values[0].read_bytes())
        assert told
        assert "swordfish" not in " ".join(told)


_TEXTS = ("", "a", "C:\\a", "A=/b", "a\n", "\x00", "x" * 40_000)
_VALUES: tuple[Any, ...] = (*_TEXTS, None, True, 0, 2.0, -1, 1e9, [], {})
_OTHERS = st.sampled_from(_VALUES)


def _of(form: Form) -> st.SearchStrategy[Any]:
    """What has this form, more often than not, or nearly."""
    if isinstance(form, Fields):
        fields = {name: _of(inner) for name, inner in form.forms.items()}
        needed = {name: fields.pop(name) for name in form.needed}
        return st.fixed_dictionaries(needed, optional=fields) | st.fixed_dictionaries(needed)
    if isinstance(form, MapOf):
        return st.dictionaries(_of(form.key).map(str), _of(form.value), max_size=2)
    if isinstance(form, ListOf):
        return st.lists(_of(form.item), max_size=2)
    return _of_one(form) | _OTHERS


def _of_one(form: Text | Number | Flag) -> st.SearchStrategy[Any]:
    if isinstance(form, Flag):
        return st.booleans()
    if isinstance(form, Number):
        edges = [form.least, form.most, form.least - 1, form.most + 1, 1.5]
        return st.sampled_from(edges) | st.integers(int(form.least), int(form.most))
    if form.one_of:
        return st.sampled_from(form.one_of)
    return st.from_regex(form.pattern, fullmatch=True) if form.pattern else st.text(max_size=3)


def _changed(value: Any) -> Iterator[Any]:
    """The same with one value put in the place of another, taken away or added, wherever there is one."""
    yield from _VALUES
    if isinstance(value, dict):
        yield {**value, "unknown": 1}
        for key, inner in value.items():
            yield {name: each for name, each in value.items() if name != key}
            yield from ({**value, key: each} for each in _changed(inner))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], each, *value[at + 1 :]] for each in _changed(inner))


def _takes(value: Value) -> bool:
    checking = Checking(Document("node.yaml", {}), [])
    checking.of(SCHEMA, value, ())
    return not checking.entries


def test_the_reader_and_the_published_schema_agree_on_every_change_of_one_value() -> None:
    value = read_document((DATA / "valid" / "everything.yaml").read_bytes()).value
    taken = Counter[bool]()
    for changed in _changed(value):
        taken[_takes(changed)] += 1
        assert is_valid(JSON_SCHEMA, changed) == _takes(changed), changed
    assert min(taken[True], taken[False]) > 100


@given(_of(SCHEMA) | _OTHERS)
def test_the_reader_takes_what_the_published_schema_takes(value: Value) -> None:
    assert is_valid(JSON_SCHEMA, value) == _takes(value)


@given(_of(SCHEMA))
def test_any_document_is_taken_or_refused(value: Value) -> None:
    told, wanted = judged(json.dumps(value).encode())
    assert not (told and wanted)
    assert all(line.isprintable() for line in told)
