"""What WinHTTP would go by."""

from __future__ import annotations

from agent.host.port import DefaultProxy
from agent.host.sandbox.state import State

_DOCUMENT = "proxy.json"


class SandboxProxies:
    def __init__(self, state: State) -> None:
        self._state = state

    def default(self) -> DefaultProxy | None:
        found = self._state.read(_DOCUMENT)
        return DefaultProxy(found["server"], found["bypass"]) if found else None

    def set_default(self, proxy: DefaultProxy | None) -> None:
        with self._state.changing(_DOCUMENT) as document:
            document.clear()
            if proxy is not None:
                document.update(server=proxy.server, bypass=proxy.bypass)
