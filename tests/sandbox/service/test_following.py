"""What the resident service makes of what a ConfigMap says, or does not say."""

from __future__ import annotations

import pathlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.engine.machine_lock import COMMAND_LOCK
from agent.engine.parts import Taken
from agent.engine.progress import Silent
from agent.engine.run import make_so, reset
from agent.host.errors import NotFound, TimedOut
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE, PROGRAM_FILE
from agent.host.registry_contents import next_host_name
from agent.host.sandbox import open_sandbox
from agent.host.sandbox.machine import Machine as SandboxMachine
from agent.host.services import ServiceState
from agent.spec import Directory, EnvironmentVariable, File, Inline, Specification
from sandbox.engine import nodes
from sandbox.engine.test_trouble import shown
from sandbox.engine.world import Killed, Power, picture, powered
from sandbox.service.follower import CLUSTER, HEAD, KUBECONFIG, Follower
from sandbox.service.keeper import OWN
from service import pausing, standing
from service.cluster import Node, Seen
from service.health import EVERY_SECONDS
from service.standing import State
from service.telling import Event
from service.work_queue import Signal, Source
from unit.fetch.servers import PATIENCE, Server, answer, ok

STATE = PureWindowsPath(r"C:\ProgramData\wmcb")
FILE = PureWindowsPath(r"C:\tools\settings.txt")
PROGRAM = PureWindowsPath(r"C:\tools\exporter.exe")

SETTINGS = "files: [{path: 'C:\\tools\\settings.txt', text: %s}]\n"
EXPORTER = """\
files:
- {path: 'C:\\tools\\exporter.exe', text: MZ, protection: program}
services:
- {name: exporter, program: 'C:\\tools\\exporter.exe', reads: [{file: 'C:\\tools\\exporter.exe'}]}
environmentVariables:
- {name: REGION, value: eu}
"""


def machine(host: Host) -> dict[str, object]:
    """All but what wmcb keeps for itself."""
    return picture(host, but=(STATE,))


@pytest.fixture
def follower(tmp_path: pathlib.Path, host: Host) -> Follower:
    follower = Follower(tmp_path, host)
    follower.make_node()
    return follower


# Changes


def test_it_follows_by_the_kubeconfig_of_the_nodes_kubelet(follower: Follower) -> None:
    assert follower.cluster.path == KUBECONFIG
    reset(follower.host, Silent())
    follower.happened(OWN)
    assert follower.cluster.path is None


def test_what_it_says_is_made_so_and_what_it_says_no_more_goes(follower: Follower) -> None:
    bare = machine(follower.host)
    follower.wants(EXPORTER)
    assert follower.started == ["exporter"], "and not the kubelet"
    assert follower.host.environment.get("REGION") == "eu"
    follower.wants(SETTINGS % "one")
    assert follower.host.services.read("exporter") is None
    assert follower.host.files.read(FILE) == b"one"
    follower.wants("")
    assert machine(follower.host) == bare
    applied = [text for event, text in follower.told() if event is Event.APPLIED]
    assert applied[0] == (
        r"ConfigMap nodes/windows was made so: create directory C:\tools, create file C:\tools\exporter.exe,"
        " create environment variable REGION, create service exporter"
    )
    assert len(applied) == 3


