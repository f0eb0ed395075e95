"""Sessions whose connections stay open, for the next request that may go over them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.fetch.session import Session
from agent.secret_fields import registers_secrets

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from agent.fetch.address import Address
    from agent.fetch.connection import Server


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
        self._sessions: dict[Way, Session] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def session(self, way: Way, server: Server) -> Session:
        """Return the session of this way; `server` is for a new one."""
        with self._lock:
            if way not in self._sessions:
                self._sessions[way] = Session(server, keeps_open=True)
            return self._sessions[way]

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()
