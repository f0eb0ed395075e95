"""Sessions whose connections stay open, for the next request that may go over them."""

import threading

from agent.fetch.address import Address
from agent.fetch.connection import Server
from agent.fetch.session import Session
from agent.kube.access import Access

ConnectionKey = tuple[str, int, Address | None, Access]
"""What two requests that share a connection have in common: host, port, proxy, whom TLS trusts, who asks by
it. An IPv6 address's zone is part of the host: it names the network that it is in.
"""


class ConnectionPool:
    """Keeps a session with open connections for each key. Any thread may use it."""

    def __init__(self) -> None:
        self._sessions: dict[ConnectionKey, Session] = {}
        self._lock = threading.Lock()

    def session(self, key: ConnectionKey, server: Server) -> Session:
        """Return the session of this key; `server` is for a new one."""
        with self._lock:
            if key not in self._sessions:
                self._sessions[key] = Session(server, keeps_open=True)
            return self._sessions[key]

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()
