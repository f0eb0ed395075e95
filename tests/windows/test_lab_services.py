"""The lab itself: the SCM seen from outside, and the kubelet's stand-in with its faults."""

from __future__ import annotations

import time

import pytest

from lab.node import Node
from lab.services import Control, State
from lab.standin_kubelet import Behaviour, StandinKubelet
from lab.waiting import until

EXE = r"C:\k\kubelet.exe"
GO = r"C:\k\go"
COMMAND_LINE = EXE + r" --windows-service --config C:\k\config.yaml"


@pytest.fixture
def kubelet(node: Node) -> StandinKubelet:
    """The stand-in, on the node and registered as a service."""
    standin = StandinKubelet(node, EXE)
    node.create_service("kubelet", COMMAND_LINE, automatic=True)
    return standin


def test_a_service_is_started_by_the_scm_and_stopped(node: Node, kubelet: StandinKubelet) -> None:
    assert node.service("kubelet").state is State.STOPPED  # type: ignore[union-attr]
    node.start_service("kubelet", "more")
    running = node.wait_for_service("kubelet", State.RUNNING)
    assert running.pid != 0
    assert kubelet.healthy()
    (start,) = kubelet.starts
    assert start["service"]
    assert start["arguments"] == COMMAND_LINE.split()
    assert start["pid"] == running.pid
    node.stop_service("kubelet")
    node.wait_for_service("kubelet", State.STOPPED)
    until(lambda: not node.processes("kubelet.exe"), "its process is gone")


def test_an_automatic_service_comes_up_with_the_node(node: Node, kubelet: StandinKubelet) -> None:
    node.reboot()
    node.wait_for_service("kubelet", State.RUNNING)
    node.reboot()
    node.wait_for_service("kubelet", State.RUNNING)
    assert len(kubelet.starts) == 2


@pytest.mark.usefixtures("kubelet")
def test_a_service_stays_when_no_program_runs(node: Node) -> None:
    """A wineserver that is not told to stay ends services some seconds after the last program."""
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    (before,) = node.processes("kubelet.exe")
    deadline = time.monotonic() + 6
    until(lambda: time.monotonic() > deadline, "the time has passed that Wine would have given it", 10)
    assert [process.pid for process in node.processes("kubelet.exe")] == [before.pid]


@pytest.mark.usefixtures("kubelet")
def test_the_scms_settings_are_in_the_registry(node: Node) -> None:
    settings = node.service_settings("kubelet")
    assert settings is not None
    assert settings.data("Start") == 2
    assert settings.data("ImagePath") == COMMAND_LINE


@pytest.mark.usefixtures("kubelet")
def test_a_killed_service_is_stopped(node: Node) -> None:
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    (process,) = node.processes("kubelet.exe")
    node.kill(process)
    node.wait_for_service("kubelet", State.STOPPED)


def test_there_is_no_service_of_another_name(node: Node) -> None:
    assert node.service("kubelet") is None
    assert node.service_settings("kubelet") is None


def test_the_standin_is_a_console_program_too(node: Node) -> None:
    kubelet = StandinKubelet(node, EXE)
    running = node.start(EXE, "--v", "2")
    until(kubelet.healthy, "healthz answers")
    (start,) = kubelet.starts
    assert start["arguments"] == [EXE, "--v", "2"]
    assert not start["service"]
    kubelet.crash(42)
    assert running.wait().code == 42


def test_it_exits_at_once(node: Node, kubelet: StandinKubelet) -> None:
    kubelet.behave(exit_at_once=78)
    assert node.run(EXE).code == 78


def test_it_is_never_well_and_stops_all_the_same(node: Node, kubelet: StandinKubelet) -> None:
    kubelet.behave(unwell=True)
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    assert not kubelet.healthy()
    node.stop_service("kubelet")
    node.wait_for_service("kubelet", State.STOPPED)


ILL: list[Behaviour] = [{"version": "1.35.7", "exit_at_once": 1}, {"version": "1.35.7", "hang": True}]


