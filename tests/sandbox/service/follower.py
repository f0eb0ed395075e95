"""A resident service that follows a ConfigMap, in a cluster that says what a test has it say."""

from __future__ import annotations

import pathlib
import threading
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

from agent.artifacts.means import Means
from agent.engine.run import status
from agent.host.port import Host
from agent.spec import HealthCheck, Service, Specification
from sandbox.engine import nodes
from sandbox.service.keeper import Keeper
from service import standing, succession
from service.adopting import Adopting
from service.arguments import Followed
from service.cluster import Kubelet, Node, Seen
from service.contents import Contents
from service.keeping import Keeping
from service.mending import Mending
from service.reporting import Report
from service.standing import Standing, State
from service.succeeding import Succeeding
from service.telling import Telling
from service.work_queue import Signal, Source

KUBECONFIG = PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf")
HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
CLUSTER = Signal(Source.CLUSTER)
PIN = f"sha256:{'0123456789abcdef' * 4}"
"""Of the authority that the node knows its cluster by."""


class SaidCluster:
    """What it says is said by a test."""

    def __init__(self) -> None:
        self.path: PureWindowsPath | None = None
        self.config_map: Seen | None = None
        self.node: Node | None = None
        self.pins = frozenset({PIN})
        self.trouble: str | None = None

    def follow(self, kubelet: Kubelet | None) -> None:
        self.path = None if kubelet is None else kubelet.kubeconfig


class KeptReports:
    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.times_again = 0

    def put(self, report: Report) -> None:
        if self.reports[-1:] != [report]:
            self.reports.append(report)

    def again(self) -> None:
        self.times_again += 1


class Follower(Keeper):
    """Of the Node win1, whose kubelet names its kubeconfig."""

    def __init__(
        self, folder: pathlib.Path, host: Host, followed: Followed | None = None, **ports: dict[str, Any]
    ) -> None:
        self.cluster = SaidCluster()
        self.followed = followed or Followed("nodes", "windows")
        self.version = 0
        self.reports = KeptReports()
        super().__init__(folder, host, **ports)

    def begin(self) -> None:
        super().begin()
        telling = Telling(self.host, self.log.append)
        self.contents = Contents(self.host, self.signals)
        adopting = Adopting(
            self.host,
            self.followed,
            self.cluster,  # type: ignore[arg-type]
            self.contents,
            self.reports,  # type: ignore[arg-type]
            telling,
            self._succeeding,
        )
        self.mending = Mending(self.host, self.signals, Means(patience=0.0))
        self.keeping = Keeping(
            self.host,
            self.signals,
            telling,
            self.watches,  # type: ignore[arg-type]
            adopting,
            lambda: self.mending,
        )

    def _succeeding(self) -> Succeeding:
        self.own_contents = Contents(self.host, self.signals, folder=succession.fetched(self.host))
        return Succeeding(self.host, self.own_contents, Telling(self.host, self.log.append))

    def make_node(self, well_within_seconds: float = 60.0) -> None:
        """Whose kubelet is given so long to be well after its start."""
        *others, kubelet = nodes.wants(arguments=(f"--kubeconfig={KUBECONFIG}",))
        assert isinstance(kubelet, Service)
        health = HealthCheck(10248, within_seconds=well_within_seconds)
        self.make(Specification.of([*others, replace(kubelet, health=health)], title="a small node"))
        self.told()

    def said(self, wanted: str | None, **more: str) -> None:
        """The ConfigMap holds this as its node.yaml, and is there; None if there is none."""
        self.version += 1
        thing: dict[str, Any] = {
            "metadata": {"name": self.followed.name, "resourceVersion": str(self.version)},
            "data": {"node.yaml": wanted, **more},
        }
        self.cluster.config_map = Seen(None if wanted is None else thing)
        if self.cluster.node is None:
            self.cluster.node = Node("win1", "uid-1", {"kubernetes.io/os": "windows"})
        self.happened(CLUSTER)

    def wants(self, wanted: str, head: str = "") -> None:
        self.said(f"{HEAD}{head}{wanted}")

    def is_node(self, **more: Any) -> None:
        """Its Node has these labels or annotations."""
        self.cluster.node = Node("win1", "uid-1", **more)
        self.happened(CLUSTER)

    def until_fetched(self) -> None:
        self.until_fetch_ended()
        self.pass_time(1)

    def until_fetch_ended(self) -> None:
        """Nobody has looked at it yet."""
        for thread in threading.enumerate():
            if getattr(thread, "_target", None) in (self.contents._fetch, self.mending._fetch):
                thread.join(20)

    @property
    def standing(self) -> Standing:
        found = standing.read(self.host)
        assert found is not None
        return found

    def stands(self, state: State) -> bool:
        return self.standing.state is state

    def is_well(self) -> bool:
        return status(self.host).is_well

    def reported(self) -> list[tuple[str, str]]:
        """States and errors, since the last time."""
        reports, self.reports.reports = self.reports.reports, self.reports.reports[-1:]
        return [(each.state, each.error) for each in reports]
