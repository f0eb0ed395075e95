"""The resident service of a node that follows a ConfigMap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.artifacts.means import Means
from agent.host.port import Host
from agent.release import RELEASE
from service.adopting import Adopting
from service.arguments import Followed
from service.cluster import Cluster
from service.contents import Contents
from service.reporting import Reports
from service.telling import Telling
from service.work_queue import Signals

if TYPE_CHECKING:
    from service.succeeding import Succeeding


def adopting(host: Host, followed: Followed, signals: Signals, telling: Telling, means: Means) -> Adopting:
    """Return what makes the node as that ConfigMap has it."""
    cluster = Cluster(host, followed, signals)
    contents = Contents(host, signals, means)
    reports = Reports(cluster, host.clock)

    def succeed() -> Succeeding:
        from service import succession  # noqa: PLC0415 - 0.7 MB, for another wmcb.exe
        from service.succeeding import Succeeding  # noqa: PLC0415 - 0.7 MB, for another wmcb.exe

        own = Contents(host, signals, means, succession.fetched(host))
        return Succeeding(host, own, telling)

    return Adopting(host, followed, cluster, contents, reports, telling, RELEASE, succeed)
