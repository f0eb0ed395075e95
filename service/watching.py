"""Threads that wait, one for all services, one for all else: they say what happens."""

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import PureWindowsPath
from typing import Any

from agent.engine.planning import Action, Change, Plan
from agent.engine.progress import Silent
from agent.host.errors import HostError
from agent.host.files import MOST_WATCHED, FileChange, FileKind, KeyChange, RoutingChange
from agent.host.port import Host, Watch
from agent.host.services import ServiceEvent
from agent.spec import Directory
from service.work_queue import Signal, Signals, Source

_LONG_SECONDS = 86_400.0
_ROUTING = RoutingChange()


class Watches:
    """Services, folders and keys of the registry that are followed until others are.

    Who follows a folder hinders others in renaming what it is in: while another program is at work nothing of
    a node may be followed.
    """

    def __init__(self, host: Host, signals: Signals) -> None:
        self._host = host
        self._signals = signals
        self._services = _Follower(host.services.watch, self._tell_of_service)
        self._places = _Follower(self._watch_places, self._tell_of_place)

    def follow(
        self,
        services: Iterable[str],
        folders: Iterable[PureWindowsPath],
        keys: Iterable[str] = (),
        *,
        routing: bool = False,
    ) -> bool:
        """These from now on, and no others. What is not there is passed over until the next call.

        Whether something was let go of for that: what it had not told yet is told no more.
        """
        is_lost = self._services.follow([name for name in services if self._is_service(name)])
        there = [path for path in folders if self._is_folder(path)]
        others = [*([_ROUTING] if routing else []), *there, *(key for key in keys if self._is_key(key))]
        return self._places.follow(others[:MOST_WATCHED]) or is_lost

    def renew(self) -> None:
        """At the next call: of what was made anew a watch would stay with what is gone."""
        self._services.is_stale = self._places.is_stale = True

    def _is_service(self, name: str) -> bool:
        try:
            return self._host.services.read(name) is not None
        except HostError:
            return False

    def _is_folder(self, path: PureWindowsPath) -> bool:
        try:
            there = self._host.files.observe(path)
        except HostError:
            return False
        return there is not None and there.kind is FileKind.DIRECTORY

    def _tell_of_service(self, event: ServiceEvent) -> None:
        self._signals.put(Signal(Source.SERVICE, event.name))

    def _is_key(self, key: str) -> bool:
        try:
            self._host.registry.keys(key)
        except HostError:
            return False
        return True

    def _watch_places(
        self, places: Sequence[PureWindowsPath | str | RoutingChange]
    ) -> Watch[FileChange | KeyChange | RoutingChange]:
        keys = [place for place in places if isinstance(place, str)]
        folders = [place for place in places if not isinstance(place, str | RoutingChange)]
        return self._host.files.watch_all(folders, keys, routing=_ROUTING in places)

    def _tell_of_place(self, change: FileChange | KeyChange | RoutingChange) -> None:
        if isinstance(change, RoutingChange):
            self._signals.put(Signal(Source.ROUTING))
        elif isinstance(change, KeyChange):
            self._signals.put(Signal(Source.REGISTRY, change.key))
        else:
            self._signals.put(Signal(Source.FILE, str(change.path)))


class LettingGo(Silent):
    """Has all that is followed let go of before a run that this would hinder."""

    def __init__(self, let_go: Callable[[], None]) -> None:
        self._let_go = let_go

    def planned(self, plan: Plan) -> None:
        if any(map(_is_hindered, plan.changes)):
            self._let_go()


def _is_hindered(change: Change) -> bool:
    """What is held open goes only when it is closed, and until then there can be no other of its name. To
    close all of it and to open it again takes longer than most changes. No service
    is held open, but its key is.
    """
    key, goes = change.target.key, change.action in (Action.REMOVE, Action.GIVE_BACK)
    return goes and (key.kind == Directory.kind or bool(change.target.kind.registry_keys(key.name)))


class _Follower:
    """One watch, and the thread that waits at it."""

    def __init__(self, watch: Callable[[Sequence[Any]], Watch[Any]], tell: Callable[[Any], None]) -> None:
        self._open = watch
        self._tell = tell
        self._followed: Sequence[Any] = ()
        self._watch: Watch[Any] | None = None
        self._thread: threading.Thread | None = None
        self.is_stale = False

    def follow(self, subjects: Sequence[Any]) -> bool:
        """What happens from now on is told. Nothing of what was followed before is held open any more.

        Whether that was something.
        """
        lives = self._thread is not None and self._thread.is_alive()
        if subjects == self._followed and lives and not self.is_stale:
            return False
        former = self._watch
        self._followed, self._watch, self._thread, self.is_stale = (), None, None, False
        try:
            if subjects:
                self._begin(subjects)
        except HostError:
            pass  # one of them went away just now, which is told as a change in the folder above it
        finally:
            # Not before the new one is there: what happens in between would be lost.
            if former is not None:
                former.close()
        return former is not None

    def _begin(self, subjects: Sequence[Any]) -> None:
        self._watch = watch = self._open(subjects)
        self._thread = threading.Thread(target=self._run, args=(watch,), daemon=True)
        self._thread.start()
        self._followed = subjects

    def _run(self, watch: Watch[Any]) -> None:
        try:
            while news := watch.wait(_LONG_SECONDS):
                for each in news:
                    self._tell(each)
        except HostError:
            pass  # the next look begins to follow it anew
        finally:
            watch.close()