def test_what_it_made_is_kept_as_all_else_is(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.pass_time(10)  # a copy is made
    follower.told()
    follower.host.files.write(FILE, b"by hand", PRIVATE_FILE)
    follower.touched(FILE)
    assert follower.host.files.read(FILE) == b"one"
    assert [event for event, _ in follower.told()] == [Event.REPAIRED]


def test_the_same_again_changes_and_writes_nothing(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.pass_time(60)
    before = picture(follower.host)
    follower.told()
    follower.wants(SETTINGS % "one", head="# and a comment\n")
    follower.begin()
    follower.pass_time(700)
    assert picture(follower.host, but=(STATE / "following.json",)) == {
        name: what for name, what in before.items() if "following.json" not in name
    }
    assert [event for event, _ in follower.told()] == [Event.KEEPING]
    assert follower.standing.version == "1", "in which it was first seen"


def test_nothing_is_reported_of_what_has_not_been_tried_yet(follower: Follower) -> None:
    follower.wants("files: [{path: tools}]\n")
    assert follower.stands(State.REFUSED)
    follower.reported()
    wanted: Any = {"node.yaml": HEAD + SETTINGS % "one"}
    follower.cluster.config_map = Seen(
        {"metadata": {"name": "windows", "resourceVersion": "9"}, "data": wanted}
    )
    follower.happened(Signal(Source.FILE, str(FILE.parent)), OWN)
    follower.happened(CLUSTER)
    states = [state for state, _ in follower.reported()]
    assert "applied" in states
    assert "pending" not in states


def with_round(number: int) -> str:
    return EXPORTER.replace("name: exporter,", f"name: exporter, arguments: [--round={number}],")


SERVICE = EXPORTER.partition("environmentVariables")[0]
KINDS_OF_CHANGES = {
    "another content": (SETTINGS % "one", SETTINGS % "two", False),
    "a file that goes": (SETTINGS % "one" + "environmentVariables: [{name: REGION, value: eu}]\n", "", True),
    "another service": (SETTINGS % "one", SERVICE, False),
    "other arguments of a service": (with_round(1), with_round(2), False),
    "a service that goes, whose key is watched": (SERVICE, SETTINGS % "one", True),
    "a variable that goes": (EXPORTER, SERVICE, True),
}


@pytest.mark.parametrize(
    ("before", "after", "lets_go"), KINDS_OF_CHANGES.values(), ids=list(KINDS_OF_CHANGES)
)
def test_only_what_a_watch_would_hinder_has_all_let_go_of(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, before: str, after: str, lets_go: bool
) -> None:
    follower.wants(before)
    follower.pass_time(10)
    followed: list[int] = []
    follow = follower.watches.follow

    def counting(*what: Any, **more: Any) -> None:
        follow(*what, **more)
        followed.append(len(follower.watches.services))

    monkeypatch.setattr(follower.watches, "follow", counting)
    follower.wants(after)
    assert follower.stands(State.APPLIED)
    assert (0 in followed) == lets_go
    assert followed[-1] == len(follower.watches.services) > 0, "and all is followed again"


def test_after_a_change_all_is_followed_anew_since_a_service_that_had_gone_may_be_back(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower.wants(SERVICE)
    follower.pass_time(10)
    renewed: list[bool] = []
    monkeypatch.setattr(follower.watches, "renew", lambda: renewed.append(True))
    follower.wants(with_round(2).partition("environmentVariables")[0])
    assert follower.stands(State.APPLIED)
    assert renewed


def test_what_differs_otherwise_is_seen_soon_after_a_change(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.pass_time(10)
    services = follower.host.services
    services.stop("kubelet")
    follower.wants(SETTINGS % "two")
    assert services.status("kubelet").state is ServiceState.RUNNING


def test_documents_are_chosen_by_name_and_labels(follower: Follower) -> None:
    blue, green = (
        f"{HEAD}nodes: {{labels: {{pool: {pool}}}}}\n" + SETTINGS % pool for pool in ("blue", "green")
    )
    follower.said(f"{blue}---\n{green}---\n{HEAD}nodes: {{names: [other]}}\n{EXPORTER}")
    assert follower.host.files.observe(FILE) is None
    follower.is_node(labels={"pool": "blue"})
    assert follower.host.files.read(FILE) == b"blue"
    follower.is_node(labels={"pool": "green"})
    assert follower.host.files.read(FILE) == b"green"
    assert follower.host.services.read("exporter") is None


def test_after_a_restart_of_the_service_without_a_cluster_all_is_kept(follower: Follower) -> None:
    follower.wants(EXPORTER)
    follower.cluster.config_map = follower.cluster.node = None
    follower.begin()
    follower.pass_time(10)
    follower.crash("exporter")
    assert follower.is_well()
    assert follower.stands(State.APPLIED)


def test_a_reset_takes_all_away_and_nothing_comes_back(follower: Follower) -> None:
    follower.wants(EXPORTER)
    reset(follower.host, Silent())
    bare = picture(follower.host)
    follower.happened(OWN, CLUSTER)
    follower.pass_time(700)
    assert picture(follower.host) == bare
    assert STATE.name not in follower.host.files.list(STATE.parent)


def test_nor_does_it_where_a_reset_had_to_leave_the_kubelets_service(follower: Follower) -> None:
    follower.wants(EXPORTER)
    reset(shown(follower.host), Silent())
    left = machine(follower.host)
    assert follower.host.services.status("kubelet").state is ServiceState.STOPPED
    follower.pass_time(700)
    follower.wants(EXPORTER)
    assert machine(follower.host) == left
    reset(follower.host, Silent())
    assert follower.host.services.read("kubelet") is None


def test_made_a_node_anew_it_follows_anew(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    reset(follower.host, Silent())
    follower.happened(OWN)
    follower.make_node()
    follower.happened(CLUSTER)
    assert follower.host.files.read(FILE) == b"one"


# What takes a restart of Windows


def restart(place: pathlib.Path) -> None:
    machine = SandboxMachine(place, run_services=False)
    machine.shut_down()
    machine.start_up()


def restarted(follower: Follower, place: pathlib.Path) -> None:
    restart(place)
    follower.clock.restarted(open_sandbox(place).clock.boot())
    follower.begin()
    follower.pass_time(10)


NAMED = EXPORTER.replace("files:", "hostName: node-7\nfiles:")
FOR_ONE = "nodes: {names: [win1]}\n"


def test_what_takes_a_restart_waits_for_it_quietly_and_is_gone_on_with(
    follower: Follower, tmp_path: pathlib.Path
) -> None:
    follower.wants(NAMED, head=FOR_ONE)
    assert follower.stands(State.PENDING)
    assert follower.standing.error.startswith("this machine is called node-7 when it has been restarted")
    assert follower.host.environment.get("REGION") == "eu", "what needs no restart is made at once"
    assert follower.host.services.read("exporter") is None
    follower.told()
    before = picture(follower.host, but=(STATE,))
    asked = 1500 / EVERY_SECONDS
    assert follower.turns(1500) < asked + 10, "whether what runs is well, and every ten minutes the rest"
    assert picture(follower.host, but=(STATE,)) == before
    assert follower.told() == []
    restarted(follower, tmp_path)
    assert follower.host.services.read("exporter") is not None
    assert follower.stands(State.APPLIED)


def test_while_something_takes_a_restart_another_config_map_waits_for_its_turn(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.wants(f"hostName: node-7\n{SETTINGS % 'one'}", head=FOR_ONE)
    follower.wants(SETTINGS % "two", head=ROLLOUT)
    follower.pass_time(700)
    assert follower.host.files.read(FILE) == b"one"
    assert follower.stands(State.PENDING)
    assert follower.standing.turn is not None


def test_what_takes_a_restart_is_gone_on_with_though_another_turn_would_be_later(
    follower: Follower, tmp_path: pathlib.Path
) -> None:
    follower.wants(NAMED, head=f"{FOR_ONE}{ROLLOUT}")
    assert follower.host.services.read("exporter") is None
    restarted(follower, tmp_path)
    assert follower.host.services.read("exporter") is not None
    assert follower.stands(State.APPLIED)


def test_what_takes_a_restart_makes_no_other_document_sooner(
    follower: Follower, tmp_path: pathlib.Path
) -> None:
    follower.said(REGION % ("", "eu"))
    named = f"{HEAD}{FOR_ONE}{NAMED.partition('environmentVariables')[0]}"
    follower.said(f"{named}---\n{REGION % (ROLLOUT, 'us')}")
    follower.told()
    follower.pass_time(1500)
    assert follower.told() == []
    assert follower.standing.error.startswith("this machine is called node-7 when it has been restarted")
    assert follower.host.services.read("exporter") is None
    restarted(follower, tmp_path)
    assert follower.host.services.read("exporter") is not None
    assert follower.host.environment.get("REGION") == "eu"
    assert follower.stands(State.PENDING)
    assert follower.standing.turn is not None


def test_a_restart_that_has_changed_nothing_is_told_once(follower: Follower, tmp_path: pathlib.Path) -> None:
    follower.wants("hostName: node-7\n", head="nodes: {names: [win1]}\n")
    follower.host.power.rename("others")
    restart(tmp_path)
    follower.clock.restarted(open_sandbox(tmp_path).clock.boot())
    follower.begin()
    follower.told()
    follower.pass_time(2000)
    (text,) = [text for event, text in follower.told() if event is Event.REFUSED]
    assert "this machine was restarted for host name of this machine, and it waits again" in text
    assert "another program changes it, too" in text
    assert follower.stands(State.REFUSED)


def test_a_name_for_all_nodes_at_once_is_refused(follower: Follower) -> None:
    follower.wants("hostName: node-7\n")
    assert follower.stands(State.REFUSED)
    assert "say in nodes.names whose" in follower.standing.error
    assert next_host_name(follower.host.registry) is None


# What cannot be used

BAD = {
    "no YAML": (
        f"{HEAD}files: [",
        r"ConfigMap nodes/windows, key node.yaml line 4, column 1: ",
    ),
    "an unknown field": (
        f"{HEAD}filez: []\n",
        "ConfigMap nodes/windows, key node.yaml line 3, column 1 at $.filez: ",
    ),
    "what the node's own documents say otherwise": (
        HEAD + "files: [{path: 'C:\\etc\\kubernetes\\kubelet.conf', text: mine}]\n",
        "ConfigMap nodes/windows, key node.yaml line 3, column 9 at $.files.0: file "
        r"C:\etc\kubernetes\kubelet.conf is wanted otherwise (sha256) than by a small node, which made it",
    ),
    "what stands in the way": (
        HEAD + "files: [{path: 'C:\\k\\kubelet.exe\\x', text: a}]\n",
        "ConfigMap nodes/windows, key node.yaml line 3, column 9 at $.files.0: "
        r"C:\k\kubelet.exe is a file, where a folder is to be; move it away",
    ),
}


@pytest.mark.parametrize(("wanted", "line"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_changes_nothing_and_is_told_with_its_place(
    follower: Follower, wanted: str, line: str
) -> None:
    follower.wants(SETTINGS % "one")
    follower.told()
    follower.reported()
    before = machine(follower.host)
    follower.said(wanted)
    follower.pass_time(700)
    assert machine(follower.host) == before
    (told,) = [text for event, text in follower.told() if event is Event.REFUSED]
    assert told.startswith(line)
    assert told.endswith("; nothing was changed")
    assert follower.stands(State.REFUSED)
    assert follower.standing.error == told.removesuffix("; nothing was changed")
    assert follower.reported()[-1] == ("refused", follower.standing.error)
    follower.wants(SETTINGS % "two")
    assert follower.host.files.read(FILE) == b"two"
    assert follower.standing.error == ""
    assert follower.reported()[-1] == ("applied", "")


def test_one_without_a_node_yaml(follower: Follower) -> None:
    follower.said("x")
    seen = follower.cluster.config_map
    assert seen is not None
    follower.cluster.config_map = replace(seen, thing={"metadata": {}, "data": {}})
    follower.happened(CLUSTER)
    assert "$.data." in follower.standing.error
    assert "there is no key node.yaml in it" in follower.standing.error


def test_one_that_is_deleted_leaves_all_and_is_told_once(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.told()
    follower.said(None)
    follower.pass_time(700)
    assert follower.host.files.read(FILE) == b"one"
    assert follower.told() == [(Event.MISSING, "there is no ConfigMap nodes/windows; what it made stays")]
    assert follower.stands(State.MISSING)
    follower.wants(SETTINGS % "one")
    assert follower.stands(State.APPLIED)


def test_what_was_not_heard_is_so_until_a_service_that_starts_anew_hears_it(follower: Follower) -> None:
    follower.cluster.trouble = "it is forbidden"
    follower.happened(CLUSTER)
    follower.cluster.trouble = None
    follower.begin()
    follower.happened(OWN)
    assert (follower.standing.state, follower.standing.unheard) == (State.WAITING, "it is forbidden")
    follower.wants(SETTINGS % "one")
    assert follower.standing.unheard == ""


def test_a_cluster_that_cannot_be_reached_is_told_once_and_the_node_is_kept(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.told()
    for fault in ("10.0.0.1:6443 refuses", "no answer"):
        follower.cluster.trouble = fault
        follower.happened(CLUSTER)
    follower.crash()
    events = follower.told()
    assert [event for event, _ in events] == [Event.UNREACHABLE, Event.STARTED]
    assert "10.0.0.1:6443 refuses; until then all stays as it is" in events[0][1]
    assert follower.reports.times_again == 0
    assert (follower.standing.state, follower.standing.unheard) == (State.APPLIED, "no answer")
    follower.cluster.trouble = None
    follower.happened(CLUSTER, CLUSTER)
    assert follower.standing.unheard == ""
    assert follower.reports.times_again == 1, "what could not be told meanwhile"
    assert follower.log[-1] == (
        "daemon: the cluster can be reached again, and ConfigMap nodes/windows is followed"
    )


# What fails


def failing(host: Host) -> dict[str, Any]:
    """Of services: one named exporter does not start."""

    def start(name: str) -> None:
        if name == "exporter":
            raise NotFound("start", "service exporter", 2)
        host.services.start(name)

    return {"start": start}


def test_what_fails_is_taken_back_and_not_tried_again_before_it_is_another(
    tmp_path: pathlib.Path, host: Host
) -> None:
    follower = Follower(tmp_path, host)
    follower.make_node()
    follower.wants(SETTINGS % "one")
    before = machine(host)
    broken = Follower(tmp_path, host, services=failing(host))
    broken.version = follower.version
    broken.wants(EXPORTER)
    assert machine(host) == before
    (told,) = [text for event, text in broken.told() if event is Event.FAILED]
    place = "key node.yaml line 6, column 3 at $.services.0: "
    assert told.startswith(f"ConfigMap nodes/windows could not be made so: {place}")
    assert told.endswith("; taken back; not tried again until it is changed")
    assert broken.standing.error.startswith(f"ConfigMap nodes/windows, {place}")
    assert broken.stands(State.FAILED)

    follower.cluster = broken.cluster
    follower.begin()
    follower.is_node(labels={"other": "label"})
    follower.pass_time(700)
    assert machine(host) == before, "also after a restart of the service"
    assert follower.stands(State.FAILED)
    assert follower.standing.error == broken.standing.error
    follower.said(None)
    follower.wants(EXPORTER)
    assert machine(host) == before, "also when it was away in between"
    assert follower.stands(State.FAILED)
    follower.wants(EXPORTER, head="# once more\n")
    assert host.services.read("exporter") is not None
    assert follower.stands(State.APPLIED)


@pytest.mark.parametrize(("at_its_start", "seconds"), [(240.0, 60.0), (5.0, 5.0)])
def test_a_change_after_which_the_kubelet_is_not_well_is_taken_back(
    tmp_path: pathlib.Path, host: Host, at_its_start: float, seconds: float
) -> None:
    def get(port: int, path: str, seconds: float) -> int:  # noqa: ARG001 - as the port has it
        return 500 if host.files.observe(FILE) is not None else 200

    follower = Follower(tmp_path, host, loopback={"get": get})
    follower.make_node(at_its_start)
    before, begun = machine(host), follower.clock.time
    follower.wants(SETTINGS % "one")
    assert machine(host) == before
    assert "service kubelet is not well any more" in follower.standing.error
    assert follower.stands(State.FAILED)
    assert [event for event, _ in follower.told() if event is not Event.KEEPING] == [Event.FAILED]
    assert seconds <= follower.clock.time - begun < seconds + 2, "it is given time to become so"


class Guarded(Follower):
    """Whose kubelet misses its next answers when it is told to."""

    def __init__(self, folder: pathlib.Path, host: Host, answer: Callable[[], int]) -> None:
        self._answer = answer
        self.to_miss = 0
        super().__init__(folder, host, loopback={"get": self._get})
        self.make_node(5.0)

    def _get(self, port: int, path: str, seconds: float) -> int:
        if self.to_miss:
            self.to_miss -= 1
            self.clock.sleep(seconds)
            raise TimedOut("ask", f"http://127.0.0.1:{port}{path}", 1460)
        return self._answer()

    @property
    def waits(self) -> int:
        """How often a change has waited for it."""
        return sum("is made so when this is over" in line for line in self.log)


def test_a_kubelet_that_misses_an_answer_just_then_is_guarded_all_the_same(
    tmp_path: pathlib.Path, host: Host
) -> None:
    guarded = Guarded(tmp_path, host, lambda: 500 if host.files.observe(FILE) is not None else 200)
    before, guarded.to_miss = machine(host), 2
    guarded.wants(SETTINGS % "one")
    guarded.pass_time(20)
    assert "service kubelet is not well any more" in guarded.standing.error
    assert machine(host) == before
    assert guarded.waits >= 1


class Harmed(Follower):
    """Whose kubelet becomes ill so many seconds after the file has another content than `good`."""

    def __init__(self, folder: pathlib.Path, host: Host, after: float, *, stays_ill: bool = False) -> None:
        self.good: bytes | None = None
        self._after, self._stays_ill = after, stays_ill
        self._ill_at: float | None = None
        super().__init__(folder, host, loopback={"get": self._get})
        self.make_node()

    def _get(self, port: int, path: str, seconds: float) -> int:  # noqa: ARG002 - as the port has it
        there = self.host.files.read(FILE) if self.host.files.observe(FILE) is not None else None
        if there == self.good and not (self._stays_ill and self._ill_at is not None):
            self._ill_at = None
        elif self._ill_at is None:
            self._ill_at = self.clock.time + self._after
        return 200 if self._ill_at is None or self.clock.time < self._ill_at else 500

    def restarts(self) -> int:
        return self.started.count("kubelet")


@pytest.mark.parametrize("former", [None, b"one"], ids=["nothing", "what another ConfigMap wanted"])
def test_a_change_after_which_the_kubelet_becomes_ill_soon_is_taken_back(
    tmp_path: pathlib.Path, host: Host, former: bytes | None
) -> None:
    harmed = Harmed(tmp_path, host, after=20.0)
    harmed.good = former
    if former is not None:
        harmed.wants(SETTINGS % "one")
    before, applied = machine(host), former and harmed.standing.applied
    harmed.told()
    harmed.wants(SETTINGS % "two")
    assert harmed.stands(State.APPLIED)
    harmed.pass_time(100)
    assert machine(host) == before
    assert (harmed.standing.state, harmed.standing.applied) == (State.FAILED, applied or "")
    assert harmed.restarts() == 0
    (told,) = [text for event, text in harmed.told() if event is Event.FAILED]
    assert told.startswith("ConfigMap nodes/windows could not be made so: service kubelet became ill 2")
    assert told.endswith(" seconds; taken back; not tried again until it is changed")
    assert harmed.reported()[-1][0] == "failed"
    harmed.begin()
    harmed.pass_time(700)
    assert machine(host) == before, "also after a restart of the service"
    if former is not None:
        harmed.wants(SETTINGS % "one")
        assert harmed.stands(State.APPLIED)
        assert machine(host) == before


def test_a_change_that_harms_is_taken_back_after_a_command_that_came_first(
    tmp_path: pathlib.Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    harmed = Harmed(tmp_path, host, after=20.0)
    harmed.wants(SETTINGS % "one")
    with ExitStack() as command:

        def make_so_late(*what: Any, **how: Any) -> Any:
            command.enter_context(host.processes.exclusive(COMMAND_LOCK))
            return make_so(*what, **how)

        monkeypatch.setattr("service.adopting.make_so", make_so_late)
        harmed.pass_time(100)
        assert host.files.read(FILE) == b"one"
    monkeypatch.undo()
    harmed.pass_time(100)
    assert harmed.stands(State.FAILED)
    assert host.files.observe(FILE) is None


NO_CHANGES_FAULT = {
    "it was well for long": (120.0, False),
    "it has been restarted since, and nobody knows what there was before": (20.0, True),
}


@pytest.mark.parametrize(("after", "begins_anew"), NO_CHANGES_FAULT.values(), ids=NO_CHANGES_FAULT)
def test_a_kubelet_that_becomes_ill_otherwise_is_restarted(
    tmp_path: pathlib.Path, host: Host, after: float, begins_anew: bool
) -> None:
    harmed = Harmed(tmp_path, host, after)
    harmed.wants(SETTINGS % "one")
    if begins_anew:
        harmed.begin()
    harmed.pass_time(after + 80)
    assert harmed.restarts() == 1
    assert harmed.stands(State.APPLIED)
    assert host.files.read(FILE) == b"one"


def test_one_that_is_no_better_without_the_change_is_restarted_too(
    tmp_path: pathlib.Path, host: Host
) -> None:
    harmed = Harmed(tmp_path, host, 20.0, stays_ill=True)
    harmed.wants(SETTINGS % "one")
    harmed.pass_time(100)
    assert harmed.stands(State.FAILED)
    assert host.files.observe(FILE) is None
    assert harmed.restarts() == 1
    assert [event for event, _ in harmed.told() if event in (Event.FAILED, Event.HUNG)] == [
        Event.FAILED, Event.HUNG
    ]  # fmt: skip


def test_a_change_that_took_a_restart_of_windows_takes_nothing_of_the_one_before_with_it(
    tmp_path: pathlib.Path, host: Host
) -> None:
    harmed = Harmed(tmp_path, host, 20.0)
    harmed.good = b"one"
    harmed.wants(SETTINGS % "one", head=FOR_ONE)
    harmed.wants(NAMED.replace("files:\n", f"files:\n- {{path: '{FILE}', text: one}}\n"), head=FOR_ONE)
    restarted(harmed, tmp_path)
    assert harmed.stands(State.APPLIED)
    harmed.good = None
    harmed.pass_time(100)
    assert harmed.restarts() == 1
    assert host.files.read(FILE) == b"one"
    assert host.services.read("exporter") is not None
    assert harmed.stands(State.APPLIED)


def test_a_change_that_is_to_mend_it_stays(tmp_path: pathlib.Path, host: Host) -> None:
    harmed = Harmed(tmp_path, host, after=5.0)
    harmed.good = b"two"
    harmed.wants(SETTINGS % "one")
    harmed.pass_time(20)
    harmed.wants(SETTINGS % "two")
    harmed.pass_time(200)
    assert harmed.stands(State.APPLIED)
    assert (host.files.read(FILE), harmed.restarts()) == (b"two", 0)


def test_what_would_have_to_be_fetched_is_not_made_again(
    tmp_path: pathlib.Path, host: Host, store: Server
) -> None:
    harmed = Harmed(tmp_path, host, 20.0)
    harmed.wants(remote(store, FETCHED))
    harmed.until_fetched()
    harmed.wants(SETTINGS % "two")
    harmed.pass_time(110)
    assert harmed.stands(State.APPLIED)
    assert any("what there was before" in line for line in harmed.log)
    assert harmed.restarts() == 1


def test_it_is_guarded_at_each_turn_of_the_same_config_map(tmp_path: pathlib.Path, host: Host) -> None:
    later = "rollout: {start: '2040-01-01T00:00:00Z', window: 0s}\n"
    guarded = Guarded(tmp_path, host, lambda: 200)
    guarded.said(f"{HEAD}{SETTINGS % 'one'}---\n{REGION % ('', 'eu')}")
    guarded.to_miss = 2
    guarded.said(f"{HEAD}{later}{SETTINGS % 'two'}---\n{REGION % ('', 'us')}")
    guarded.pass_time(20)
    assert (host.environment.get("REGION"), host.files.read(FILE)) == ("us", b"one")
    assert guarded.waits == 1
    guarded.clock.time += 2208988800.0 - guarded.clock.now() + 1
    guarded.to_miss = 2
    guarded.pass_time(700)
    assert host.files.read(FILE) == b"two"
    assert guarded.waits == 2


def test_a_kubelet_that_is_never_well_is_not_waited_for_and_blames_no_change(
    tmp_path: pathlib.Path, host: Host
) -> None:
    is_well = True
    follower = Follower(tmp_path, host, loopback={"get": lambda *_: 200 if is_well else 500})
    follower.make_node(240.0)
    is_well, begun = False, follower.clock.time
    follower.wants(SETTINGS % "one")
    assert follower.stands(State.PENDING)
    assert host.files.observe(FILE) is None
    while follower.stands(State.PENDING):
        follower.pass_time(1)
    assert 30 <= follower.clock.time - begun < 33
    assert follower.stands(State.APPLIED)
    assert host.files.observe(FILE) is not None


@pytest.mark.parametrize("changes", range(0, 24, 3))
def test_what_was_cut_off_is_taken_back_and_tried_again(
    tmp_path: pathlib.Path, host: Host, changes: int
) -> None:
    follower = Follower(tmp_path, host)
    follower.make_node()
    follower.wants(SETTINGS % "one")
    follower.pass_time(10)
    power = Power(changes)
    doomed = Follower(tmp_path, powered(host, power))
    doomed.pass_time(1)
    doomed.cluster, doomed.version = follower.cluster, follower.version
    doomed.begin()
    with pytest.raises(Killed):
        doomed.wants(EXPORTER)
        doomed.pass_time(10)
    follower.begin()
    follower.pass_time(10)
    assert follower.is_well()
    assert host.services.read("exporter") is not None
    assert host.files.observe(FILE) is None
    assert follower.standing.times == 0


def test_what_is_cut_off_again_and_again_is_given_up(tmp_path: pathlib.Path, host: Host) -> None:
    follower = Follower(tmp_path, host)
    follower.make_node()

    for _ in range(3):
        power = Power(1000)

        def die(name: str, power: Power = power) -> None:
            power.dead = name == "exporter"
            power.spend(lambda: host.services.start(name))

        doomed = Follower(tmp_path, powered(host, power), services={"start": die})
        with pytest.raises(Killed):
            doomed.wants(EXPORTER)
    follower.begin()
    follower.wants(EXPORTER)
    assert follower.stands(State.FAILED)
    assert follower.standing.error == "it was cut off 3 times"
    assert host.services.read("exporter") is None
    assert follower.is_well()


# When

ROLLOUT = "rollout: {start: '2040-01-01T00:00:00Z', window: 2h}\n"


def test_a_change_waits_for_the_nodes_turn(follower: Follower) -> None:
    follower.wants(SETTINGS % "one", head=ROLLOUT)
    assert follower.host.files.read(FILE) == b"one", "a node that has nothing has nothing to wait with"
    follower.told()
    follower.wants(SETTINGS % "two", head=ROLLOUT)
    found = follower.standing
    assert found.state is State.PENDING
    assert found.turn is not None
    start = 2208988800.0
    assert start <= found.turn <= start + 7200
    (told,) = follower.told()
    assert told[0] is Event.PENDING
    assert told[1].startswith("ConfigMap nodes/windows: this node's turn comes at 2040-01-01T0")
    follower.clock.time += found.turn - follower.clock.now() - 5
    follower.pass_time(1)
    assert follower.host.files.read(FILE) == b"one"
    follower.pass_time(10)
    assert follower.host.files.read(FILE) == b"two"
    assert follower.standing.turn is None


def test_only_what_has_changed_has_to_wait(follower: Follower) -> None:
    other = f"{HEAD}environmentVariables: [{{name: REGION, value: %s}}]\n"
    follower.said(f"{HEAD}{ROLLOUT}{SETTINGS % 'one'}---\n{other % 'eu'}")
    follower.said(f"{HEAD}{ROLLOUT}{SETTINGS % 'one'}---\n{other % 'us'}")
    assert follower.host.environment.get("REGION") == "us"


REGION = f"{HEAD}%senvironmentVariables: [{{name: REGION, value: %s}}]\n"


def test_each_document_has_its_own_turn(follower: Follower) -> None:
    later = "rollout: {start: '2040-01-01T00:00:00Z', window: 0s}\n"
    latest = "rollout: {start: '2050-01-01T00:00:00Z', window: 0s}\n"
    other = PureWindowsPath(r"C:\tools\other.txt")
    two_files = f"files: [{{path: '{FILE}', text: one}}, {{path: '{other}', text: one}}]\n"
    follower.said(f"{HEAD}{two_files}---\n{REGION % ('', 'eu')}---\n{HEAD}")
    follower.told()
    service = EXPORTER.partition("environmentVariables")[0]
    follower.said(f"{HEAD}{later}{SETTINGS % 'two'}---\n{REGION % ('', 'us')}---\n{HEAD}{latest}{service}")
    host = follower.host
    assert host.environment.get("REGION") == "us", "it has no turn to wait for"
    assert (host.files.read(FILE), follower.standing.state) == (b"one", State.PENDING)
    assert follower.standing.turn == 2524608000.0, "the last one's"
    follower.pass_time(700)
    assert [event for event, _ in follower.told()].count(Event.APPLIED) == 1, "once"
    follower.begin()
    follower.pass_time(700)
    assert host.files.read(FILE) == b"one", "also after a restart of the service"

    follower.clock.time += 2208988800.0 - follower.clock.now() + 1
    follower.pass_time(700)
    assert host.files.read(FILE) == b"two"
    assert host.files.observe(other) is not None, "what is not wanted any more goes with the last one"
    assert host.services.read("exporter") is None
    follower.clock.time += 2524608000.0 - follower.clock.now() + 1
    follower.pass_time(700)
    assert host.services.read("exporter") is not None
    assert host.files.observe(other) is None
    assert follower.stands(State.APPLIED)
    assert follower.is_well()


def test_a_node_that_takes_no_part_is_left_alone(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.wants(SETTINGS % "two", head="rollout: {percentage: 0}\n")
    follower.pass_time(700)
    assert follower.host.files.read(FILE) == b"one"
    assert (follower.standing.state, follower.standing.turn) == (State.PENDING, None)


PAUSED = "maintenance: {paused: true, reason: a new rack}\n"


def test_during_maintenance_nothing_is_changed_or_repaired(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.told()
    follower.wants(SETTINGS % "two", head=PAUSED)
    follower.crash()
    follower.pass_time(700)
    assert follower.host.files.read(FILE) == b"one"
    assert not follower.is_well()
    assert follower.watches.services == set()
    assert follower.told() == [
        (
            Event.PAUSED,
            "nothing is repaired during the pause: ConfigMap nodes/windows wants it (a new rack)",
        )
    ]
    assert follower.reported()[-1] == ("paused", "")
    follower.begin()
    follower.cluster.config_map = None
    follower.pass_time(60)
    assert not follower.is_well(), "also after a restart without a cluster"
    follower.wants(SETTINGS % "two")
    assert follower.host.files.read(FILE) == b"two"
    assert follower.is_well()
    assert Event.RESUMED in [event for event, _ in follower.told()]


def test_an_annotation_of_the_node_pauses_too(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.is_node(annotations={"wmcb/paused": "disk"})
    follower.wants(SETTINGS % "two")
    follower.crash()
    assert follower.host.files.read(FILE) == b"one"
    assert not follower.is_well()
    assert "its Node's annotation wmcb/paused wants it (disk)" in follower.told()[-1][1]
    follower.is_node(annotations={"wmcb/paused": "false"})
    assert follower.host.files.read(FILE) == b"two"
    assert follower.is_well()


def test_a_pause_ends_with_the_config_map_that_wanted_it(follower: Follower) -> None:
    follower.wants(SETTINGS % "one")
    follower.wants(SETTINGS % "one", head=PAUSED)
    follower.crash()
    assert not follower.is_well()
    follower.said(None)
    follower.pass_time(10)
    assert follower.is_well()
    assert follower.standing.pause is None
    assert follower.reported()[-1] == ("missing", "")


def test_a_pause_by_hand_keeps_changes_away_too(follower: Follower) -> None:
    pausing.pause(follower.host, None)
    follower.happened(OWN)
    follower.wants(SETTINGS % "one")
    assert follower.host.files.observe(FILE) is None
    pausing.resume(follower.host)
    follower.happened(OWN)
    assert follower.host.files.read(FILE) == b"one"


def _paused_by_hand(follower: Follower) -> Callable[[], object]:
    pausing.pause(follower.host, None)
    return lambda: pausing.resume(follower.host)


def _paused_by_its_node(follower: Follower) -> Callable[[], object]:
    follower.cluster.node = Node("win1", "uid-1", annotations={"wmcb/paused": "disk"})
    return follower.is_node


@pytest.mark.parametrize("paused", [_paused_by_hand, _paused_by_its_node])
def test_a_pause_keeps_what_was_cut_off_from_being_taken_back(
    follower: Follower, paused: Callable[[Follower], Callable[[], object]]
) -> None:
    follower.wants(SETTINGS % "one")
    folder = Directory(PureWindowsPath(r"C:\x"))
    wanted = Specification.of(
        [folder, File(folder.path / "a", Inline(b"1")), File(folder.path / "b", Inline(b"1"))]
    )
    with pytest.raises(Killed):
        make_so(powered(follower.host, Power(10)), wanted, Silent(), beside=True, part="followed")
    assert follower.host.files.observe(folder.path) is not None
    resume = paused(follower)
    follower.begin()
    follower.pass_time(700)
    assert follower.host.files.observe(folder.path) is not None
    assert follower.reported()[-1] == ("paused", "")
    resume()
    follower.happened(OWN)
    assert follower.host.files.observe(folder.path) is None


def test_while_somebody_else_is_at_work_it_waits(follower: Follower) -> None:
    with follower.host.processes.exclusive("wmcb") as mine:
        assert mine
        follower.wants(SETTINGS % "one")
        assert follower.host.files.observe(FILE) is None
    follower.pass_time(5)
    assert follower.host.files.read(FILE) == b"one"


def test_somebodys_run_that_was_cut_off_is_waited_for(follower: Follower) -> None:
    other = nodes.node(config=b"{2}", arguments=(f"--kubeconfig={KUBECONFIG}",))
    with pytest.raises(Killed):
        make_so(powered(follower.host, Power(4)), other, Silent())
    follower.wants(SETTINGS % "one")
    assert follower.host.files.observe(FILE) is None
    assert Event.UNFINISHED in [event for event, _ in follower.told()]
    make_so(follower.host, other, Silent())
    follower.happened(OWN)
    assert follower.host.files.read(FILE) == b"one"


def test_what_the_node_is_made_of_anew_is_looked_at_anew(follower: Follower) -> None:
    follower.wants("files: [{path: 'C:\\etc\\kubernetes\\kubelet.conf', text: '{}'}]\n")
    assert follower.stands(State.APPLIED)
    follower.make(nodes.node(config=b"{2}", arguments=(f"--kubeconfig={KUBECONFIG}",)))
    assert follower.stands(State.REFUSED)
    assert "than by a small node, which made it" in follower.standing.error


# Contents that are elsewhere


def test_an_output_waits_for_what_writes_it(follower: Follower) -> None:
    follower.wants("services: [{name: a, program: 'C:\\a.exe', output: {path: 'C:\\a.log'}}]\n")
    assert follower.stands(State.REFUSED)
    assert "at $.services.0.output: there is no C:\\k\\wmcb-log.exe to write it; " in follower.standing.error
    assert follower.host.services.read("a") is None
    follower.host.files.write(nodes.K / "wmcb-log.exe", b"MZ", PROGRAM_FILE)
    follower.is_node(labels={"any": "other"})
    assert follower.stands(State.APPLIED)
    assert follower.host.services.read("a") is not None


@pytest.fixture
def store() -> Iterator[Server]:
    with Server(ok(b"MZ fetched")) as server:
        yield server


def remote(server: Server, sha256: str) -> str:
    return (
        f"files: [{{path: 'C:\\tools\\exporter.exe', protection: program, source: "
        f"{{url: '{server.url('/exporter.exe?token=secret')}', sha256: {sha256}}}}}]\n"
    )


OTHER = "0123456789abcdef" * 4
FETCHED = Inline(b"MZ fetched").sha256


def test_a_content_is_fetched_before_anything_is_changed(follower: Follower) -> None:
    is_awaited = threading.Event()

    def when_awaited(_server: Server, connection: socket.socket, _head: str) -> None:
        assert is_awaited.wait(PATIENCE)
        connection.sendall(ok(b"MZ fetched"))

    with Server(when_awaited) as server:
        follower.wants(remote(server, FETCHED))
        assert follower.stands(State.PENDING)
        is_awaited.set()
        follower.until_fetched()
        assert follower.host.files.read(PROGRAM) == b"MZ fetched"
        assert follower.stands(State.APPLIED)
        assert follower.host.files.observe(STATE / "fetched") is None
        follower.begin()
        follower.pass_time(700)
        assert len(server.heads) == 1, "what is there is not fetched again"


def test_one_that_is_exchanged_later_is_fetched_again(follower: Follower, store: Server) -> None:
    follower.wants(remote(store, FETCHED))
    follower.until_fetched()
    follower.host.files.write(PROGRAM, b"MZ by hand", PRIVATE_FILE)
    follower.begin()
    follower.pass_time(1)
    follower.until_fetched()
    assert follower.host.files.read(PROGRAM) == b"MZ fetched"


def test_another_content_than_it_has_to_be_is_refused(follower: Follower, store: Server) -> None:
    follower.wants(remote(store, OTHER))
    follower.until_fetched()
    assert follower.host.files.observe(PROGRAM) is None
    assert follower.stands(State.REFUSED)
    assert follower.standing.error == (
        "ConfigMap nodes/windows, key node.yaml line 3, column 9 at $.files.0: its content cannot be fetched:"
        f" its sha256 is {FETCHED}, not the wanted {OTHER}"
    )


def test_what_cannot_be_fetched_is_tried_again_later(follower: Follower) -> None:
    with Server(answer("404 Not Found"), ok(b"MZ fetched")) as server:
        follower.wants(remote(server, FETCHED))
        follower.until_fetched()
        assert follower.stands(State.REFUSED)
        assert "404" in follower.standing.error
        assert "secret" not in follower.standing.error
        follower.pass_time(15)
        follower.until_fetched()
    assert follower.host.files.read(PROGRAM) == b"MZ fetched"
    assert follower.stands(State.APPLIED)


def test_a_signal_of_contents_is_a_reason_to_look(follower: Follower) -> None:
    follower.happened(Signal(Source.CONTENTS))
    assert standing.read(follower.host) is None


def test_a_bootstrap_that_wants_the_same_otherwise_is_refused(follower: Follower) -> None:
    follower.wants("environmentVariables: [{name: NODE_REGION, value: eu}]\n")
    wants = [*nodes.wants(), EnvironmentVariable("NODE_REGION", "us")]
    with pytest.raises(Taken, match="than by ConfigMap nodes/windows, which made it"):
        make_so(follower.host, Specification.of(wants), Silent())
