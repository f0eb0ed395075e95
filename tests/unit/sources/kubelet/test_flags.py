from __future__ import annotations

from pathlib import Path

import pytest

from agent.sources.kubelet import fields
from agent.sources.kubelet.arguments import _RULES
from agent.sources.kubelet.flags import FLAGS, Kind, Treatment, by_name
from agent.sources.kubelet.node import NEWEST, OLDEST

DATA = Path(__file__).parents[4] / "tests" / "data" / "kubelet"


def rows(name: str) -> list[list[str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


BY_RELEASE = rows("flags-by-release.txt")
ON_WINDOWS = dict(rows("flags-windows-1.36.3.txt"))


def test_each_flag_is_there_once() -> None:
    assert len(by_name()) == len(FLAGS)


@pytest.mark.parametrize(
    ("name", "first", "last", "systems", "kind"), BY_RELEASE, ids=[row[0] for row in BY_RELEASE]
)
def test_each_flag_of_each_release_is_in_the_table(
    name: str, first: str, last: str, systems: str, kind: str
) -> None:
    flag = by_name()[name]
    assert flag.last == (None if int(last) == NEWEST else int(last))
    if int(first) > OLDEST and flag.treatment not in (Treatment.DROP, Treatment.CONFIGURE):
        assert flag.first == int(first)
    if systems == "linux":
        assert flag.treatment is Treatment.DROP
    if kind != "?":
        assert flag.kind.name.lower() == kind


def test_what_kubelet_exe_lists_is_what_the_table_says_it_takes() -> None:
    for name, kind in ON_WINDOWS.items():
        assert by_name()[name].kind.name.lower() == kind
        assert by_name()[name].last is None
    kept = {flag.name for flag in FLAGS if flag.last is None and flag.treatment is not Treatment.DROP}
    assert kept <= set(ON_WINDOWS)


def test_each_row_is_whole() -> None:
    for flag in FLAGS:
        assert flag.reason
        assert (flag.treatment is Treatment.CONFIGURE) == bool(flag.field)
        assert flag.first <= (flag.last or NEWEST)
        if flag.field:
            assert flag.field in fields.by_name()
            assert fields.by_name()[flag.field].shape is _FITTING[flag.kind]


_FITTING = {
    Kind.TEXT: fields.TEXT,
    Kind.LIST: fields.TEXTS,
    Kind.PAIRS: fields.TEXT_MAP,
    Kind.SWITCHES: fields.BOOL_MAP,
    Kind.THRESHOLDS: fields.TEXT_MAP,
    Kind.TAINTS: fields.OBJECTS,
    Kind.RESERVATIONS: fields.OBJECTS,
    Kind.DURATION: fields.DURATION,
}


def test_each_rule_has_its_row_and_each_row_its_rule() -> None:
    assert set(_RULES) == {flag.name for flag in FLAGS if flag.treatment is Treatment.RULE}


FIELDS = dict(rows("configuration-fields.txt"))


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_of_each_release_is_in_the_table(name: str) -> None:
    assert fields.by_name()[name].shape.name.lower() == FIELDS[name]


def test_no_field_but_those() -> None:
    ours = {field.name for field in fields.FIELDS if "." not in field.name}
    assert ours - {"apiVersion", "kind"} == set(FIELDS)
    assert len(fields.by_name()) == len(fields.FIELDS)


def test_what_is_changed_has_a_reason() -> None:
    for field in fields.FIELDS:
        assert bool(field.reason) == (field.treatment is not Treatment.KEEP)
