"""Contents that are elsewhere, fetched before a run begins: while one lasts, services may stand still."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.artifacts.means import Means
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError
from agent.host.port import Host
from agent.sources.node_configuration.model import Unobtainable
from agent.spec import Artifact, Lying
from service.work_queue import Signal, Signals, Source

if TYPE_CHECKING:
    from agent.artifacts.stock import Stock


class _NotWanted(Exception):
    """Another document does without."""


class _Fetch:
    """What is fetched at a time. Where it is not wanted any more it ends with what comes next."""

    def __init__(self, artifacts: Sequence[Artifact]) -> None:
        self._asked = _as_asked(artifacts)
        self.is_wanted = True
        self.has_ended = not artifacts
        self.failures: Mapping[str, str] = {}

    def is_for(self, artifacts: Sequence[Artifact]) -> bool:
        """Whether all of it is still asked for."""
        asked = _as_asked(artifacts)
        return all(each in asked for each in self._asked)

    def came(self, name: str, received: int, size: int | None, /) -> None:  # noqa: ARG002
        self._go_on()

    def tried_again(self, name: str, why: str, /) -> None:  # noqa: ARG002
        self._go_on()

    def _go_on(self) -> None:
        if not self.is_wanted:
            raise _NotWanted


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
        self._begun = _Fetch(())
        """The last one."""
        self._is_needed = True
        self._ending = threading.Lock()
        """Whoever comes last removes what is not needed: the fetch that ends, or who needs it no more."""

    @cached_property
    def _stock(self) -> Stock:
        """Loaded for a document that has artifacts, and not for the others."""
        from agent.artifacts.stock import Stock  # noqa: PLC0415 - 0.4 MB, for artifacts

        return Stock(self._host, self._folder, self._means)

    @property
    def has_failed(self) -> bool:
        return bool(self._failed)

    @property
    def _failed(self) -> Mapping[str, str]:
        return self._begun.failures if self._begun.is_wanted else {}

    @property
    def hindrance(self) -> str:
        """Why what is asked for is not being fetched yet; empty where it is."""
        if self._begun.is_wanted or self._begun.has_ended:
            return ""
        return "what was to be fetched before is not wanted any more, and that has not ended yet"

    def resolved(self, artifact: Artifact) -> Artifact | None:
        """Raises Unobtainable for what could not be fetched."""
        if artifact.name in self._failed:
            raise Unobtainable(self._failed[artifact.name])
        return self._stock.resolved(artifact)

    def content(self, sha256: str) -> Lying:
        return self._stock.content(sha256)

    def at_hand(self, artifacts: Sequence[Artifact], needed: Collection[str]) -> bool:
        """Whether nothing of these lacks a content that is needed; else they are fetched."""
        self._is_needed = True
        is_lacking = any(self._stock.lacks(artifact, needed) for artifact in artifacts)
        if not self._begun.has_ended:
            if not self._begun.is_for(artifacts):
                self._begun.is_wanted = False
            return not is_lacking and not needed  # what lies there may be taken away meanwhile
        if not is_lacking:
            return True
        self._begun = _Fetch(artifacts)
        threading.Thread(target=self._fetch, args=(artifacts, needed), daemon=True).start()
        return False

    def try_again(self) -> None:
        """What has failed is obtainable, as far as anybody knows."""
        self._begun.failures = {}

    def clear(self) -> None:
        """Nothing of it is needed any more; what is being fetched goes when that has ended."""
        with self._ending:
            self._is_needed = self._begun.is_wanted = False
            if self._begun.has_ended:
                self._remove()

    def _remove(self) -> None:
        """What somebody else has open goes the next time."""
        with suppress(HostError):
            if self._host.files.observe(self._folder) is not None:
                self._stock.clear()

    def _fetch(self, artifacts: Sequence[Artifact], needed: Collection[str]) -> None:
        fetch = self._begun
        try:
            fetch.failures = self._stock.supply(artifacts, needed, fetch)
        except Exception as fault:  # noqa: BLE001 - else it would be begun again at once
            fetch.failures = dict.fromkeys([artifact.name for artifact in artifacts], _told(fault))
        finally:
            with self._ending:
                if not self._is_needed:
                    self._remove()
                fetch.has_ended = True
            self._signals.put(Signal(Source.CONTENTS))


def _as_asked(artifacts: Sequence[Artifact]) -> Sequence[Artifact]:
    """Without what is known only when it has come."""
    return [
        replace(artifact, files=None, digest="" if artifact.checksums else artifact.digest)
        for artifact in artifacts
    ]


def _told(fault: Exception) -> str:
    known = isinstance(fault, HostError)
    return str(fault) if known else f"unexpected {type(fault).__name__} (please report it)"
