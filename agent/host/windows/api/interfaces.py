"""What an interface does with IPv4 packets (iphlpapi)."""

import ctypes
from ctypes import wintypes

from agent.host.windows.api.binding import coded, dll

_IPV4 = 2
_SCOPE_LEVELS = 16

_DWORD = wintypes.DWORD
_BYTE = ctypes.c_ubyte


class _Row(ctypes.Structure):
    """MIB_IPINTERFACE_ROW"""

    # fmt: off
    _fields_ = (
        ("family", wintypes.USHORT), ("interface_luid", ctypes.c_uint64), ("interface_index", _DWORD),
        ("max_reassembly_size", _DWORD), ("interface_identifier", ctypes.c_uint64),
        ("min_router_advertisement_interval", _DWORD), ("max_router_advertisement_interval", _DWORD),
        ("advertising", _BYTE), ("forwarding", _BYTE), ("flags", _BYTE * 7),
        ("router_discovery_behavior", ctypes.c_int), ("dad_transmits", _DWORD),
        ("base_reachable_time", _DWORD), ("retransmit_time", _DWORD), ("path_mtu_discovery_timeout", _DWORD),
        ("link_local_address_behavior", ctypes.c_int), ("link_local_address_timeout", _DWORD),
        ("zone_indices", _DWORD * _SCOPE_LEVELS), ("site_prefix_length", _DWORD), ("metric", _DWORD),
        ("mtu", _DWORD), ("states", _BYTE * 4), ("reachable_time", _DWORD), ("offload", _BYTE * 2),
        ("disable_default_routes", _BYTE),
    )
    # fmt: on


_iphlpapi = dll("iphlpapi")


def forwards(index: int) -> bool:
    return bool(_row(index).forwarding)


def set_forwarding(index: int, *, forwards: bool) -> None:
    row = _row(index)
    row.forwarding = forwards
    row.site_prefix_length = 0  # it is told as one of IPv6, and then not taken back for IPv4
    _ask("SetIpInterfaceEntry", row)


def _row(index: int) -> _Row:
    row = _Row(family=_IPV4, interface_index=index)
    _ask("GetIpInterfaceEntry", row)
    return row


def _ask(name: str, row: _Row) -> None:
    coded(_iphlpapi, name, ctypes.POINTER(_Row))(ctypes.byref(row))
