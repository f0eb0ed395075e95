"""Certificates that Windows is to believe: ours come and go, others stay."""

from __future__ import annotations

import pathlib
from pathlib import Path

import pytest

from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.run import TakenBack, preview, reset
from agent.host.port import ROOT_CERTIFICATES, Host
from agent.sources.trusted_certificates import trusted
from agent.spec import Specification
from sandbox.engine.test_run import run, without_state
from sandbox.engine.world import Killed, Power, changed, powered
from sandbox.service.keeper import Keeper
from service.telling import Event
from service.work_queue import Signal, Source

GIVEN = Path(__file__).parents[2] / "data" / "certificates"
PEM = "".join((GIVEN / f"{name}-root.pem").read_text() for name in ("example", "other"))
ROOT, OTHER = trusted(PEM)
BOTH = Specification.of([ROOT, OTHER])


def believed(host: Host) -> list[str]:
    return list(host.registry.keys(ROOT_CERTIFICATES))


def test_they_are_added_once_and_go(host: Host) -> None:
    whole = without_state(host)
    assert run(host, BOTH) == [(Action.CREATE, each.key.name) for each in (ROOT, OTHER)]
    assert host.roots.read(ROOT.key.name) == ROOT.encoded
    assert run(host, BOTH) == []
    assert run(host, Specification.of([ROOT])) == [(Action.REMOVE, OTHER.key.name)]
    reset(host, Silent())
    assert without_state(host) == whole


def test_one_that_windows_believes_already_is_not_ours_to_take(host: Host) -> None:
    host.roots.add(ROOT.encoded)
    assert run(host, BOTH) == [(Action.CREATE, OTHER.key.name)]
    reset(host, Silent())
    assert believed(host) == [ROOT.key.name]


def test_a_plan_names_whose_it_is(host: Host) -> None:
    (change,) = preview(host, Specification.of([ROOT])).changes
    (field,) = change.differences
    shown = change.target.kind.shown(field.field, field.wanted, {})
    assert shown.startswith("CN=Example Root,O=Example, until 2126-")


def test_one_that_somebody_removes_is_back_at_once(tmp_path: pathlib.Path, host: Host) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(BOTH)
    keeper.told()
    assert ROOT_CERTIFICATES in keeper.watches.keys
    host.roots.remove(OTHER.key.name)
    keeper.happened(Signal(Source.REGISTRY, ROOT_CERTIFICATES))
    assert host.roots.read(OTHER.key.name) == OTHER.encoded
    assert [event for event, _ in keeper.told()] == [Event.REPAIRED]


@pytest.mark.parametrize("changes", range(11))
def test_a_run_that_is_killed_is_finished_by_the_next(host: Host, changes: int) -> None:
    with pytest.raises(Killed):
        run(powered(host, Power(changes)), BOTH)
    run(host, BOTH)
    assert believed(host) == sorted(each.key.name for each in (ROOT, OTHER))
    reset(host, Silent())
    assert believed(host) == []


def test_a_windows_that_says_yes_and_does_nothing_is_found_out(host: Host) -> None:
    with pytest.raises(TakenBack) as failure:
        run(changed(host, roots={"add": lambda encoded: None}), Specification.of([ROOT]))  # noqa: ARG005
    assert "a policy may keep it from that" in str(failure.value.__cause__)
    assert run(host, Specification.of([])) == []


def test_one_that_is_still_believed_is_told(host: Host) -> None:
    run(host, Specification.of([ROOT]))
    kept = changed(host, roots={"remove": lambda thumbprint: None})  # noqa: ARG005
    (left,) = reset(kept, Silent()).left
    assert left.startswith(f"root certificate {ROOT.key.name} is still believed")
