"""The resident service between start and stop."""

from __future__ import annotations

from agent.host.port import Control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.host.port import Host, ServiceControls
    from service.adopting import Adopting
    from service.followed import Followed
    from service.signals import Signals
    from service.telling import Telling

    Log = Callable[[str], None]

STOP_SECONDS = 5.0
"""How long it may take from a request to stop until it has stopped."""
_LEFT_FOR_ENDING_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 600.0
"""A net below what is told: whoever made a node may have been killed before he said so."""

_ENDING = (Control.STOP, Control.PRESHUTDOWN, Control.SHUTDOWN)


def resident(
    controls: ServiceControls,
    is_node: Callable[[], bool],
    open_host: Callable[[], Host],
    open_log: Callable[[Host], Log],
    followed: Followed | None = None,
) -> int:
    """Runs as long as Windows lets it; its exit code. `followed` is the ConfigMap to follow, if any.

    Answers the SCM in this thread, and works in another: what is asked for is heard at once, and a step that
    takes too long is left to the journal. On a machine that is no node there is no other, and next to nothing
    is loaded: whoever makes it one tells this service so.
    """
    controls.running()  # before anything else is loaded
    while not is_node():
        if controls.next(_LOOK_AGAIN_SECONDS) in _ENDING:
            controls.stopping(STOP_SECONDS)
            return 0
    import threading

    from service.signals import Signal, Signals, Source

    signals = Signals()
    worker = threading.Thread(target=_keep, args=(signals, open_host, open_log, followed), daemon=True)
    worker.start()
    while controls.next() not in _ENDING:
        signals.put(Signal(Source.ASKED))
    controls.stopping(STOP_SECONDS)
    signals.end()
    worker.join(STOP_SECONDS - _LEFT_FOR_ENDING_SECONDS)
    return 0


def _keep(
    signals: Signals,
    open_host: Callable[[], Host],
    open_log: Callable[[Host], Log],
    followed: Followed | None,
) -> None:
    import os
    import sys

    # OpenSSL would take 5 MB, for hashes that Python has of its own, too.
    sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]

    from agent.release import RELEASE
    from service.keeping import Keeping
    from service.telling import Telling
    from service.watching import Watches

    try:
        host = open_host()
        telling = Telling(host, open_log(host))
        adopting = _adopting(host, signals, telling, followed) if followed else None
        Keeping(host, signals, telling, RELEASE, Watches(host, signals), adopting).run()
    except BaseException:  # noqa: BLE001 - a service that keeps nothing would look as if it did
        os._exit(1)  # Windows starts it again, by its recovery actions


def _adopting(host: Host, signals: Signals, telling: Telling, followed: Followed) -> Adopting:
    """Whoever follows nothing has none of this loaded: TLS alone takes more than all the rest."""
    from agent.release import RELEASE
    from service.adopting import Adopting
    from service.cluster import Cluster
    from service.contents import Contents
    from service.reporting import Reports

    cluster = Cluster(host, followed, signals)
    contents, reports = Contents(host, signals), Reports(cluster, host.clock)
    return Adopting(host, followed, cluster, contents, reports, telling, RELEASE)
