"""What WinHTTP goes by."""

from agent.host.port import DefaultProxy
from agent.host.windows.api.winhttp import default_proxy, set_default_proxy
from agent.host.windows.failure import telling


class WindowsProxies:
    def default(self) -> DefaultProxy | None:
        with telling("ask for", "WinHTTP's default proxy"):
            found = default_proxy()
        return None if found is None else DefaultProxy(*found)

    def set_default(self, proxy: DefaultProxy | None) -> None:
        with telling("set", "WinHTTP's default proxy"):
            if proxy is None:
                set_default_proxy("", "")
            else:
                set_default_proxy(proxy.server, proxy.bypass)
