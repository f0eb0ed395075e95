"""The resident service between start and stop."""

from __future__ import annotations

from agent.host.port import Control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import PureWindowsPath

    from agent.host.port import Host, ServiceControls
    from service.followed import Followed
    from service.keeping import Wishes
    from service.signals import Signals
    from service.telling import Telling

    Log = Callable[[str], None]
    Wishing = Callable[[Host, Signals, Telling], Wishes]

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
    wishing: Wishing | None = None,
) -> int:
    """Runs as long as Windows lets it; its exit code. `wishing` makes what knows what a cluster wants of it.

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
    worker = threading.Thread(target=_keep, args=(signals, open_host, open_log, wishing), daemon=True)
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
    wishing: Wishing | None,
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
        wishes = wishing(host, signals, telling) if wishing else None
        Keeping(host, signals, telling, RELEASE, Watches(host, signals), wishes).run()
    except BaseException:  # noqa: BLE001 - a service that keeps nothing would look as if it did
        os._exit(1)  # Windows starts it again, by its recovery actions


def operated(kubeconfig: PureWindowsPath, namespace: str) -> Wishing:
    """As OpenShift's operator wants it, by its ConfigMaps in that namespace."""

    def wishing(host: Host, signals: Signals, telling: Telling) -> Wishes:
        from agent.release import RELEASE
        from service.operated import Operated, OperatorCluster
        from service.reporting import Marks

        cluster = OperatorCluster(host, kubeconfig, namespace, signals)
        return Operated(host, cluster, Marks(cluster), telling, RELEASE)

    return wishing


def following(followed: Followed) -> Wishing:
    """Whoever follows nothing has none of this loaded: TLS alone takes more than all the rest."""

    def wishing(host: Host, signals: Signals, telling: Telling) -> Wishes:
        from agent.release import RELEASE
        from service.adopting import Adopting
        from service.cluster import Cluster
        from service.contents import Contents
        from service.reporting import Reports

        cluster = Cluster(host, followed, signals)
        contents, reports = Contents(host, signals), Reports(cluster, host.clock)
        return Adopting(host, followed, cluster, contents, reports, telling, RELEASE)

    return wishing
