"""The resident service between start and stop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.host.port import ENDING, Control, Host, ServiceControls

if TYPE_CHECKING:
    from agent.artifacts.means import Means
    from service.followed import Followed
    from service.keeping import Wishes
    from service.mending import Mending
    from service.signals import Signals
    from service.succeeding import Succeeding
    from service.telling import Telling

    Log = Callable[[str], None]
    Wishing = Callable[[Host, Signals, Telling], Wishes]


STOP_SECONDS = 5.0
"""How long it may take from a request to stop until it has stopped."""
_LEFT_FOR_ENDING_SECONDS = 1.0
_PORT_AGAIN_SECONDS = 30.0
_LOOK_AGAIN_SECONDS = 600.0
"""A net below what is told: whoever made a node may have been killed before he said so."""


def resident(
    controls: ServiceControls,
    is_node: Callable[[], bool],
    open_host: Callable[[], Host],
    open_log: Callable[[Host], Log],
    wishing: Wishing | None = None,
    metrics_port: int | None = None,
    means: Callable[[Host], Means] | None = None,
) -> int:
    """Runs as long as Windows lets it; its exit code. `wishing` makes what knows what a cluster wants of it.

    Works in this thread. What is asked for meanwhile is heard at once in the one that Windows asks in, and a
    step that takes too long is left to the journal. On a machine that is no node next to nothing is loaded:
    whoever makes it one tells this service so.
    """
    controls.running()  # before anything else is loaded
    while not is_node():
        if controls.next(_LOOK_AGAIN_SECONDS) in ENDING:
            controls.stopping(STOP_SECONDS)
            return 0
    from service.signals import Signals

    signals = Signals()
    hearing = _Hearing(controls, signals)
    controls.hand_on(hearing.hear)
    try:
        _keep(signals, open_host, open_log, wishing, metrics_port, means)
    except BaseException:  # noqa: BLE001 - a service that keeps nothing would look as if it did
        os._exit(1)  # Windows starts it again, by its recovery actions
    hearing.is_over()
    return 0


class _Hearing:
    """In the thread that Windows asks in."""

    def __init__(self, controls: ServiceControls, signals: Signals) -> None:
        self._controls = controls
        self._signals = signals
        self._limit: threading.Timer | None = None

    def hear(self, control: Control) -> None:
        from service.signals import Signal, Source

        if control not in ENDING:
            self._signals.put(Signal(Source.ASKED))
            return
        # A thread only now: while the service runs it would cost a megabyte.
        from threading import Timer

        self._controls.stopping(STOP_SECONDS)
        self._limit = Timer(STOP_SECONDS - _LEFT_FOR_ENDING_SECONDS, self._leave)
        self._limit.start()
        self._signals.end()

    def is_over(self) -> None:
        """The service ends by itself."""
        if self._limit is not None:
            self._limit.cancel()
            self._limit.join()

    def _leave(self) -> None:
        """In the middle of a step that takes too long."""
        self._controls.stopped(0)
        os._exit(0)


def _keep(
    signals: Signals,
    open_host: Callable[[], Host],
    open_log: Callable[[Host], Log],
    wishing: Wishing | None,
    metrics_port: int | None,
    means: Callable[[Host], Means] | None,
) -> None:
    import sys

    # OpenSSL would take 5 MB, for hashes that Python has of its own, too.
    sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]

    from agent.private_keys import sweep
    from agent.release import RELEASE
    from service.keeping import Keeping
    from service.telling import Telling
    from service.watching import Watches

    host = open_host()
    sweep(host)
    telling = Telling(host, open_log(host))
    wishes = wishing(host, signals, telling) if wishing else None
    if metrics_port is not None:
        _answer_on(metrics_port, host, signals, telling, wishes)
    mending = _mending(host, signals, means) if means else None
    Keeping(host, signals, telling, RELEASE, Watches(host, signals), wishes, mending).run()


def _mending(host: Host, signals: Signals, means: Callable[[Host], Means]) -> Callable[[], Mending]:
    def make() -> Mending:
        """Most machines never need it: TLS would take more than all the rest."""
        from service.mending import Mending

        return Mending(host, signals, means(host))

    return make


def _answer_on(port: int, host: Host, signals: Signals, telling: Telling, wishes: Wishes | None) -> None:
    """Nothing of it is loaded where nobody asks."""
    from service import metrics, scraping
    from service.metrics_port import METRICS_PORT
    from service.telling import Event

    found = metrics.Metrics(host, telling, wishes)

    def told() -> scraping.Answer:
        return scraping.Answer(200, metrics.text(found.all()), metrics.CONTENT_TYPE)

    def tell(fault: OSError) -> None:
        text = f"who asks for metrics at port {port} has no answer for a while: {fault.strerror or fault}"
        telling.tell_once((METRICS_PORT, "answers"), Event.TROUBLE, text)

    def is_had() -> bool:
        answers = {"/metrics": told, "/healthz": lambda: scraping.health(signals)}
        try:
            scraping.Scraping(port, answers, tell)
        except OSError as fault:
            text = (
                f"no metrics yet: port {port} of {scraping.ADDRESS} cannot be had ({fault.strerror});"
                f" free it, or give another by: {host.called} daemon install {METRICS_PORT} N"
            )
            telling.tell_once(METRICS_PORT, Event.TROUBLE, text)
            return False
        if telling.is_over(METRICS_PORT):
            telling.note(f"metrics can be asked for at port {port} now")
        return True

    if not is_had():
        from threading import Thread

        Thread(target=_repeat, args=(is_had,), daemon=True).start()


def _repeat(is_done: Callable[[], bool]) -> None:
    """Whoever has the port may give it up; nobody tells when."""
    import time

    while not is_done():
        time.sleep(_PORT_AGAIN_SECONDS)


def operated(kubeconfig: PureWindowsPath, namespace: str, bundle: PureWindowsPath | None = None) -> Wishing:
    """As OpenShift's operator wants it, by its ConfigMaps in that namespace, and a file of certificates."""

    def wishing(host: Host, signals: Signals, telling: Telling) -> Wishes:
        from agent.release import RELEASE
        from service.operated import Operated, OperatorCluster
        from service.reporting import Marks

        cluster = OperatorCluster(host, kubeconfig, namespace, signals)
        return Operated(host, cluster, Marks(cluster), telling, RELEASE, bundle)

    return wishing


def following(followed: Followed, means: Callable[[Host], Means] | None = None) -> Wishing:
    """Whoever follows nothing has none of this loaded: TLS alone takes more than all the rest."""

    def wishing(host: Host, signals: Signals, telling: Telling) -> Wishes:
        from agent.release import RELEASE
        from service.adopting import Adopting
        from service.cluster import Cluster
        from service.contents import Contents
        from service.reporting import Reports

        cluster = Cluster(host, followed, signals)
        found = means(host) if means else None
        contents = Contents(host, signals, found)
        reports = Reports(cluster, host.clock)

        def succeed() -> Succeeding:
            from service import succession
            from service.succeeding import Succeeding

            own = Contents(host, signals, found, succession.fetched(host))
            return Succeeding(host, own, telling)

        return Adopting(host, followed, cluster, contents, reports, telling, RELEASE, succeed)

    return wishing
