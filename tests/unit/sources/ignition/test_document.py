"""Bytes that are no document, and the line and column of what is wrong in one that is."""

from __future__ import annotations

import json
import sys

import pytest

from agent.sources import ignition
from agent.sources.ignition.document import Finding, duplicate_keys, line_and_column, locate
from agent.sources.report import Severity

_VERSION = b'"ignition":{"version":"3.2.0"}'


# Newer Pythons point at the comma, older ones at what should not follow it.
COMMA_TOO_MANY = (1, 8) if sys.version_info >= (3, 13) else (2, 1)


@pytest.mark.parametrize(
    ("raw", "words", "spot"),
    [
        pytest.param(b"", "it is empty", (None, None), id="empty"),
        pytest.param(b" \r\n\t", "it is empty", (None, None), id="blank"),
        pytest.param(b"\xef\xbb\xbf{}", "byte order mark", (1, 1), id="utf-8-mark"),
        pytest.param("{}".encode("utf-16"), "it is UTF-16", (1, 1), id="utf-16"),
        pytest.param("{}".encode("utf-32"), "it is UTF-32", (1, 1), id="utf-32"),
        pytest.param(b'{\n"\xc3\xa4": "\xff"}', "byte 0xff cannot be here", (2, 7), id="not-utf-8"),
        pytest.param(b'{"a": "\xc3', "byte 0xc3 cannot be here", (1, 8), id="utf-8-cut"),
        pytest.param(b"\x1f\x8b\x08\x00", "compressed with gzip", (None, None), id="gzip"),
        pytest.param(b"#cloud-config\nx: y", "cloud-init user data", (None, None), id="cloud-config"),
        pytest.param(b"#!/bin/sh\n", "cloud-init user data", (None, None), id="script"),
        pytest.param(b"MZ\x90\x00\x03", "it is not UTF-8", (1, 3), id="program"),
        pytest.param(b"kind: Pod", "it is not JSON", (1, 1), id="yaml"),
        pytest.param(
            b'{"a": 1,\n}',
            "it is not JSON: a comma comes before the closing bracket",
            COMMA_TOO_MANY,
            id="comma-too-many",
        ),
        pytest.param(b'{"a": 1}\n{}', "it is not JSON: it goes on after its end", (2, 1), id="two-documents"),
        pytest.param(b'{"a": "x', "it is not JSON", (1, 7), id="cut"),
        pytest.param(
            b'{"a": "x\ny"}',
            "it is not JSON: a line break, or another control character",
            (1, 9),
            id="newline-in-text",
        ),
        pytest.param(b'{"NaN": "NaN",\n "a": NaN}', "NaN is no number", (2, 7), id="nan"),
        pytest.param(b"[-Infinity]", "-Infinity is no number", (1, 2), id="infinity"),
        pytest.param(b"[" * 100_000, "nested too deeply", (None, None), id="deep"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply", (None, None), id="deep-objects"),
        pytest.param(b'{"a":1,\n"b":[{"c":1,"c":2}]}', 'the key "c" is given twice', (2, 13), id="key-twice"),
        pytest.param(b"[]", "a JSON object", (1, 1), id="list"),
        pytest.param(b"null", "a JSON object", (1, 1), id="null"),
        pytest.param(b'"x"', "a JSON object", (1, 1), id="text"),
    ],
)
def test_no_document(raw: bytes, words: str, spot: tuple[int | None, int | None]) -> None:
    outcome = ignition.load("worker.ign", raw)
    assert outcome.configuration is None
    (entry,) = outcome.report.errors
    assert words in entry.message
    assert (entry.line, entry.column) == spot
    assert str(entry).startswith("error: worker.ign")
    assert "\n" not in str(entry)


@pytest.mark.parametrize(
    ("text", "place", "spot"),
    [
        pytest.param('{"storage": 1}', ("storage",), (1, 13), id="value"),
        pytest.param('{\n "storage": {\n  "files": []}}', ("storage", "files"), (3, 12), id="below"),
        pytest.param('{"a": [1, [2], {"b": "]}"}, 4]}', ("a", 3), (1, 29), id="list-item-after-brackets"),
        pytest.param('{"a\\u0062": {"c": true}}', ("ab", "c"), (1, 19), id="escaped-key"),
        pytest.param('{"ä": "\U0001f600", "b": 2}', ("b",), (1, 17), id="characters-not-bytes"),
        pytest.param('{"a": {"b": 1}}', ("a", "c"), (1, 7), id="missing-is-told-at-its-parent"),
        pytest.param('{"a": 5}', ("a", "b", 3), (1, 7), id="missing-below-a-scalar"),
        pytest.param("[ ]", (0,), (1, 1), id="missing-item"),
    ],
)
def test_place_of_value(text: str, place: tuple[str | int, ...], spot: tuple[int, int]) -> None:
    json.loads(text)
    assert locate(text, [Finding(Severity.ERROR, place, "")]) == [spot]


def test_place_of_key_and_many_at_once() -> None:
    text = '{\n  "b": {"x": 1},\n  "a": {"y": 2}\n}'
    findings = [
        Finding(Severity.ERROR, ("a", "y"), "", at_key=True),
        Finding(Severity.ERROR, ("b",), "", at_key=True),
        Finding(Severity.ERROR, ("a", "y"), ""),
        Finding(Severity.ERROR, ("a", "z"), "", at_key=True),
    ]
    assert locate(text, findings) == [(3, 9), (2, 3), (3, 14), (3, 8)]


def test_duplicate_keys_at_any_depth() -> None:
    text = '{"a": [{}, {"b": 1, "b": {"a": 1, "a": [1, {}]}}], "c": "a", "a": []}'
    found = [(place, text[offset : offset + 3]) for place, offset in duplicate_keys(text)]
    assert found == [(("a", 1, "b"), '"b"'), (("a", 1, "b", "a"), '"a"'), (("a",), '"a"')]


def test_columns_begin_anew_with_each_line() -> None:
    assert line_and_column("ab\ncd", 4) == (2, 2)


def test_entries_are_limited_and_the_rest_is_counted() -> None:
    files = [{"path": "x"} for _ in range(2000)]
    raw = json.dumps({"ignition": {"version": "3.2.0"}, "storage": {"files": files}}).encode()
    report = ignition.load("worker.ign", raw).report
    assert len(report.entries) == 500
    assert report.omitted == 2000 + 1999 - 500


def test_a_number_of_a_million_digits_takes_no_time() -> None:
    raw = b"{" + _VERSION + b',"storage":{"files":[{"path":"/a","mode":' + b"1" * 1_000_000 + b"}]}}"
    (entry,) = ignition.load("worker.ign", raw).report.errors
    assert entry.path == "$.storage.files.0.mode"


def test_keys_in_paths_stay_on_one_line() -> None:
    raw = b"{" + _VERSION + b', "a\\nb\\u2028": 1, "%s": 2}' % (b"x" * 1000)
    first, second = ignition.load("worker.ign", raw).report.warnings
    assert first.path == '$."a\\nb\\u2028"'
    assert len(second.path) < 100


def test_half_a_character_is_refused_where_it_stands_and_ignored_where_nobody_looks() -> None:
    half = b'"\\ud83d"'
    used = b"{" + _VERSION + b',"storage":{"files":[{"path":' + half + b"}]}}"
    (entry,) = ignition.load("worker.ign", used).report.errors
    assert "half a character" in entry.message
    unknown = b"{" + _VERSION + b',"x":' + half + b"}"
    assert not ignition.load("worker.ign", unknown).report.fatal
    whole = b"{" + _VERSION + b',"storage":{"files":[{"path":"/\\ud83d\\ude00"}]}}'
    outcome = ignition.load("worker.ign", whole)
    assert outcome.configuration
    assert list(outcome.configuration.files) == ["/\U0001f600"]
