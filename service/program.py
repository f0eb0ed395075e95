"""The resident service between start and stop."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.host.port import Host
from agent.host.services import ENDING, Control, ServiceControls
from service.work_queue import Signal, Signals, Source

if TYPE_CHECKING:
    from agent.artifacts.means import Means
    from service.keeping import Wishes
    from service.telling import Telling

    Log = Callable[[str], None]
    Wishing = Callable[[Host, Signals, Telling], Wishes]


SERVICE = "wmcb"
RESUME_SERVICE = "wmcb-continue"
"""The one-time service that goes on with a command after a restart (service.continuing)."""
STOP_SECONDS = 5.0
"""How long it may take from a request to stop until it has stopped."""
_LEFT_FOR_ENDING_SECONDS = 1.0
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
    signals = Signals()
    hearing = _Hearing(controls, signals)
    controls.hand_on(hearing.hear)
    try:
        # OpenSSL would take 5 MB, for hashes that Python has of its own, too.
        sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]
        from service.keeping import keep  # noqa: PLC0415 - 3.3 MB of a service without a node

        keep(signals, open_host, open_log, wishing, metrics_port, means)
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
        if control not in ENDING:
            self._signals.put(Signal(Source.ASKED))
            return
        self._controls.stopping(STOP_SECONDS)
        # A thread only now: while the service runs it would cost a megabyte.
        self._limit = threading.Timer(STOP_SECONDS - _LEFT_FOR_ENDING_SECONDS, self._leave)
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
