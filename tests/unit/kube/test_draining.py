"""A node emptied as kubectl drain does it, and given back by whoever cordoned it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent.kube.draining import CORDONED, Draining, NotEvictable, cordon, pods_to_evict, uncordon
from agent.kube.failure import Forbidden, NotInTime
from unit.fetch.quick_clock import QuickClock
from unit.kube.api_server import TOKEN, ApiServer, status
from unit.kube.scheduled import DAEMONS, REPLICAS, ScheduledNode
from unit.kube.test_client import client

EMPTY_DIR = {"volumes": [{"name": "scratch", "emptyDir": {}}]}
MIRROR = {"kubernetes.io/config.mirror": "hash"}
OVER = {"phase": "Succeeded"}
BUDGET = status(429, "TooManyRequests", "it would violate the disruption budget")


@pytest.fixture
def there(server: ApiServer) -> ScheduledNode:
    return ScheduledNode(server, "win1")


def drain(server: ApiServer, seconds: float = 300, *, with_empty_dirs: bool = False) -> list[str]:
    told: list[str] = []
    with client(server, token=TOKEN) as asking:
        pods = pods_to_evict(asking, "win1", with_empty_dirs=with_empty_dirs)
        Draining(asking, "win1", seconds, told.append, QuickClock()).until_gone(pods)
    return told


# Cordoned, and by whom


def test_cordoned_and_given_back(server: ApiServer, there: ScheduledNode) -> None:
    with client(server, token=TOKEN) as asking:
        assert cordon(asking, "win1", "upgrade")
        assert (there.unschedulable, there.annotations) == (True, {CORDONED: "upgrade"})
        assert not cordon(asking, "win1", "upgrade"), "by an upgrade that was killed"
        assert uncordon(asking, "win1")
        assert (there.unschedulable, there.annotations) == (False, {})
        assert not uncordon(asking, "win1")


def test_what_somebody_else_has_cordoned_stays_so(server: ApiServer, there: ScheduledNode) -> None:
    there.unschedulable = True
    with client(server, token=TOKEN) as asking:
        assert not cordon(asking, "win1", "upgrade")
        assert not uncordon(asking, "win1")
    assert (there.unschedulable, there.annotations) == (True, {})


@pytest.mark.parametrize(
    ("by", "given_back"), [("wmcb", True), ("kubectl", False), ("", True)], ids=["us", "kubectl", "not told"]
)
def test_a_mark_that_was_left_is_not_whoever_cordons_it_later(
    server: ApiServer, there: ScheduledNode, by: str, given_back: bool
) -> None:
    """An API server that tells nothing of fields' managers leaves the mark alone to go by."""
    there.unschedulable, there.annotations, there.cordoned_by = True, {CORDONED: "upgrade"}, by
    with client(server, token=TOKEN) as asking:
        assert uncordon(asking, "win1") is given_back
    assert (there.unschedulable, there.annotations) == (not given_back, {})


def test_a_mark_alone_goes(server: ApiServer, there: ScheduledNode) -> None:
    there.annotations = {CORDONED: "upgrade"}
    with client(server, token=TOKEN) as asking:
        assert not uncordon(asking, "win1")
    assert (there.unschedulable, there.annotations) == (False, {})


def test_the_kubelet_reports_to_the_node_meanwhile(server: ApiServer, there: ScheduledNode) -> None:
    there.others_change = 3
    with client(server, token=TOKEN) as asking:
        assert cordon(asking, "win1", "upgrade")
    assert there.unschedulable


def test_a_node_that_is_not_there_is_not_given_back(server: ApiServer) -> None:
    with client(server, token=TOKEN) as asking:
        assert not uncordon(asking, "win1")


# Which pods


PODS: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any], bool]] = {
    "of a ReplicaSet": ((REPLICAS,), {}, True),
    "of a DaemonSet": ((DAEMONS,), {}, False),
    "of a DaemonSet, and over": ((DAEMONS,), {"status": OVER}, True),
    "of somebody's own DaemonSet": (({**DAEMONS, "apiVersion": "apps.kruise.io/v1"},), {}, True),
    "of the kubelet itself": ((), {"annotations": MIRROR}, False),
    "of nobody, and over": ((), {"status": OVER}, True),
    "of nobody, and going": ((), {"going": True}, True),
    "with an emptyDir, and over": ((REPLICAS,), {"spec": EMPTY_DIR, "status": OVER}, True),
}


