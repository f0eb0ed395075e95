"""Which process may change the machine: a person's command, another one, the resident service."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import PureWindowsPath
from subprocess import PIPE, Popen

import pytest

from agent.engine.journal import Journal, Step
from agent.engine.machine_lock import COMMAND_LOCK, LOCK, LONGEST_WAIT_SECONDS, Busy
from agent.engine.progress import Silent
from agent.engine.repairing import put_by, repair
from agent.engine.run import make_so, status
from agent.engine.state_folder import StateFolder
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.host.services import ServiceState
from agent.spec import Directory, File, Inline, Key, Specification
from sandbox.engine import nodes
from sandbox.service.keeper import Clock, Keeper
from service.telling import Event
from service.work_queue import Signal, Source

LASTS_SECONDS = 200.0
FOLDER = PureWindowsPath(r"C:\etc\kubernetes")
FILES = [FOLDER / f"{number}.conf" for number in range(100)]
CHANGED = [Signal(Source.FILE, str(path)) for path in FILES]
OTHER = b"another"
KUBELET = Key("service", "kubelet")
WAITS = f"waiting for the resident service (process {os.getpid()}) to end what it is doing on this machine, "
JOURNALS = {
    "before its first step": None,
    "with a step of a repair": {"repairs": True},
    "with a run of a part that it follows": {"part": "followed"},
}


class Releasing(Clock):
    """Lets go of the lock when so much time has been waited for it."""

    def __init__(self, host: Host, lock: ExitStack, seconds: float) -> None:
        super().__init__(host)
        self._lock = lock
        self._seconds = seconds

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.time > self._seconds:
            self._lock.close()


class _Remarks(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def waiting(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def made(host: Host) -> Host:
    make_so(host, nodes.node(), Silent())
    return host


def _begun_while_held(host: Host, lock: str, seconds: float) -> tuple[float, list[str]]:
    """A run; how long it waited for the lock, and what it said."""
    said = _Remarks()
    with ExitStack() as held:
        assert held.enter_context(host.processes.exclusive(lock))
        clock = Releasing(host, held, seconds)
        make_so(replace(host, clock=clock), nodes.node(config=b"{2}"), said)
        return clock.time, said.lines


@pytest.mark.parametrize("journal", JOURNALS.values(), ids=JOURNALS)
def test_a_command_waits_for_the_resident_service(made: Host, journal: dict[str, object] | None) -> None:
    if journal is not None:
        Journal.begin(StateFolder.of(made), **journal)  # type: ignore[arg-type]
    waited, said = _begun_while_held(made, LOCK, LASTS_SECONDS)
    assert waited > LASTS_SECONDS
    assert said == [f"{WAITS}at most 300 seconds"]
    assert status(made).is_well


def test_what_is_over_in_a_moment_is_waited_for_without_a_word(made: Host) -> None:
    assert _begun_while_held(made, LOCK, 0.2)[1] == []


def test_a_command_gives_up_after_five_minutes_and_names_the_process(made: Host) -> None:
    with pytest.raises(Busy) as refused:
        _begun_while_held(made, LOCK, 2 * LONGEST_WAIT_SECONDS)
    assert str(refused.value) == (
        f"the resident service (process {os.getpid()}) is still at work on this machine after 300 seconds:"
        " look at its log, or stop it, and try again"
    )


def test_a_command_does_not_wait_for_another_one(made: Host) -> None:
    with made.processes.exclusive(COMMAND_LOCK), pytest.raises(Busy) as refused:
        make_so(replace(made, clock=Clock(made)), nodes.node(config=b"{2}"), Silent())
    assert str(refused.value) == (
        f"another wmcb command (process {os.getpid()}) is at work on this machine: wait until it has ended"
    )


def _repaired(host: Host) -> None:
    repair(host, Silent(), {KUBELET})


def _followed(host: Host) -> None:
    make_so(host, Specification(), Silent(), part="followed", is_resident=True)


@pytest.mark.parametrize("deed", [_repaired, put_by, _followed])
@pytest.mark.parametrize("lock", [LOCK, COMMAND_LOCK])
def test_the_resident_service_waits_for_no_command(
    made: Host, lock: str, deed: Callable[[Host], None]
) -> None:
    """It may wait for what the service holds open."""
    with made.processes.exclusive(lock):
        clock = Clock(made)
        with pytest.raises(Busy):
            deed(replace(made, clock=clock))
        assert clock.time == 0


def test_a_repair_that_was_cut_off_is_no_interrupted_run(made: Host) -> None:
    Journal.begin(StateFolder.of(made), repairs=True)
    assert not status(made).interrupted
    make_so(made, nodes.node(), Silent())
    make_so(made, nodes.node(config=b"{2}"), Silent())
    assert made.files.observe(StateFolder.of(made).journal) is None


# Between the steps of a repair


@pytest.fixture
def drifted(keeper: Keeper) -> Keeper:
    """A hundred files have been changed, and the resident service has not looked yet."""
    wants = [Directory(FOLDER), *(File(path, Inline(path.name.encode())) for path in FILES)]
    keeper.make(Specification.of(wants))
    for path in FILES:
        keeper.host.files.write(path, OTHER, PRIVATE_FILE)
    keeper.told()
    return keeper


def _left(host: Host) -> int:
    return sum(host.files.read(path) == OTHER for path in FILES)


class _Steps:
    """Of the resident service's repairs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self.during: dict[int, Callable[[], object]] = {}
        add = Journal.add

        def added(journal: Journal, step: Step) -> None:
            add(journal, step)
            self.number += 1
            self.during.get(self.number, int)()

        monkeypatch.setattr(Journal, "add", added)


