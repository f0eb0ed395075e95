"""`wmcb upgrade --drain` and `--cordon`: the node is emptied before its kubelet stops, and given back."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from agent.cli.join_cluster import admitted, give_back
from agent.engine import run as engine
from agent.engine.machine_lock import COMMAND_LOCK
from agent.kube.answers import Object
from agent.kube.draining import CORDONED, Draining
from sandbox.cli.given import Answer, Machine, program
from sandbox.cli.test_join import Cluster, cluster, windows
from sandbox.cli.test_upgrade import joined, upgrade
from unit.kube.api_server import status
from unit.kube.scheduled import DAEMONS, REPLICAS, ScheduledNode

__all__ = ["cluster", "joined", "windows"]

KUBELET = r"C:\k\kubelet.exe"


@pytest.fixture
def there(cluster: Cluster) -> ScheduledNode:
    return ScheduledNode(cluster.server, "other")


def to_new(machine: Machine, *more: str) -> Answer:
    new = machine.give("new.exe", program(tail=b"2"))
    return machine.wmcb("upgrade", "--kubelet-version", "1.36", "--kubelet", new, *more)


def changes(cluster: Cluster) -> list[str]:
    """Of what is in the cluster, in their order."""
    asked = [each.split(" ") for each in cluster.server.targets]
    return [f"{method} {target.rpartition('/')[2]}" for method, target in asked if method != "GET"]


@pytest.mark.parametrize("option", ["--cordon", "--drain"])
def test_it_is_asked_for(joined: Machine, cluster: Cluster, there: ScheduledNode, option: str) -> None:
    there.has_pod("web", REPLICAS)
    there.has_pod("proxy", DAEMONS)
    answer = to_new(joined, option)
    assert answer.code == 0, answer.err
    evicted = ["POST eviction"] if option == "--drain" else []
    assert changes(cluster) == ["PATCH other", *evicted, "PATCH other"]
    assert list(there.pods) == (["proxy"] if option == "--drain" else ["web", "proxy"])
    assert (there.unschedulable, there.annotations) == (False, {})
    assert answer.error_lines[-1] == "the Node other is uncordoned"
    assert joined.read(KUBELET) == program(tail=b"2")


def test_it_is_not_asked_for(joined: Machine, cluster: Cluster, there: ScheduledNode) -> None:
    there.has_pod("web", REPLICAS)
    to_new(joined)
    assert changes(cluster) == []


def test_what_needs_no_stop_needs_no_draining(
    joined: Machine, cluster: Cluster, there: ScheduledNode
) -> None:
    upgrade(joined)  # the bootstrap credentials go
    there.has_pod("web", REPLICAS)
    assert upgrade(joined, "--drain").startswith("nothing to do")
    assert changes(cluster) == []


def test_what_somebody_else_cordoned_stays_so(joined: Machine, there: ScheduledNode) -> None:
    there.unschedulable = True
    assert to_new(joined, "--drain").code == 0
    assert there.unschedulable


def refused(machine: Machine, there: ScheduledNode, *more: str) -> tuple[int, str]:
    before = machine.picture()
    answer = to_new(machine, "--drain", *more)
    after = machine.picture()
    for path in [path for path in (*before, *after) if "\\logs" in path.lower()]:
        before.pop(path, None)
        after.pop(path, None)
    assert after == before
    assert (there.unschedulable, there.annotations) == (False, {})
    return answer.code, next(line for line in answer.error_lines if line.endswith("on this machine"))


def test_pods_that_would_be_lost(joined: Machine, there: ScheduledNode) -> None:
    there.has_pod("web")
    code, line = refused(joined, there)
    assert code == 1
    assert line.startswith("wmcb: the Node other cannot be drained: default/web has no controller")


def test_a_budget_that_is_never_met(joined: Machine, there: ScheduledNode) -> None:
    there.has_pod("web", REPLICAS)
    there.refusals = [status(429, "TooManyRequests", "it would violate the disruption budget")] * 100
    code, line = refused(joined, there, "--drain-timeout", "1")
    assert code == 1
    assert line.startswith("wmcb: the Node other is not drained within 1 second: default/web: ")


def test_who_may_not_evict(joined: Machine, there: ScheduledNode) -> None:
    there.has_pod("web", REPLICAS)
    there.refusals = [status(403, "Forbidden", "pods/eviction is forbidden")]
    code, line = refused(joined, there)
    assert code == 1
    assert "this node's credentials may not do that: grant it, or run kubectl drain other elsewhere" in line


def test_who_may_not_cordon(joined: Machine, there: ScheduledNode) -> None:
    there.refusing = status(403, "Forbidden", "nodes is forbidden")
    code, line = refused(joined, there)
    assert (code, "403 Forbidden" in line) == (1, True)


def test_a_failed_upgrade_gives_it_back(
    joined: Machine, cluster: Cluster, there: ScheduledNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr("agent.resources.service.ServiceResource.apply", fails)
    answer = to_new(joined, "--drain")
    assert answer.code == 1
    assert "the machine is as it was before" in answer.err
    assert changes(cluster) == ["PATCH other", "PATCH other"]
    assert (there.unschedulable, there.annotations) == (False, {})


@pytest.mark.parametrize("how", [(), ("--rollback",)], ids=["again", "taken back"])
def test_killed_the_next_one_gives_it_back(
    joined: Machine, there: ScheduledNode, how: tuple[str, ...]
) -> None:
    there.unschedulable, there.annotations = True, {CORDONED: "upgrade"}
    answer = joined.wmcb("upgrade", "--kubelet-version", "1.36", *how)
    assert answer.code == 0, answer.err
    assert (there.unschedulable, there.annotations) == (False, {})


@pytest.mark.parametrize("by_us", [True, False], ids=["us", "somebody else"])
def test_killed_a_join_gives_it_back(joined: Machine, there: ScheduledNode, by_us: bool) -> None:
    there.unschedulable, there.annotations = True, {CORDONED: "upgrade"} if by_us else {}
    told: list[str] = []
    admitted(joined.host, "other", "npipe:////./pipe/containerd-containerd", 10, told.append)
    assert there.unschedulable is not by_us
    assert told == (["the Node other is uncordoned"] if by_us else [])


def test_what_finishes_a_run_does_not_drain_anew(
    joined: Machine, there: ScheduledNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kubelet may not run any more, and then no pod ever ends."""

    class PowerCut(BaseException):
        pass

    def dies(*_: object, **__: object) -> None:
        raise PowerCut

    with monkeypatch.context() as dying, pytest.raises(PowerCut):
        dying.setattr("agent.resources.service.ServiceResource.apply", dies)
        dying.setattr(engine, "undo", dies)
        to_new(joined, "--drain")
    assert there.unschedulable
    there.has_pod("web", REPLICAS)
    answer = to_new(joined, "--drain")
    assert answer.code == 0, answer.err
    assert list(there.pods) == ["web"]
    assert not there.unschedulable


