"""The machine's proxy, as WinHTTP has it."""

from __future__ import annotations

from agent.host.port import DefaultProxy, Host
from agent.resources.kind import Kept, Kind, State
from agent.spec.proxy import Proxy

_KEY = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Internet Settings\Connections"
"""In which WinHTTP keeps it."""


class ProxyResource(Kind[Proxy]):
    firm = frozenset({"server", "bypass"})

    def wanted(self, want: Proxy) -> State:
        return {"server": want.server, "bypass": want.bypass}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is one
        found = host.proxies.default()
        return None if found is None else {"server": found.server, "bypass": found.bypass}

    def registry_keys(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - there is one
        return (_KEY,)

    def apply(self, host: Host, want: Proxy, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - set whatever it was
        host.proxies.set_default(DefaultProxy(want.server, want.bypass))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        former = None if before is None else DefaultProxy(str(before["server"]), str(before["bypass"]))
        host.proxies.set_default(former)
        return None


KIND = ProxyResource()
