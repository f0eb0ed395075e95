"""Connections that are open and idle, for the next request that may go over them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.secret_fields import registers_secrets

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from agent.fetch.address import Address
    from agent.kube.connection import Connection


@registers_secrets
@dataclass(frozen=True, slots=True)
class Way:
    """What two requests have to have in common. Who asks by a token is told in each request anew."""

    place: str
    proxy: Address | None
    authorities: bytes = field(repr=False)
    server_name: str
    insecure: bool
    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


class Kept:
    """Any thread may use it."""

    def __init__(self) -> None:
        self._idle: dict[Way, list[Connection]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def put(self, way: Way, connection: Connection) -> None:
        with self._lock:
            self._idle.setdefault(way, []).append(connection)

    def take(self, way: Way) -> Connection | None:
        with self._lock:
            idle = self._idle.get(way)
            return idle.pop() if idle else None

    def close(self) -> None:
        """Ends those that nobody is using."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()