@pytest.mark.parametrize(("owners", "more", "goes"), PODS.values(), ids=PODS)
def test_which_pods_go(
    server: ApiServer,
    there: ScheduledNode,
    owners: tuple[dict[str, Any], ...],
    more: dict[str, Any],
    goes: bool,
) -> None:
    there.has_pod("a", *owners, **more)
    with client(server, token=TOKEN) as asking:
        assert set(pods_to_evict(asking, "win1", with_empty_dirs=False)) == ({"uid of a"} if goes else set())
    assert server.targets == ["GET /api/v1/pods?fieldSelector=spec.nodeName%3Dwin1"]


LOSSES: dict[str, tuple[Callable[[ScheduledNode], None], str]] = {
    "of nobody": (
        lambda there: there.has_pod("a"),
        "default/a has no controller that would make it anew: delete it, or run kubectl drain win1 --force",
    ),
    "with an emptyDir": (
        lambda there: there.has_pod("a", REPLICAS, spec=EMPTY_DIR),
        "default/a keeps data in an emptyDir, which goes with it: --delete-emptydir-data allows that",
    ),
}


@pytest.mark.parametrize(("make", "says"), LOSSES.values(), ids=LOSSES)
def test_what_would_be_lost_is_not_evicted(
    server: ApiServer, there: ScheduledNode, make: Callable[[ScheduledNode], None], says: str
) -> None:
    there.has_pod("b", REPLICAS)
    make(there)
    with pytest.raises(NotEvictable) as refused:
        drain(server)
    assert str(refused.value) == f"the Node win1 cannot be drained: {says}"
    assert there.evictions == []


def test_an_empty_dir_goes_where_that_is_said(server: ApiServer, there: ScheduledNode) -> None:
    there.has_pod("a", REPLICAS, spec=EMPTY_DIR)
    drain(server, with_empty_dirs=True)
    assert there.pods == {}


# Evictions


def test_all_are_evicted_and_what_is_a_daemons_stays(server: ApiServer, there: ScheduledNode) -> None:
    there.has_pod("a", REPLICAS)
    there.has_pod("b", DAEMONS)
    assert drain(server) == ["evicting default/a"]
    assert list(there.pods) == ["b"]
    asked = next(asked for asked in server.asked if asked.method == "POST")
    assert b'"deleteOptions":{"preconditions":{"uid":"uid of a"}}' in asked.body


def test_a_budget_keeps_one_until_another_is_gone(server: ApiServer, there: ScheduledNode) -> None:
    there.has_pod("a", REPLICAS)
    there.has_pod("b", REPLICAS)
    there.refusals = [BUDGET]
    told = drain(server)
    assert there.evictions == ["a", "b", "a"]
    assert any("it would violate the disruption budget" in line for line in told)


def test_a_budget_that_is_never_met(server: ApiServer, there: ScheduledNode) -> None:
    there.has_pod("a", REPLICAS)
    there.refusals = [BUDGET] * 100
    with pytest.raises(NotInTime) as late:
        drain(server, 30)
    assert str(late.value).startswith("the Node win1 is not drained within 30 seconds: default/a: ")
    assert "it would violate the disruption budget" in str(late.value)


def test_one_that_does_not_end(server: ApiServer, there: ScheduledNode) -> None:
    there.has_pod("a", REPLICAS, going=True)
    with pytest.raises(NotInTime) as late:
        drain(server, 30)
    assert str(late.value) == "the Node win1 is not drained within 30 seconds: default/a has not ended"
    assert there.evictions == []


def test_who_may_not_evict_is_told(server: ApiServer, there: ScheduledNode) -> None:
    there.has_pod("a", REPLICAS)
    there.refusals = [status(403, "Forbidden", "pods/eviction is forbidden")]
    with pytest.raises(Forbidden):
        drain(server)


def test_a_pod_whose_namespace_is_going(server: ApiServer, there: ScheduledNode) -> None:
    """Its eviction is forbidden, and it is gone a moment later."""
    there.has_pod("a", REPLICAS)

    def forbidden(handler: Any) -> None:
        del there.pods["a"]
        handler._give(status(403, "Forbidden", "the namespace is being terminated"))

    server.at("/api/v1/namespaces/default/pods/a/eviction", forbidden)
    drain(server)
