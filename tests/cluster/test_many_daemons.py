"""What the benchmark does with a thousand connections, in small: one change reaches many services."""

from __future__ import annotations

from collections.abc import Callable

from lab.cluster.cluster import Cluster
from lab.cluster.many import many
from lab.waiting import until

COUNT = 20


def test_a_change_reaches_all(cluster: Cluster, figure: Callable[[str, float], None]) -> None:
    with many(cluster, COUNT) as services:
        until(lambda: services.connections == 2 * COUNT, "two watches each are all that is open")
        cluster.forget_requests()
        spread = services.change("changed")
        assert len(spread.seconds) == COUNT
        figure(f"ConfigMap changed, to the last of {COUNT} services", spread.seconds[-1])
        asked = cluster.requests(program="wmcb")
        assert {(each.verb, each.resource) for each in asked} == {("patch", "nodes"), ("create", "events")}
        nodes = [each.user.removeprefix("system:node:") for each in asked if each.verb == "patch"]
        assert len(nodes) == len(set(nodes)) == COUNT
        assert all(
            each.name == each.user.removeprefix("system:node:") for each in asked if each.verb == "patch"
        )
