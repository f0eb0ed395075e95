"""`wmcb explain`: every field of a NodeConfiguration, by the tables that its reader goes by."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agent.cli.dispatch import run
from agent.sources.forms import Fields, Form, ListOf, MapOf
from agent.sources.node_configuration.schema import SCHEMA


def _explained(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["explain", *words]) == 0
    return capsys.readouterr().out


def _paths(form: Form) -> Iterator[str]:
    while isinstance(form, ListOf | MapOf):
        form = form.item if isinstance(form, ListOf) else form.value
    for name, inner in form.forms.items() if isinstance(form, Fields) else ():
        yield name
        yield from (f"{name}.{below}" for below in _paths(inner))


def test_a_field_is_shown_as_kubectl_would(capsys: pytest.CaptureFixture[str]) -> None:
    assert _explained(capsys, "services.restart").splitlines() == [
        "KIND:       NodeConfiguration",
        "VERSION:    wmcb.internal/v1beta1",
        "",
        "FIELD: restart <Object>",
        "",
        "DESCRIPTION:",
        "    What Windows does when its process fails.",
        "",
        "FIELDS:",
        "  afterSeconds <[]number> -required-",
        "    The pause before each restart; the last counts for all later ones.",
        "    At least 1.",
        "    From 0 to 86,400.",
        "",
        "  forgivenAfterSeconds <integer> -required-",
        "    After so long without a failure the count begins anew.",
        "    From 0 to 2,678,400.",
        "",
    ]


def test_the_whole_has_all_that_may_be_wanted_of_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    whole = _explained(capsys)
    assert [name for name in SCHEMA.forms if f"\n  {name} <" not in whole] == []
    assert _explained(capsys, "NodeConfiguration") == whole


def test_every_field_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    paths = list(_paths(SCHEMA))
    assert len(paths) > 50
    for path in paths:
        last = path.rpartition(".")[2]
        assert f"FIELD: {last} <" in _explained(capsys, f"nodeconfiguration.{path}"), path


def test_how_fields_belong_together_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = _explained(capsys, "artifacts")
    assert "    Exactly one of: sha256, sha512, checksums\n    Exactly one of: path, unpack\n" in told


def test_fields_of_fields_are_listed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    below = _explained(capsys, "--recursive", "files").partition("FIELDS:\n")[2]
    assert "  path <string> -required-\n" in below
    assert "  source <Object>\n    url <string> -required-\n    sha256 <string> -required-\n" in below


def test_a_program_gets_the_json_schema_of_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(_explained(capsys, "rollout.percentage", "--output", "json"))
    assert told["field"] == "rollout.percentage"
    assert (told["schema"]["type"], told["schema"]["maximum"]) == ("integer", 100)


@pytest.mark.parametrize(
    ("named", "line"),
    [
        ("service", "NodeConfiguration has no field service; did you mean services?"),
        ("nodes.xyz", "nodes has no field xyz; there is names, labels"),
        ("rollout.start.x", "rollout.start has no field x; it is a string"),
        ("files..url", "files has no field without a name; there is path, text"),
    ],
)
def test_what_there_is_none_of_is_told_in_a_line(
    named: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", named]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"wmcb: explain {named}: {line}")
    assert told.err.count("\n") == 1
