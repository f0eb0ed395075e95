"""The machine's proxy, as WinHTTP has it."""

from agent.host.port import DefaultProxy, Host
from agent.resources.kind import Setting, State
from agent.spec.machine import Proxy

_KEY = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Internet Settings\Connections"
"""In which WinHTTP keeps it."""


class ProxyResource(Setting[Proxy]):
    firm = frozenset({"server", "bypass"})
    common_keys = (_KEY,)

    def wanted(self, want: Proxy) -> State:
        return {"server": want.server, "bypass": want.bypass}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is one
        found = host.proxies.default()
        return None if found is None else {"server": found.server, "bypass": found.bypass}

    def put(self, host: Host, name: str, state: State) -> None:  # noqa: ARG002 - there is one
        host.proxies.set_default(DefaultProxy(str(state["server"]), str(state["bypass"])))

    def remove(self, host: Host, name: str) -> None:  # noqa: ARG002 - there is one
        host.proxies.set_default(None)


KIND = ProxyResource()
