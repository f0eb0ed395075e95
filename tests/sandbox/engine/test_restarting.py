"""What takes effect when Windows has been restarted, what has to wait for it, and what waits in vain."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from pathlib import PureWindowsPath

import pytest

from agent.engine.progress import Silent
from agent.engine.repairing import drifted
from agent.engine.restarting import InVain
from agent.engine.run import Done, make_so, reset, status, take_back
from agent.host.port import Host
from agent.host.sandbox.machine import Machine
from agent.host.services import ServiceState
from agent.spec import Directory, File, HostName, Inline, Service, Specification
from sandbox.engine.test_run import without_state
from sandbox.engine.world import Killed, Power, powered

FOLDER = Directory(PureWindowsPath(r"C:\k"))
PROGRAM = File(FOLDER.path / "agent.exe", Inline(b"MZ"))
NAME = HostName("").key


def named(name: str, *, arguments: tuple[str, ...] = ()) -> Specification:
    """A machine of that name, and a service that has to know it."""
    name_of_machine = HostName(name)
    agent = Service("agent", PROGRAM.path, arguments, reads=(name_of_machine.key,))
    after = Service("after", PROGRAM.path, dependencies=("agent",))
    return Specification.of([FOLDER, PROGRAM, agent, after, name_of_machine], title="a document")


def make(host: Host, specification: Specification, confirm: Callable[[], None] | None = None) -> Done:
    return make_so(host, specification, Silent(), confirm, recipe="all of it")


@pytest.fixture
def restart(host: Host, tmp_path: pathlib.Path) -> Callable[[], None]:  # noqa: ARG001 - it makes the machine
    def restart() -> None:
        machine = Machine(tmp_path, run_services=False)
        machine.shut_down()
        machine.start_up()

    return restart


def test_what_needs_it_is_put_off_and_the_same_run_makes_it_after_the_restart(
    host: Host, restart: Callable[[], None]
) -> None:
    confirmed: list[str] = []
    for _ in range(2):
        done = make(host, named("node-7"), lambda: confirmed.append("asked"))
        assert dict(done.awaiting) == {NAME: "this machine is called node-7 when it has been restarted"}
        assert [key.name for key in done.put_off] == ["agent", "after"]
        assert host.files.read(PROGRAM.path) == b"MZ", "what needs none of it is made at once"
        assert host.services.read("agent") is None
        assert not confirmed, "not all is made yet"
    found = status(host)
    assert found.awaiting == ("this machine is called node-7 when it has been restarted",)
    assert not found.is_well
    restart()
    done = make(host, named("node-7"), lambda: confirmed.append("asked"))
    assert (dict(done.awaiting), done.put_off, confirmed) == ({}, (), ["asked"])
    assert host.services.status("after").state is ServiceState.RUNNING
    assert status(host).is_well


def test_what_runs_goes_on_as_it_was_until_the_restart(host: Host, restart: Callable[[], None]) -> None:
    make(host, named(host.facts.host_name(), arguments=("one",)))
    for _ in range(2):
        done = make(host, named("node-7", arguments=("two",)))
        assert [key.name for key in done.put_off] == ["agent", "after"]
        for name in ("agent", "after"):
            assert host.services.status(name).state is ServiceState.RUNNING
        installed = host.services.read("agent")
        assert installed is not None
        assert installed.definition.command[1:] == ("one",)
        assert drifted(host).drifts == ()
    restart()
    make(host, named("node-7", arguments=("two",)))
    installed = host.services.read("agent")
    assert installed is not None
    assert installed.definition.command[1:] == ("two",)


def test_a_restart_that_somebody_elses_change_waits_for_is_waited_for(
    host: Host, restart: Callable[[], None]
) -> None:
    host.power.rename("node-7")
    assert [key.name for key in make(host, named("node-7")).put_off] == ["agent", "after"]
    restart()
    assert make(host, named("node-7")).put_off == ()


def test_what_comes_to_nothing_by_a_restart_is_told_and_asks_for_none(
    host: Host, restart: Callable[[], None]
) -> None:
    make(host, named("node-7"))
    host.power.rename("others")
    restart()
    before = without_state(host)
    for _ in range(2):
        with pytest.raises(InVain, match=r"was restarted for host name .*, and name is others, not node-7"):
            make(host, named("node-7"))
        assert without_state(host) == before
    assert make(host, named("node-8")).put_off, "another wish has a restart of its own"
    host.power.rename("node-7")
    restart()
    assert make(host, named("node-7")).put_off == (), "put right by hand"


def test_once_it_has_come_a_later_change_is_worth_a_restart_again(
    host: Host, restart: Callable[[], None]
) -> None:
    make(host, named("node-7"))
    restart()
    make(host, named("node-7"))
    host.power.rename("others")
    restart()
    assert make(host, named("node-7")).put_off
    restart()
    assert make(host, named("node-7")).put_off == ()


@pytest.mark.parametrize("changes", range(0, 24, 3))
def test_a_run_that_is_killed_is_finished_by_the_next_and_by_the_restart(
    host: Host, restart: Callable[[], None], changes: int
) -> None:
    whole = without_state(host)
    try:
        make(powered(host, Power(changes)), named("node-7"))
    except Killed:
        make(host, named("node-7"))
    restart()
    make(host, named("node-7"))
    assert status(host).is_well
    reset(host, Silent())
    restart()
    assert without_state(host) == whole


def test_one_that_is_taken_back_waits_for_nothing(host: Host) -> None:
    whole = without_state(host)
    with pytest.raises(Killed):
        make(powered(host, Power(9)), named("node-7"))
    take_back(host, Silent())
    assert without_state(host) == whole
    assert status(host).awaiting == ()
