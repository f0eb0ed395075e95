"""Who waits for whom: a run that is begun while something is repaired, and while another run is under way."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from agent.engine.journal import Journal
from agent.engine.progress import Silent
from agent.engine.repairing import repair
from agent.engine.run import Busy, make_so, status
from agent.engine.state_folder import StateFolder
from agent.engine.target import NODE
from agent.records import replaced
from agent.spec import Key
from sandbox.engine import nodes
from sandbox.service.keeper import Clock

if TYPE_CHECKING:
    from agent.host.port import Host

LASTS_SECONDS = 30.0


class Releasing(Clock):
    """Lets go of the lock when so much time has been waited for it."""

    def __init__(self, host: Host, lock: ExitStack) -> None:
        super().__init__(host)
        self._lock = lock

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.time > LASTS_SECONDS:
            self._lock.close()


@pytest.fixture
def made(host: Host) -> Host:
    make_so(host, nodes.node(), "test", Silent())
    return host


def _begun_while_locked(host: Host) -> float:
    """A run; how long it waited for the lock."""
    with ExitStack() as lock:
        assert lock.enter_context(host.processes.exclusive("wmcb"))
        clock = Releasing(host, lock)
        try:
            make_so(replaced(host, clock=clock), nodes.node(config=b"{2}"), "test", Silent())
        except Busy:
            assert clock.time < 1
            raise
        return clock.time


def test_a_run_waits_until_a_repair_has_ended(made: Host) -> None:
    Journal.begin(StateFolder.of(made), "test", repairs=True)
    assert _begun_while_locked(made) > LASTS_SECONDS
    assert status(made).is_well


def test_a_run_does_not_wait_for_another(made: Host) -> None:
    Journal.begin(StateFolder.of(made), "test")
    with pytest.raises(Busy):
        _begun_while_locked(made)


@pytest.mark.parametrize("part", [NODE, "followed"])
def test_a_repair_waits_for_nobody_who_may_wait_for_what_it_holds(made: Host, part: str) -> None:
    Journal.begin(StateFolder.of(made), "test", part=part)
    with ExitStack() as lock:
        assert lock.enter_context(made.processes.exclusive("wmcb"))
        clock = Releasing(made, lock)
        with pytest.raises(Busy):
            repair(replaced(made, clock=clock), "test", Silent(), {Key("service", "kubelet")})
        assert clock.time == 0


def test_a_run_does_not_wait_for_what_has_no_journal(made: Host) -> None:
    with pytest.raises(Busy):
        _begun_while_locked(made)


def test_a_repair_that_was_cut_off_is_no_interrupted_run(made: Host) -> None:
    Journal.begin(StateFolder.of(made), "test", repairs=True)
    assert not status(made).interrupted
    make_so(made, nodes.node(), "test", Silent())
    make_so(made, nodes.node(config=b"{2}"), "test", Silent())
    assert made.files.observe(StateFolder.of(made).journal) is None
