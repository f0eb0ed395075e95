"""Variables of the machine, and those that it is not to have."""

from __future__ import annotations

import re

import pytest

from agent.cli import shown_values
from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.run import preview, reset, status
from agent.host.port import Host, RegistryKind, RegistryValue
from agent.resources.kind import CannotBeSo
from agent.spec import EnvironmentVariable, Specification
from sandbox.engine.test_run import run, without_state
from sandbox.engine.world import Killed, Power, powered

NAME = "HTTPS_PROXY"
KEY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"


def specified(value: str | None) -> Specification:
    return Specification.of([EnvironmentVariable(NAME, value, secret=True)])


NOWHERE: Specification = Specification.of([])


@pytest.mark.parametrize("before", [None, "http://proxy:1", "%SystemRoot%\\proxy"])
def test_a_variable_that_is_not_to_be_there_goes_and_comes_back(host: Host, before: str | None) -> None:
    if before is not None:
        host.environment.set(NAME, before)
    whole = without_state(host)
    gone = [(Action.CHANGE, NAME)] if before is not None else []
    assert run(host, specified(None)) == gone
    assert host.environment.get(NAME) is None
    assert run(host, specified(None)) == []
    reset(host, Silent())
    assert without_state(host) == whole


def test_one_that_somebody_sets_again_is_drift(host: Host) -> None:
    run(host, specified(None))
    host.environment.set(NAME, "http://user:swordfish@proxy:1")
    (standing,) = status(host).resources
    assert [each.field for each in standing.differences] == ["value"]
    lines = list(
        shown_values.lines(standing.record.target, standing.differences, is_there=True, details=False)
    )
    assert "swordfish" not in " ".join(lines)
    assert lines[0].endswith(" -> nothing")
    assert run(host, specified(None)) == [(Action.CHANGE, NAME)]
    assert host.environment.get(NAME) is None


SHOWN = {
    "a key's file": ("TLS_KEY", "Geheim777wort", r"C:\k\key.pem", r"value: (hidden) -> C:\k\key.pem"),
    "the key instead of its file": (
        "TLS_KEY",
        r"C:\k\key.pem",
        "Geheim777wort",
        r"value: C:\k\key.pem -> (hidden)",
    ),
    "a password that begins as a path": (
        "DB_PASSWORD",
        r"C:\k\key.pem",
        "abc",
        "value: (hidden) -> (hidden)",
    ),
}


@pytest.mark.parametrize(("name", "before", "wanted", "line"), SHOWN.values(), ids=SHOWN)
def test_a_key_is_hidden_and_its_file_is_shown(
    host: Host, name: str, before: str, wanted: str, line: str
) -> None:
    host.environment.set(name, before)
    planned = preview(host, Specification.of([EnvironmentVariable(name, wanted)]))
    (change,) = planned.changes
    lines = shown_values.lines(change.target, change.differences, is_there=True, details=False)
    assert [re.sub(r"\(hidden, \w+\)", "(hidden)", each) for each in lines] == [line]


@pytest.mark.parametrize("before", [None, "own"])
@pytest.mark.parametrize(
    "wanted", [(None, "value"), ("value", None), ("value", None, "value"), (None, "value", None)]
)
def test_each_way_ends_where_it_began(host: Host, before: str | None, wanted: tuple[str | None, ...]) -> None:
    if before is not None:
        host.environment.set(NAME, before)
    for value in wanted:
        run(host, specified(value))
        assert host.environment.get(NAME) == value
    run(host, NOWHERE)
    assert host.environment.get(NAME) == before


@pytest.mark.parametrize("changes", range(4))
def test_a_run_that_is_killed_is_finished_by_the_next(host: Host, changes: int) -> None:
    host.environment.set(NAME, "own")
    try:
        run(powered(host, Power(changes)), specified(None))
    except Killed:
        run(host, specified(None))
    assert host.environment.get(NAME) is None
    reset(host, Silent())
    assert host.environment.get(NAME) == "own"


def test_one_that_is_no_text_is_not_taken_for_none(host: Host) -> None:
    host.registry.write(KEY, NAME, RegistryValue(RegistryKind.BINARY, b"\x01"))
    with pytest.raises(
        CannotBeSo, match=rf"variable {NAME} is no text in the registry \(BINARY\); remove it"
    ):
        preview(host, specified(None))
