"""The default proxy of WinHTTP (winhttp)."""

import ctypes
from ctypes import wintypes

from agent.host.windows.api.binding import dll, judged, succeeding

_NO_PROXY = 1
_NAMED_PROXY = 3


class _ProxyInfo(ctypes.Structure):
    """WINHTTP_PROXY_INFO. The texts that Windows gives are ours to free, hence no LPWSTR."""

    _fields_ = (("access", wintypes.DWORD), ("proxy", ctypes.c_void_p), ("bypass", ctypes.c_void_p))


_winhttp = dll("winhttp")
# fmt: off
_get = succeeding(
    _winhttp, "WinHttpGetDefaultProxyConfiguration", wintypes.BOOL, ctypes.POINTER(_ProxyInfo)
)
_set = succeeding(
    _winhttp, "WinHttpSetDefaultProxyConfiguration", wintypes.BOOL, ctypes.POINTER(_ProxyInfo)
)
# fmt: on
_free = judged(dll("kernel32"), "GlobalFree", wintypes.HANDLE, ctypes.c_void_p)


def default_proxy() -> tuple[str, str] | None:
    """Which proxy, and what is reached without it."""
    found = _ProxyInfo()
    _get(found)
    try:
        if found.access != _NAMED_PROXY:
            return None
        return _text(found.proxy), _text(found.bypass)
    finally:
        for text in (found.proxy, found.bypass):
            if text:
                _free(text)


def set_default_proxy(proxy: str, bypass: str) -> None:
    """None at all where `proxy` is empty."""
    texts = [ctypes.create_unicode_buffer(text) if proxy and text else None for text in (proxy, bypass)]
    addresses = [None if text is None else ctypes.addressof(text) for text in texts]
    _set(_ProxyInfo(_NAMED_PROXY if proxy else _NO_PROXY, *addresses))


def _text(address: int | None) -> str:
    return ctypes.wstring_at(address) if address else ""
