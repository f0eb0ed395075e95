"""The bill of materials, of a few parts."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from exebuild import materials
from exebuild.parts import Part
from unit.exe.cyclonedx import broken_rules, components

PARTS = [
    Part("wmcb", "1.2.3", "Apache-2.0", (), "text"),
    Part("CPython", "3.13.2", "Python-2.0", ("_internal/python313.dll", "_internal/_ssl.pyd"), "text"),
    Part("tomlkit", "0.15.2", "MIT", (), "text", package="pkg:pypi/tomlkit@0.15.2"),
    Part(
        "OpenSSL", "3.0.15", "Apache-2.0", ("_internal/libssl-3.dll",), "text", "CPython",
        "pkg:generic/openssl@3.0.15", "cpe:2.3:a:openssl:openssl:3.0.15:*:*:*:*:*:*:*",
    ),
    Part("liblzma", "", "in the public domain", ("_internal/python313.dll",), "text", "CPython"),
]  # fmt: skip
FILES = {
    "wmcb.exe": b"program",
    "_internal/wmcb-log.exe": b"runner",
    "_internal/python313.dll": b"python",
    "_internal/_ssl.pyd": b"_ssl",
    "_internal/libssl-3.dll": b"libssl",
}


@pytest.fixture
def bill() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(materials.bill(PARTS, "0" * 40, FILES))
    return read


def test_it_keeps_our_rules(bill: dict[str, Any]) -> None:
    assert broken_rules(bill) == []


def test_it_is_of_the_program_and_its_commit(bill: dict[str, Any]) -> None:
    own = bill["metadata"]["component"]
    assert (own["name"], own["version"]) == ("wmcb", "1.2.3")
    assert own["properties"] == [{"name": "wmcb:commit", "value": "0" * 40}]


def test_each_file_is_told_once_with_its_hash(bill: dict[str, Any]) -> None:
    files = [
        (each["name"], each["hashes"][0]["content"]) for each in components(bill) if each["type"] == "file"
    ]
    assert sorted(files) == sorted((name, hashlib.sha256(data).hexdigest()) for name, data in FILES.items())


def test_it_is_the_same_each_time(bill: dict[str, Any]) -> None:
    """What has no reference of its own, CycloneDX' library sorts by where it lies in memory."""
    for _ in range(10):
        assert json.loads(materials.bill(PARTS, "0" * 40, FILES)) == bill


def test_each_part_says_where_it_is(bill: dict[str, Any]) -> None:
    places = {
        each["name"]: [place["location"] for place in each["evidence"]["occurrences"]]
        for each in bill["components"]
    }
    assert places == {
        "CPython": ["_internal/_ssl.pyd", "_internal/python313.dll"],
        "tomlkit": ["wmcb.exe"],
        "OpenSSL": ["_internal/libssl-3.dll"],
        "liblzma": ["_internal/python313.dll"],
    }


def test_what_a_part_brings_along_is_below_it(bill: dict[str, Any]) -> None:
    assert {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]} == {
        "wmcb": ["CPython", "tomlkit"],
        "CPython": ["CPython/OpenSSL@3.0.15", "CPython/liblzma@"],
        "tomlkit": [],
        "CPython/OpenSSL@3.0.15": [],
        "CPython/liblzma@": [],
    }


def test_a_version_that_nobody_tells_is_left_out(bill: dict[str, Any]) -> None:
    (liblzma,) = (each for each in bill["components"] if each["name"] == "liblzma")
    assert "version" not in liblzma
    assert liblzma["licenses"] == [{"license": {"name": "in the public domain"}}]


def _with(document: dict[str, Any], **changed: object) -> dict[str, Any]:
    document["components"][0].update(changed)
    return document


@pytest.mark.parametrize(
    "changed",
    [
        {"name": ""},
        {"bom-ref": "CPython/OpenSSL@3.0.15"},
        {"cpe": "openssl"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_the_rules_notice(bill: dict[str, Any], changed: dict[str, object]) -> None:
    """The control for the first test."""
    assert broken_rules(_with(bill, **changed)) != []