def test_the_service_lets_a_command_have_the_machine_after_the_current_step(
    drifted: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, host = _Steps(monkeypatch), drifted.host
    with ExitStack() as waiting:
        steps.during[3] = lambda: waiting.enter_context(host.processes.exclusive(COMMAND_LOCK))
        drifted.happened(*CHANGED)
        drifted.pass_time(60)
        assert (steps.number, _left(host)) == (3, 97)
        assert not host.processes.is_held(LOCK)
        assert host.files.observe(StateFolder.of(host).journal) is None
        assert drifted.watches.services == set(), "nothing is in the command's way"
        assert [event for event, _ in drifted.told()] == [Event.REPAIRED] * 3
    drifted.pass_time(10)
    assert (steps.number, _left(host)) == (100, 0)
    assert [event for event, _ in drifted.told()] == [Event.REPAIRED] * 97


def test_a_service_that_was_stopped_for_a_step_is_started_for_the_command(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was stopped here: another one's start is a step like any other."""
    steps, host = _Steps(monkeypatch), keeper.host
    with ExitStack() as waiting:
        steps.during[1] = lambda: waiting.enter_context(host.processes.exclusive(COMMAND_LOCK))
        host.files.write(nodes.CONFIG, OTHER, PRIVATE_FILE)
        keeper.touched(nodes.CONFIG)
        assert host.services.status("kubelet").state is ServiceState.RUNNING
        assert host.files.read(nodes.CONFIG) == OTHER
    keeper.pass_time(10)
    assert host.files.read(nodes.CONFIG) != OTHER
    assert host.services.status("kubelet").state is ServiceState.RUNNING


def _command(folder: pathlib.Path, *words: str) -> Popen[str]:
    """One that has said that it waits."""
    code = "import sys; from agent.cli.main import run; sys.exit(run(sys.argv[1:]))"
    command = Popen(
        [sys.executable, "-c", code, "--sandbox", str(folder), *words], stdout=PIPE, stderr=PIPE, text=True
    )
    assert command.stderr is not None
    assert command.stderr.readline() == f"{WAITS}at most 300 seconds\n"
    return command


def test_a_reset_runs_after_the_current_of_a_hundred_repairs(
    tmp_path: pathlib.Path, drifted: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, commands = _Steps(monkeypatch), list[Popen[str]]()
    steps.during[3] = lambda: commands.append(_command(tmp_path, "reset"))
    drifted.happened(*CHANGED)
    out, _ = commands[0].communicate()
    assert (commands[0].returncode, out) == (0, "the machine is as it was before wmcb\n")
    assert drifted.host.files.observe(FOLDER) is None
    drifted.pass_time(60)
    assert steps.number == 3
    assert drifted.host.files.observe(FOLDER) is None


def test_a_command_that_is_killed_while_it_waits_keeps_no_repair_from_being_done(
    tmp_path: pathlib.Path, drifted: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, commands = _Steps(monkeypatch), list[Popen[str]]()
    steps.during[3] = lambda: commands.append(_command(tmp_path, "reset"))
    steps.during[4] = lambda: pytest.fail("it went on while a command waited")
    drifted.happened(*CHANGED)
    steps.during.clear()
    with commands[0] as command:
        command.kill()
    drifted.pass_time(10)
    assert _left(drifted.host) == 0
