"""Services seen by the sandbox's bell and by the end of their processes."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Self

from agent.host import winerror
from agent.host.errors import NotFound
from agent.host.port import Clock, ServiceEvent, ServiceState, ServiceStatus, Watch
from agent.host.sandbox.places import name_key
from agent.host.sandbox.service_document import ServiceDocument, existing
from agent.host.sandbox.service_records import status_of
from agent.host.sandbox.state import Document


class WatchedService:
    """A ServiceView (agent.host.waiting)."""

    def __init__(self, document: ServiceDocument, name: str) -> None:
        self._document = document
        self._name = name
        self._seen: ServiceStatus | None = None
        self._bell = document.bell()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bell.close()

    def status(self) -> ServiceStatus:
        record = self._document.read().get(name_key(self._name))
        if record is not None:
            self._seen = status_of(record)
        elif self._seen is not None:
            # On Windows a deleted service lives as long as somebody has it open; it goes when it has stopped.
            self._seen = replace(self._seen, state=ServiceState.STOPPED, pid=None)
        else:
            raise NotFound("wait for", f"service {self._name}", winerror.ERROR_SERVICE_DOES_NOT_EXIST)
        return self._seen

    def ended(self, pid: int) -> int | None:
        return self._document.exit_code(pid)

    def wait(self, seconds: float) -> None:
        self._document.wait(self._bell, [self._name], seconds)


class ServiceWatch(Watch[ServiceEvent]):
    """One thread at a time waits; any may close it."""

    def __init__(self, document: ServiceDocument, names: Iterable[str], clock: Clock) -> None:
        self._document = document
        self._clock = clock
        self._names = list(names)
        self._closed = False
        self._waiting = threading.Lock()
        self._bell = document.bell()
        try:
            seen = document.read()
            self._seen = {name: _look(existing(seen, "watch", name)) for name in self._names}
        except BaseException:
            self._bell.close()
            raise

    def wait(self, seconds: float) -> Sequence[ServiceEvent]:
        deadline = self._clock.monotonic() + seconds
        with self._waiting:
            while not self._closed:
                events = self._news()
                left = deadline - self._clock.monotonic()
                if events or left <= 0:
                    return events
                self._document.wait(self._bell, self._names, left)
        return []

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._bell.ring()
        with self._waiting:
            self._bell.close()

    def _news(self) -> list[ServiceEvent]:
        document = self._document.read()
        events = []
        for name in [*self._names]:
            record = document.get(name_key(name))
            if record is None:
                self._names.remove(name)
                events.append(ServiceEvent(name, None))
            elif (look := _look(record)) != self._seen[name]:
                self._seen[name] = look
                events.append(ServiceEvent(name, look[0]))
        return events


def _look(record: Document) -> tuple[ServiceState, int | None]:
    """Equal as long as the service has neither changed its state nor been started anew."""
    status = status_of(record)
    return status.state, status.pid
