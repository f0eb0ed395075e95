"""Features of Windows: switched on, in effect after a restart perhaps, and switched off only when asked."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.restarting import InVain
from agent.engine.run import TakenBack, make_so, preview, reset, status
from agent.host.errors import HostError
from agent.host.port import FeatureState, Host
from agent.host.sandbox.machine import Machine
from agent.host.sandbox.os_settings import FEATURES
from agent.host.sandbox.state import State
from agent.resources.kind import CannotBeSo
from agent.resources.windows_settings import TAKEN_BACK
from agent.spec import EnvironmentVariable, Specification
from agent.spec.machine import WindowsFeature
from sandbox.engine.test_run import run
from sandbox.engine.world import Killed, Power, powered
from sandbox.service.keeper import Keeper

PLAIN, SLOW, PART = "TelnetClient", "Microsoft-Hyper-V", "RemoteAccessServer"
ASKED = {WindowsFeature.kind: {TAKEN_BACK: True}}


def specified(name: str, *, with_parents: bool = False) -> Specification:
    return Specification.of([WindowsFeature(name, with_parents)])


def given(tmp_path: pathlib.Path, name: str, **about: Any) -> None:
    with State(tmp_path).changing(FEATURES) as document:
        document[name] = about


def restarted(tmp_path: pathlib.Path) -> Host:
    machine = Machine(tmp_path, run_services=False)
    machine.shut_down()
    machine.start_up()
    return machine.host


def test_one_is_switched_on_once(host: Host) -> None:
    assert run(host, specified(PLAIN)) == [(Action.CHANGE, PLAIN)]
    assert host.features.state(PLAIN) is FeatureState.ENABLED
    assert run(host, specified(PLAIN.upper())) == []


def test_a_reset_leaves_it_and_says_so(host: Host) -> None:
    run(host, specified(PLAIN))
    assert reset(host, Silent()).left == (
        f"Windows feature {PLAIN} stays enabled: others may rely on it by now",
    )
    assert host.features.state(PLAIN) is FeatureState.ENABLED


def test_a_reset_that_is_asked_to_switches_it_off(host: Host) -> None:
    run(host, specified(PLAIN))
    assert reset(host, Silent(), manners=ASKED).left == ()
    assert host.features.state(PLAIN) is FeatureState.DISABLED


def test_one_that_was_on_before_stays_on(tmp_path: pathlib.Path, host: Host) -> None:
    given(tmp_path, PLAIN, state="ENABLED")
    assert run(host, specified(PLAIN)) == []
    assert reset(host, Silent(), manners=ASKED).left == ()
    assert host.features.state(PLAIN) is FeatureState.ENABLED


def test_one_that_somebody_switches_off_is_switched_on_by_the_full_look(
    tmp_path: pathlib.Path, host: Host
) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(specified(PLAIN))
    host.features.disable(PLAIN)
    keeper.pass_time(601)
    assert host.features.state(PLAIN) is FeatureState.ENABLED


class Waits(EnvironmentVariable):
    """Something that is no use before the feature is."""

    @property
    def uses(self) -> tuple[Any, ...]:
        return (WindowsFeature(SLOW).key,)


def test_what_needs_it_waits_for_the_restart(tmp_path: pathlib.Path, host: Host) -> None:
    wanted = Specification.of([WindowsFeature(SLOW), Waits("NAME", "value")])
    done = make_so(host, wanted, Silent())
    told = f"Windows feature {SLOW} is enabled when Windows has been restarted"
    assert list(done.awaiting.values()) == [told]
    assert host.environment.get("NAME") is None
    assert status(host).awaiting == (told,)
    host = restarted(tmp_path)
    assert not make_so(host, wanted, Silent()).awaiting
    assert host.environment.get("NAME") == "value"
    assert host.features.state(SLOW) is FeatureState.ENABLED


def test_one_that_no_restart_brings_is_an_error_and_no_loop(tmp_path: pathlib.Path, host: Host) -> None:
    make_so(host, specified(SLOW), Silent())
    host = restarted(tmp_path)
    given(tmp_path, SLOW, state="ENABLE_PENDING", restart=True)
    with pytest.raises(InVain, match=f"restarted for windows feature {SLOW}, and it waits again"):
        make_so(host, specified(SLOW), Silent())


def test_a_reset_before_the_restart_needs_none(host: Host) -> None:
    make_so(host, specified(SLOW), Silent())
    assert reset(host, Silent(), manners=ASKED).left == ()
    assert host.features.state(SLOW) is FeatureState.DISABLED


def test_a_reset_after_it_tells_of_another(tmp_path: pathlib.Path, host: Host) -> None:
    make_so(host, specified(SLOW), Silent())
    host = restarted(tmp_path)
    left = reset(host, Silent(), manners=ASKED).left
    assert left == (f"Windows feature {SLOW} is disabled when Windows has been restarted",)


def test_what_it_is_part_of_is_switched_on_where_that_is_said(host: Host) -> None:
    with pytest.raises(TakenBack) as failure:
        run(host, specified(PART))
    assert isinstance(failure.value.__cause__, HostError)
    assert failure.value.__cause__.code == 0xC004000D
    run(host, specified(PART, with_parents=True))
    assert host.features.state("RemoteAccess") is FeatureState.ENABLED


def test_one_that_this_windows_does_not_know_is_told_before_anything(host: Host) -> None:
    with pytest.raises(CannotBeSo, match="this Windows has no feature Hyper-V; mind its spelling"):
        preview(host, specified("Hyper-V"))


@pytest.mark.parametrize("changes", range(6))
def test_a_run_that_is_killed_is_finished_by_the_next(host: Host, changes: int) -> None:
    try:
        run(powered(host, Power(changes)), specified(PLAIN))
    except Killed:
        run(host, specified(PLAIN))
    assert host.features.state(PLAIN) is FeatureState.ENABLED
    reset(host, Silent(), manners=ASKED)
    assert host.features.state(PLAIN) is FeatureState.DISABLED
