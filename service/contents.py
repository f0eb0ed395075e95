"""Contents that are elsewhere, fetched before a run begins: while one lasts, services may stand still."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.engine.state_folder import StateFolder
from agent.fetch.failure import Failed
from agent.fetch.fetching import Fetcher, Limits, Request
from agent.hashing import new_sha256
from agent.host.errors import AlreadyExists, HostError, NotFound
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.records import frozen
from agent.resources.trees import remove_tree
from agent.sources.node_configuration import Source, Unobtainable
from service.cluster import proxies_of
from service.signals import Signal
from service.signals import Source as Reason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import PureWindowsPath

    from agent.fetch.proxies import Proxies
    from agent.host.port import Host
    from service.signals import Signals


class Contents:
    """Fetched by a thread that signals when it has come to its end; asked by the one that works."""

    def __init__(self, host: Host, signals: Signals) -> None:
        self._host = host
        self._signals = signals
        self._folder = StateFolder.of(host).fetched
        self._thread: threading.Thread | None = None
        self._failed: dict[str, str] = {}

    @property
    def has_failed(self) -> bool:
        return bool(self._failed)

    def obtain(self, source: Source) -> Fetched:
        """What will be there when it is needed. Raises Unobtainable for what could not be fetched."""
        if source.sha256 in self._failed:
            raise Unobtainable(self._failed[source.sha256])
        return Fetched(self._host, self._folder / source.sha256, source)

    def at_hand(self, needed: Collection[Fetched]) -> bool:
        """Whether all of these are; else they are fetched. What else there is goes. Raises HostError."""
        if self._thread is not None and self._thread.is_alive():
            return False
        if not needed:
            return True
        with suppress(AlreadyExists):
            self._host.files.make_directory(self._folder, PRIVATE_DIRECTORY)
        there = set(self._host.files.list(self._folder))
        wanted = {each.sha256: each.source for each in needed}
        for name in there - set(wanted):
            self._host.files.remove(self._folder / name)
        missing = [source for sha256, source in wanted.items() if sha256 not in there]
        if not missing:
            return True
        self._thread = threading.Thread(target=self._fetch, args=(missing,), daemon=True)
        self._thread.start()
        return False

    def try_again(self) -> None:
        """What has failed is obtainable, as far as anybody knows."""
        self._failed = {}

    def clear(self) -> None:
        """Nothing of it is needed any more."""
        self._failed = {}
        with suppress(NotFound):
            remove_tree(self._host.files, self._folder)

    def _fetch(self, sources: Collection[Source]) -> None:
        try:
            for source in sources:
                try:
                    blocks = checked_blocks(source, proxies_of(self._host))
                    self._host.files.write(self._folder / source.sha256, blocks, PRIVATE_FILE)
                except Exception as fault:  # noqa: BLE001 - else it would be begun again at once
                    self._failed = {**self._failed, source.sha256: _told(fault)}
        finally:
            self._signals.put(Signal(Reason.CONTENTS))


def checked_blocks(source: Source, proxies: Proxies) -> Iterator[bytes]:
    """Raises Failed, in the end also for a content that is another."""
    digest = new_sha256()
    for block in Fetcher().blocks(Request(source.url, proxies=proxies), Limits()):
        digest.update(block)
        yield block
    if digest.hexdigest() != source.sha256:
        raise Failed(f"its sha256 is {digest.hexdigest()}, not the wanted {source.sha256}")


def _told(fault: Exception) -> str:
    known = isinstance(fault, Failed | HostError)
    return str(fault) if known else f"unexpected {type(fault).__name__} (please report it)"


@frozen
class Fetched:
    """A `Content`, whether it is there by now or not."""

    host: Host
    path: PureWindowsPath
    source: Source

    @property
    def sha256(self) -> str:
        return self.source.sha256

    @property
    def size(self) -> int:
        there = self.host.files.observe(self.path)
        return there.size if there else 0

    def blocks(self) -> Iterator[bytes]:
        """What lies in the folder was checked when it was put there, and nobody else may write to it."""
        return iter(self.host.files.blocks(self.path))
