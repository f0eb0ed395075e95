"""Adapters and their addresses (iphlpapi).

psutil tells neither an adapter's number, by which routes know it, nor the prefix of an IPv6 address.
"""

import ctypes
import ipaddress
import struct
from collections.abc import Iterator
from ctypes import wintypes
from typing import Any

from agent.host import winerror
from agent.host.port import NetworkAddress
from agent.host.windows.api.binding import coded, dll
from agent.host.windows.failure import Win32Error

_ANY_FAMILY = 0
_IPV4 = 2
_IPV6 = 23
_SKIP_ANYCAST_MULTICAST_DNS = 0x2 | 0x4 | 0x8
_LOOPBACK = 24
_UP = 1

_DWORD = wintypes.DWORD
_POINTER = ctypes.c_void_p


class _SocketAddress(ctypes.Structure):
    """SOCKET_ADDRESS"""

    _fields_ = (("address", _POINTER), ("size", ctypes.c_int))


class _Unicast(ctypes.Structure):
    """IP_ADAPTER_UNICAST_ADDRESS, to its last field of interest"""


# fmt: off
_Unicast._fields_ = (
    ("size", wintypes.ULONG), ("flags", _DWORD), ("next", ctypes.POINTER(_Unicast)),
    ("address", _SocketAddress), ("prefix_origin", ctypes.c_int), ("suffix_origin", ctypes.c_int),
    ("dad_state", ctypes.c_int), ("valid_lifetime", wintypes.ULONG), ("preferred_lifetime", wintypes.ULONG),
    ("lease_lifetime", wintypes.ULONG), ("prefix_length", ctypes.c_ubyte),
)
# fmt: on


class _Adapter(ctypes.Structure):
    """IP_ADAPTER_ADDRESSES, to its last field of interest"""


# fmt: off
_Adapter._fields_ = (
    ("size", wintypes.ULONG), ("index", _DWORD), ("next", ctypes.POINTER(_Adapter)),
    ("name", ctypes.c_char_p), ("unicast", ctypes.POINTER(_Unicast)), ("anycast", _POINTER),
    ("multicast", _POINTER), ("dns_servers", _POINTER), ("dns_suffix", wintypes.LPWSTR),
    ("description", wintypes.LPWSTR), ("friendly_name", wintypes.LPWSTR), ("mac", ctypes.c_ubyte * 8),
    ("mac_length", wintypes.ULONG), ("flags", wintypes.ULONG), ("mtu", wintypes.ULONG), ("type", _DWORD),
    ("status", ctypes.c_int),
)
# fmt: on


_iphlpapi = dll("iphlpapi")
# fmt: off
_adapters_addresses = coded(
    _iphlpapi, "GetAdaptersAddresses",
    wintypes.ULONG, wintypes.ULONG, _POINTER, _POINTER, ctypes.POINTER(wintypes.ULONG),
)
# fmt: on


def addresses() -> Iterator[tuple[int, NetworkAddress]]:
    """Of adapters that are up, loopback left out; each with the number that routes know its adapter by."""
    buffer = _adapters()
    adapter = ctypes.cast(buffer, ctypes.POINTER(_Adapter)) if buffer else None
    while adapter:
        found = adapter.contents
        if found.status == _UP and found.type != _LOOPBACK:
            for each in _addresses_of(found):
                yield found.index, each
        adapter = found.next


def addresses_by_index() -> dict[int, str]:
    """Of adapters that are up their first IPv4 address."""
    found: dict[int, str] = {}
    for index, each in addresses():
        if ":" not in each.address:
            found.setdefault(index, each.address)
    return found


def index_of(address: str) -> int | None:
    """The number of the adapter that has this address, and is up."""
    return next((index for index, each in addresses() if each.address == address), None)


def _addresses_of(adapter: Any) -> Iterator[NetworkAddress]:
    mac = ":".join(f"{byte:02x}" for byte in adapter.mac[: adapter.mac_length])
    unicast = adapter.unicast
    while unicast:
        found = unicast.contents
        address = _address(ctypes.string_at(found.address.address, found.address.size))
        if address is not None:
            yield NetworkAddress(adapter.friendly_name or "", address, found.prefix_length, mac)
        unicast = found.next


def _address(sockaddr: bytes) -> str | None:
    (family,) = struct.unpack_from("<H", sockaddr)
    place, size = {_IPV4: (4, 4), _IPV6: (8, 16)}.get(family, (0, 0))
    return str(ipaddress.ip_address(sockaddr[place : place + size])) if size else None


def _adapters() -> ctypes.Array[ctypes.c_char] | None:
    """What GetAdaptersAddresses gives, which says how large a buffer it needs; None when there is none."""
    size = wintypes.ULONG(0x4000)
    while True:
        buffer = ctypes.create_string_buffer(size.value)
        try:
            _adapters_addresses(_ANY_FAMILY, _SKIP_ANYCAST_MULTICAST_DNS, None, buffer, size)
        except Win32Error as failure:
            if failure.winerror == winerror.ERROR_NO_DATA:
                return None
            if failure.winerror not in (winerror.ERROR_BUFFER_OVERFLOW, winerror.ERROR_INSUFFICIENT_BUFFER):
                raise
        else:
            return buffer
