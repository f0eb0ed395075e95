"""The resident service on a machine that is a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.host.port import Host
from agent.private_keys import sweep
from agent.release import RELEASE
from service.keeping import Keeping
from service.telling import Telling
from service.watching import Watches
from service.work_queue import Signals

if TYPE_CHECKING:
    from agent.artifacts.means import Means
    from service.mending import Mending
    from service.program import Log, Wishing


def keep(
    signals: Signals,
    open_host: Callable[[], Host],
    open_log: Callable[[Host], Log],
    wishing: Wishing | None,
    metrics_port: int | None,
    means: Callable[[Host], Means] | None,
) -> None:
    """Keep this machine as it was made, until the service is asked to end."""
    host = open_host()
    sweep(host)
    telling = Telling(host, open_log(host))
    wishes = wishing(host, signals, telling) if wishing else None
    if metrics_port is not None:
        from service.metrics import answer_on  # noqa: PLC0415 - 0.4 MB, where metrics are asked for

        answer_on(metrics_port, host, signals, telling, wishes)
    mending = _mending(host, signals, means) if means else None
    Keeping(host, signals, telling, RELEASE, Watches(host, signals), wishes, mending).run()


def _mending(host: Host, signals: Signals, means: Callable[[Host], Means]) -> Callable[[], Mending]:
    def make() -> Mending:
        """Most machines never need it."""
        from service.mending import Mending  # noqa: PLC0415 - requests, 17 MB

        return Mending(host, signals, means(host))

    return make