@pytest.mark.parametrize("behaviour", ILL, ids=["ends at once", "hangs"])
def test_it_tells_its_version_however_ill_it_is(node: Node, behaviour: Behaviour) -> None:
    kubelet = StandinKubelet(node, EXE, **behaviour)
    told = node.run(EXE, "--version")
    assert (told.code, told.out, told.err) == (0, "Kubernetes v1.35.7\n", "")
    assert kubelet.starts == []


def test_a_copy_of_it_behaves_as_it_does(node: Node) -> None:
    well = StandinKubelet(node, r"C:\well\kubelet.exe")
    ill = StandinKubelet(node, r"C:\ill\kubelet.exe", exit_at_once=5, starts=r"C:\starts")
    assert well.content != ill.content
    node.copy_in(node.path(r"C:\ill\kubelet.exe"), EXE)
    assert node.run(EXE, "--v=2").code == 5
    assert [start["arguments"] for start in ill.starts] == [[EXE, "--v=2"]]
    assert [path.name for path in node.path(r"C:\k").iterdir()] == ["kubelet.exe"]


def test_it_crashes_when_told_to(node: Node, kubelet: StandinKubelet) -> None:
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    until(kubelet.healthy, "healthz answers")
    kubelet.crash(9)
    node.wait_for_service("kubelet", State.STOPPED)


def test_it_is_slow_to_start_and_says_so(node: Node, kubelet: StandinKubelet) -> None:
    kubelet.behave(start_until=GO, start_checkpoints=True, wait_hint_milliseconds=700)
    node.start_service("kubelet")
    pending = node.wait_for_service("kubelet", State.START_PENDING)
    assert pending.wait_hint == 700
    seen: set[int] = set()

    def several_checkpoints() -> bool:
        service = node.service("kubelet")
        seen.add(service.checkpoint if service else 0)
        return len(seen) > 2

    until(several_checkpoints, "checkpoints are counted up")
    node.path(GO).touch()
    node.wait_for_service("kubelet", State.RUNNING)


def test_it_is_slow_to_start_and_silent(node: Node, kubelet: StandinKubelet) -> None:
    kubelet.behave(start_until=GO)
    node.start_service("kubelet")
    assert node.wait_for_service("kubelet", State.START_PENDING).checkpoint == 0
    node.path(GO).touch()
    node.wait_for_service("kubelet", State.RUNNING)


def test_it_is_slow_to_stop(node: Node, kubelet: StandinKubelet) -> None:
    kubelet.behave(stop_until=GO, wait_hint_milliseconds=2000)
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    node.stop_service("kubelet")
    assert node.wait_for_service("kubelet", State.STOP_PENDING).wait_hint == 2000
    node.path(GO).touch()
    node.wait_for_service("kubelet", State.STOPPED)


def test_it_vanishes_without_having_said_stopped(node: Node, kubelet: StandinKubelet) -> None:
    """As the real kubelet does. Under Wine the service is STOP_PENDING from then on, with no process."""
    kubelet.behave(vanish_on_stop=True)
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    node.stop_service("kubelet")
    until(lambda: not node.processes("kubelet.exe"), "its process is gone")
    assert node.service("kubelet").state is State.STOP_PENDING  # type: ignore[union-attr]
    kubelet.behave()
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)


@pytest.mark.parametrize(("code", "expected"), [(0, (0, 0)), (5, (5, 0))])
def test_it_stops_with_a_code(
    node: Node, kubelet: StandinKubelet, code: int, expected: tuple[int, int]
) -> None:
    kubelet.behave(stop_code=code)
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    node.stop_service("kubelet")
    stopped = node.wait_for_service("kubelet", State.STOPPED)
    assert (stopped.exit_code, stopped.specific_exit_code) == expected


def test_it_hangs(node: Node, kubelet: StandinKubelet) -> None:
    kubelet.behave(hang=True)
    node.start_service("kubelet")
    node.wait_for_service("kubelet", State.RUNNING)
    assert not kubelet.healthy(seconds=1)
    node.control_service("kubelet", Control.STOP)
    assert node.service("kubelet").state is State.RUNNING  # type: ignore[union-attr]
    kubelet.heal()
    assert kubelet.healthy()
