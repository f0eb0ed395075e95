"""Threads that wait, each for one service or one folder, and say so when something has happened.

One each, since Windows waits for few things at once and a thread that only waits costs next to nothing.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agent.host.errors import HostError
from service.signals import Signal, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import PureWindowsPath

    from agent.host.port import FileChange, Host, ServiceEvent, Watch
    from service.signals import Signals

_LONG_SECONDS = 86_400.0
_STACK_BYTES = 256 << 10


class Watches:
    """Services and folders that are followed until they are let go.

    Whoever follows a folder hinders others in renaming what it is in, and whoever follows a service in making
    another of its name: while somebody else is at work nothing may be followed.
    """

    def __init__(self, host: Host, signals: Signals) -> None:
        self._host = host
        self._signals = signals
        self._followers: dict[Signal, _Follower] = {}

    def follow(self, services: Iterable[str], folders: Iterable[PureWindowsPath]) -> None:
        """These from now on, and no others. What is not there is passed over until the next call."""
        wanted = {
            **{Signal(Source.SERVICE, name): self._service(name) for name in services},
            **{Signal(Source.FILE, str(folder)): self._folder(folder) for folder in folders},
        }
        for gone in self._followers.keys() - wanted.keys():
            self._followers.pop(gone).close()
        for signal, follower in wanted.items():
            known = self._followers.get(signal)
            if known is not None and known.is_alive():
                continue
            if known is not None:
                known.close()
                del self._followers[signal]
            if follower.begin():
                self._followers[signal] = follower

    def forget(self, service: str) -> None:
        """One that was made anew since: a watch stays with the one that is gone."""
        if (follower := self._followers.pop(Signal(Source.SERVICE, service), None)) is not None:
            follower.close()

    def let_go(self) -> None:
        self.follow((), ())

    def _service(self, name: str) -> _Follower:
        def tell(_: ServiceEvent) -> None:
            self._signals.put(Signal(Source.SERVICE, name))

        return _Follower(lambda: self._host.services.watch([name]), tell)

    def _folder(self, folder: PureWindowsPath) -> _Follower:
        def tell(change: FileChange) -> None:
            self._signals.put(Signal(Source.FILE, str(change.path or folder)))

        return _Follower(lambda: self._host.files.watch(folder, recursive=False), tell)


class _Follower:
    """One watch, and the thread that waits at it."""

    def __init__(self, watch: Callable[[], Watch[Any]], tell: Callable[[Any], None]) -> None:
        self._open = watch
        self._tell = tell
        self._closed = False
        self._watch: Watch[Any] | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> bool:
        """False for what cannot be watched: it is not there. What happens from now on is told."""
        try:
            self._watch = self._open()
        except HostError:
            return False
        former = threading.stack_size(_STACK_BYTES)
        try:
            self._thread = threading.Thread(target=self._run, args=(self._watch,), daemon=True)
            self._thread.start()
        finally:
            threading.stack_size(former)
        return True

    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def close(self) -> None:
        """Nothing is held open when this returns."""
        self._closed = True
        if self._watch is not None:
            self._watch.close()

    def _run(self, watch: Watch[Any]) -> None:
        with watch:
            try:
                while not self._closed:
                    for each in watch.wait(_LONG_SECONDS):
                        self._tell(each)
            except HostError:
                return  # a folder that is gone is told as a change in the folder above