@pytest.mark.parametrize("option", [("--drain-timeout", "9"), ("--delete-emptydir-data",)], ids=" ".join)
def test_how_to_drain_what_is_not_drained(joined: Machine, option: tuple[str, ...]) -> None:
    answer = joined.wmcb("upgrade", *option)
    assert (answer.code, answer.error_lines) == (2, [f"wmcb: {option[0]} goes with --drain"])


def test_what_would_be_evicted(joined: Machine, cluster: Cluster, there: ScheduledNode) -> None:
    there.has_pod("web", REPLICAS)
    upgrade(joined, "--drain", "--dry-run")
    assert changes(cluster) == []


def test_the_end_is_not_known(joined: Machine, there: ScheduledNode) -> None:
    there.unschedulable, there.annotations = True, {CORDONED: "upgrade"}
    there.refusing = status(403, "Forbidden")
    answer = to_new(joined)
    assert answer.code == 1
    last = answer.error_lines[-1]
    assert last.startswith("wmcb: whether the Node other is still cordoned is not known: ")
    assert "kubectl annotate node other wmcb/cordoned-for- elsewhere" in last
    assert joined.read(KUBELET) == program(tail=b"2"), "it is upgraded all the same"


def test_the_end_is_not_known_to_a_program(joined: Machine, there: ScheduledNode) -> None:
    there.unschedulable, there.annotations = True, {CORDONED: "upgrade"}
    there.refusing = status(403, "Forbidden")
    answer = to_new(joined, "--output", "json")
    assert json.loads(answer.out)["error"]["kind"] == "failed", "one document, and not the result before it"


