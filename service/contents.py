"""Contents that are elsewhere, fetched before a run begins: while one lasts, services may stand still."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING

from agent.engine.state_folder import StateFolder
from agent.sources.node_configuration import Unobtainable
from service.signals import Signal, Source

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import PureWindowsPath

    from agent.artifacts.means import Means
    from agent.artifacts.stock import Stock
    from agent.host.port import Host
    from agent.spec import Artifact, Lying
    from service.signals import Signals


class Contents:
    """Fetched by a thread that signals when it has come to its end; asked by the one that works."""

    def __init__(
        self, host: Host, signals: Signals, means: Means | None = None, folder: PureWindowsPath | None = None
    ) -> None:
        """Into wmcb's own folder, unless another is said."""
        self._host = host
        self._means = means
        self._folder = folder or StateFolder.of(host).fetched
        self._signals = signals
        self._thread: threading.Thread | None = None
        self._failed: Mapping[str, str] = {}

    @cached_property
    def _stock(self) -> Stock:
        """Loaded for a document that has artifacts, and not for the others."""
        from agent.artifacts.stock import Stock

        return Stock(self._host, self._folder, self._means)

    @property
    def has_failed(self) -> bool:
        return bool(self._failed)

    def resolved(self, artifact: Artifact) -> Artifact | None:
        """Raises Unobtainable for what could not be fetched."""
        if artifact.name in self._failed:
            raise Unobtainable(self._failed[artifact.name])
        return self._stock.resolved(artifact)

    def content(self, sha256: str) -> Lying:
        return self._stock.content(sha256)

    def at_hand(self, artifacts: Sequence[Artifact], needed: Collection[str]) -> bool:
        """Whether nothing of these lacks a content that is needed; else they are fetched."""
        if self._thread is not None and self._thread.is_alive():
            return False
        if not any(self._stock.lacks(artifact, needed) for artifact in artifacts):
            return True
        self._thread = threading.Thread(target=self._fetch, args=(artifacts, needed), daemon=True)
        self._thread.start()
        return False

    def try_again(self) -> None:
        """What has failed is obtainable, as far as anybody knows."""
        self._failed = {}

    def clear(self) -> None:
        """Nothing of it is needed any more."""
        self._failed = {}
        if self._host.files.observe(self._folder) is not None:
            self._stock.clear()

    def _fetch(self, artifacts: Sequence[Artifact], needed: Collection[str]) -> None:
        try:
            self._failed = self._stock.supply(artifacts, needed)
        except Exception as fault:  # noqa: BLE001 - else it would be begun again at once
            self._failed = dict.fromkeys([artifact.name for artifact in artifacts], _told(fault))
        finally:
            self._signals.put(Signal(Source.CONTENTS))


def _told(fault: Exception) -> str:
    from agent.host.errors import HostError

    known = isinstance(fault, HostError)
    return str(fault) if known else f"unexpected {type(fault).__name__} (please report it)"
