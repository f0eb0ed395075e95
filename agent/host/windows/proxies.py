"""WinHTTP's default proxy (winhttp.dll)."""

import ctypes
from ctypes import wintypes

from agent.host.port import DefaultProxy
from agent.host.windows.api.binding import dll, judged, succeeding
from agent.host.windows.failure import telling

_NO_PROXY = 1
_NAMED_PROXY = 3


class _ProxyInfo(ctypes.Structure):
    """WINHTTP_PROXY_INFO. The texts that Windows gives are ours to free, hence no LPWSTR."""

    _fields_ = (("access", wintypes.DWORD), ("proxy", ctypes.c_void_p), ("bypass", ctypes.c_void_p))


_winhttp = dll("winhttp")
_INFO = ctypes.POINTER(_ProxyInfo)
_get = succeeding(_winhttp, "WinHttpGetDefaultProxyConfiguration", wintypes.BOOL, _INFO)
_set = succeeding(_winhttp, "WinHttpSetDefaultProxyConfiguration", wintypes.BOOL, _INFO)
_free = judged(dll("kernel32"), "GlobalFree", wintypes.HANDLE, ctypes.c_void_p)


class WindowsProxies:
    def default(self) -> DefaultProxy | None:
        found = _ProxyInfo()
        with telling("ask for", "WinHTTP's default proxy"):
            _get(found)
        try:
            if found.access != _NAMED_PROXY:
                return None
            return DefaultProxy(_text(found.proxy), _text(found.bypass))
        finally:
            for text in (found.proxy, found.bypass):
                if text:
                    _free(text)

    def set_default(self, proxy: DefaultProxy | None) -> None:
        given = (proxy.server, proxy.bypass) if proxy else ("", "")
        texts = [ctypes.create_unicode_buffer(text) if given[0] and text else None for text in given]
        addresses = [None if text is None else ctypes.addressof(text) for text in texts]
        with telling("set", "WinHTTP's default proxy"):
            _set(_ProxyInfo(_NAMED_PROXY if given[0] else _NO_PROXY, *addresses))


def _text(address: int | None) -> str:
    return ctypes.wstring_at(address) if address else ""
