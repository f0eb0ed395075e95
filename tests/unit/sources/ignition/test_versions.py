from __future__ import annotations

import json

import pytest

from agent.sources import ignition

_SUPPORTED = ["2.0.0", "2.1.0", "2.2.0", "2.3.0", "2.4.0", *(f"3.{minor}.0" for minor in range(7))]


def _load(version: object) -> ignition.Outcome:
    return ignition.load("worker.ign", json.dumps({"ignition": {"version": version}}).encode())


@pytest.mark.parametrize("version", [*_SUPPORTED, "02.4.0", "3.1.00", "3.2.0-", "3.2.0+"])
def test_taken(version: str) -> None:
    outcome = _load(version)
    assert outcome.configuration
    assert not outcome.report.entries


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("3.7.0", 'version "3.7.0" is not known'),
        ("3.7.0-experimental", '"3.7.0-experimental" is no final version'),
        ("3.6.0-experimental", "no final version"),
        ("3.2.0+build", "no final version"),
        ("2.5.0-experimental", "no final version"),
        ("2.5.0", "is not known"),
        ("4.0.0", "is not known"),
        ("1.0.0", "is not known"),
        ("3.2.1", "is not known"),
        ("3.2", "is no version"),
        ("v3.2.0", "is no version"),
        (" 3.2.0", "is no version"),
        ("3.\u0662.0", "is no version"),
        ("9" * 30 + ".0.0", "is no version"),
        ("", "must say for which version"),
        (None, "must say for which version"),
        (3.2, "must say for which version"),
    ],
)
def test_refused(version: object, words: str) -> None:
    outcome = _load(version)
    assert outcome.configuration is None
    (entry,) = outcome.report.entries
    assert words in entry.message
    assert "use 2.0.0 to 2.4.0 or 3.0.0 to 3.6.0" in entry.message


@pytest.mark.parametrize(
    ("document", "words", "path"),
    [
        ({}, "ignition.version must say", "$"),
        ({"ignition": {}}, "ignition.version must say", "$.ignition"),
        ({"ignition": []}, "ignition.version must say", "$.ignition"),
        ({"ignitionVersion": 1}, "it is for Ignition 1", "$"),
    ],
)
def test_no_version(document: object, words: str, path: str) -> None:
    (entry,) = ignition.load("worker.ign", json.dumps(document).encode()).report.entries
    assert words in entry.message
    assert entry.path == path


def test_keys_go_in_any_case_with_a_warning() -> None:
    outcome = ignition.load("worker.ign", b'{"Ignition": {"VER\\u017fION": "3.2.0"}}')
    assert outcome.configuration
    assert [entry.path for entry in outcome.report.warnings] == ["$.Ignition", '$.Ignition."VER\\u017fION"']


def test_the_same_key_in_two_cases_is_refused() -> None:
    outcome = ignition.load("worker.ign", b'{"ignition": {"version": "3.2.0", "Version": "3.2.0"}}')
    (entry,) = outcome.report.errors
    assert 'it says the same as "version"' in entry.message
