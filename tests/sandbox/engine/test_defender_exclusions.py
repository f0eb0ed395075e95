"""What Microsoft Defender does not look at: only what a document says, and only where Defender lets it."""

from __future__ import annotations

import pathlib

import pytest

from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.run import TakenBack, preview, reset
from agent.host.errors import ServiceNotRunning
from agent.host.port import Host
from agent.host.sandbox.os_settings import DEFENDER
from agent.host.sandbox.state import State
from agent.resources.kind import CannotBeSo
from agent.spec import Specification
from agent.spec.machine import DefenderExclusion
from sandbox.engine.test_run import run
from sandbox.engine.world import Killed, Power, powered
from sandbox.service.keeper import Keeper
from service.telling import Event

LAYERS = DefenderExclusion("path", r"C:\ProgramData\containerd")
KUBELET = DefenderExclusion("process", r"C:\k\kubelet.exe")
BOTH: Specification = Specification.of([LAYERS, KUBELET])


def excluded(host: Host) -> dict[str, list[str]]:
    return {what: list(host.defender.exclusions(what)) for what in ("path", "process")}


def test_they_are_made_once_and_go(host: Host) -> None:
    made = [(Action.CREATE, each.key.name) for each in (LAYERS, KUBELET)]
    assert run(host, BOTH) == made
    assert excluded(host) == {"path": [LAYERS.path], "process": [KUBELET.path]}
    assert run(host, BOTH) == []
    reset(host, Silent())
    assert excluded(host) == {"path": [], "process": []}


@pytest.mark.parametrize("spelled", [LAYERS.path.upper(), LAYERS.path + "\\"])
def test_what_somebody_has_excluded_stays_his(host: Host, spelled: str) -> None:
    host.defender.exclude("path", spelled)
    assert run(host, Specification.of([LAYERS])) == []
    reset(host, Silent())
    assert excluded(host)["path"] == [spelled]


def test_one_that_somebody_takes_back_is_made_again_by_the_full_look(
    tmp_path: pathlib.Path, host: Host
) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(BOTH)
    host.defender.include("process", KUBELET.path)
    keeper.told()
    keeper.pass_time(601)
    assert excluded(host) == {"path": [LAYERS.path], "process": [KUBELET.path]}
    assert [event for event, _ in keeper.told()] == [Event.REPAIRED]


@pytest.mark.parametrize("changes", range(8))
def test_a_run_that_is_killed_is_finished_by_the_next(host: Host, changes: int) -> None:
    try:
        run(powered(host, Power(changes)), BOTH)
    except Killed:
        run(host, BOTH)
    assert excluded(host) == {"path": [LAYERS.path], "process": [KUBELET.path]}
    reset(host, Silent())
    assert excluded(host) == {"path": [], "process": []}


def test_a_defender_that_says_yes_and_does_nothing_is_found_out(tmp_path: pathlib.Path, host: Host) -> None:
    with State(tmp_path).changing(DEFENDER) as document:
        document["swallows"] = True
    with pytest.raises(TakenBack) as failure:
        run(host, BOTH)
    assert "tamper protection or a group policy does not let it" in str(failure.value.__cause__)
    assert run(host, Specification.of([])) == []


def test_one_that_cannot_be_taken_back_is_told(tmp_path: pathlib.Path, host: Host) -> None:
    run(host, Specification.of([LAYERS]))
    with State(tmp_path).changing(DEFENDER) as document:
        document["swallows"] = True
    (left,) = reset(host, Silent()).left
    assert left.startswith(rf"Microsoft Defender keeps its exclusion of path {LAYERS.path}")


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        (0x8004100E, CannotBeSo, "this Windows has no Microsoft Defender to exclude path C:"),
        (0x800106BA, ServiceNotRunning, "cannot read Microsoft Defender's exclusions .path.: the service is"),
    ],
    ids=["there is no Defender", "it does not run"],
)
def test_what_cannot_be_asked_is_told_in_one_line(
    tmp_path: pathlib.Path, host: Host, code: int, kind: type[Exception], told: str
) -> None:
    with State(tmp_path).changing(DEFENDER) as document:
        document["refuses"] = code
    with pytest.raises(kind, match=told):
        preview(host, BOTH)


def test_where_defender_has_gone_since_there_is_nothing_to_take_back(
    tmp_path: pathlib.Path, host: Host
) -> None:
    run(host, BOTH)
    with State(tmp_path).changing(DEFENDER) as document:
        document["refuses"] = 0x8004100E
    assert reset(host, Silent()).left == ()