@pytest.mark.parametrize("more", [(), ("--drain-timeout", "3")], ids=["busy", "usage"])
def test_one_that_never_began_leaves_the_node_to_the_one_at_work(
    joined: Machine, there: ScheduledNode, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    there.has_pod("web", REPLICAS)
    seen: list[tuple[int, bool]] = []
    until_gone = Draining.until_gone

    def meanwhile(draining: Draining, pods: Mapping[str, Object]) -> None:
        other = joined.wmcb("upgrade", "--kubelet-version", "1.36", *more)
        seen.append((other.code, there.unschedulable))
        until_gone(draining, pods)

    monkeypatch.setattr(Draining, "until_gone", meanwhile)
    assert to_new(joined, "--drain").code == 0
    assert seen == [(2 if more else 1, True)]
    assert not there.unschedulable


def test_a_word_that_cannot_be_meant_changes_nothing(joined: Machine, there: ScheduledNode) -> None:
    there.unschedulable, there.annotations = True, {CORDONED: "upgrade"}
    assert joined.wmcb("upgrade", "--drain-timeout", "3").code == 2
    assert there.unschedulable


def test_one_that_could_not_be_taken_back_stays_cordoned(
    joined: Machine, there: ScheduledNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the disk is gone")

    with monkeypatch.context() as failing:
        failing.setattr("agent.resources.service.ServiceResource.apply", fails)
        failing.setattr("agent.resources.file.FileResource.restore", fails)
        answer = to_new(joined, "--drain")
    assert "not all of it could be taken back" in answer.error_lines[-1]
    assert there.unschedulable, "its kubelet does not run"
    assert "the Node other is left as it is in the cluster" in answer.err
    assert joined.wmcb("upgrade", "--rollback").code == 0
    assert not there.unschedulable


def test_one_that_finds_another_command_at_work_says_that_the_node_is_left_as_it_is(
    joined: Machine, there: ScheduledNode
) -> None:
    there.unschedulable, there.annotations = True, {CORDONED: "upgrade"}
    told: list[str] = []
    with joined.host.processes.exclusive(COMMAND_LOCK):
        give_back(joined.host, "other", told.append)
    assert there.unschedulable
    assert told == [
        "the Node other is left as it is in the cluster: the next wmcb upgrade that ends well looks"
    ]


@pytest.mark.parametrize("waits", [False, True], ids=["at the end", "when it is there"])
def test_what_is_done_to_the_node_is_in_the_log(
    joined: Machine, there: ScheduledNode, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    monkeypatch.setattr("agent.cli.join._waits", lambda *_: waits)
    there.has_pod("web", REPLICAS)
    to_new(joined, "--drain")
    log = joined.read(r"C:\ProgramData\wmcb\logs\wmcb.log").decode()
    found = [line.partition(" ")[2] for line in log.splitlines() if "cordoned" in line or "evict" in line]
    assert found == [
        "the Node other is cordoned",
        "evicting default/web",
        "the Node other is uncordoned",
    ]


def test_pods_that_would_be_lost_are_seen_before_it_is_cordoned(
    joined: Machine, cluster: Cluster, there: ScheduledNode
) -> None:
    there.has_pod("web")
    assert to_new(joined, "--drain").code == 1
    assert changes(cluster) == []
