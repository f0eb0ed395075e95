"""The machine's IPv4 routes (iphlpapi)."""

import ctypes
import ipaddress
from collections.abc import Iterator
from ctypes import wintypes
from typing import NamedTuple

from agent.host.windows.api.binding import coded, dll, judged

_IPV4 = 2
_MANAGED = 3
"""MIB_IPPROTO_NETMGMT: somebody made it, and no routing protocol."""
_FOR_EVER = 0xFFFF_FFFF

_DWORD = wintypes.DWORD
_BYTE = ctypes.c_ubyte


class _SocketAddress(ctypes.Structure):
    """SOCKADDR_INET, of which IPv4 uses the beginning."""

    # fmt: off
    _fields_ = (
        ("family", wintypes.USHORT), ("port", wintypes.USHORT), ("address", _BYTE * 4), ("ipv6", _BYTE * 20),
    )
    # fmt: on


class _Prefix(ctypes.Structure):
    """IP_ADDRESS_PREFIX"""

    _fields_ = (("address", _SocketAddress), ("length", _BYTE), ("padding", _BYTE * 3))


class _Row(ctypes.Structure):
    """MIB_IPFORWARD_ROW2"""

    # fmt: off
    _fields_ = (
        ("interface_luid", ctypes.c_uint64), ("interface_index", _DWORD), ("destination", _Prefix),
        ("next_hop", _SocketAddress), ("site_prefix_length", _BYTE), ("valid_lifetime", _DWORD),
        ("preferred_lifetime", _DWORD), ("metric", _DWORD), ("protocol", ctypes.c_int), ("loopback", _BYTE),
        ("autoconfigure_address", _BYTE), ("publish", _BYTE), ("immortal", _BYTE), ("age", _DWORD),
        ("origin", ctypes.c_int),
    )
    # fmt: on


class _Table(ctypes.Structure):
    """MIB_IPFORWARD_TABLE2, whose rows come after its count."""

    _fields_ = (("count", _DWORD), ("rows", _Row * 1))


class Row(NamedTuple):
    destination: str
    gateway: str
    metric: int
    interface: int
    """Its index."""


_iphlpapi = dll("iphlpapi")
_POINTER_TO_ROW = ctypes.POINTER(_Row)
_TABLE = ctypes.POINTER(ctypes.POINTER(_Table))
_get_table = coded(_iphlpapi, "GetIpForwardTable2", wintypes.USHORT, _TABLE)
_free_table = judged(_iphlpapi, "FreeMibTable", None, ctypes.c_void_p)
_best_interface = coded(_iphlpapi, "GetBestInterface", _DWORD, ctypes.POINTER(_DWORD))


def rows() -> Iterator[Row]:
    table = _table()
    for at in range(0, len(table), ctypes.sizeof(_Row)):
        yield _read(_Row.from_buffer_copy(table, at))


def rows_of(destination: str, gateway: str) -> Iterator[Row]:
    return map(_read, _rows_of(destination, gateway))


def _read(row: _Row) -> Row:
    return Row(_destination(row), _text(row.next_hop), int(row.metric), int(row.interface_index))


def add(route: Row) -> None:
    row = _Row(valid_lifetime=_FOR_EVER, preferred_lifetime=_FOR_EVER, protocol=_MANAGED)
    prefix = ipaddress.IPv4Network(route.destination)
    row.interface_index, row.metric = route.interface, route.metric
    row.destination = _Prefix(_address(str(prefix.network_address)), prefix.prefixlen)
    row.site_prefix_length = prefix.prefixlen
    row.next_hop = _address(route.gateway)
    _change("CreateIpForwardEntry2", row)


def remove(destination: str, gateway: str) -> bool:
    """Whether there was one."""
    there = list(_rows_of(destination, gateway))
    for row in there:
        _change("DeleteIpForwardEntry2", row)
    return bool(there)


def best_interface(gateway: str) -> int:
    """The index of the one that leads there."""
    index = _DWORD()
    _best_interface(int.from_bytes(ipaddress.IPv4Address(gateway).packed, "little"), ctypes.byref(index))
    return index.value


def _change(name: str, row: _Row) -> None:
    coded(_iphlpapi, name, _POINTER_TO_ROW)(row)


def _rows_of(destination: str, gateway: str) -> Iterator[_Row]:
    """Bytes are compared: there may be thousands, and each is looked for."""
    prefix, hop = ipaddress.IPv4Network(destination), ipaddress.IPv4Address(gateway).packed
    to = prefix.network_address.packed
    to_at = _Row.destination.offset + _SocketAddress.address.offset
    hop_at = _Row.next_hop.offset + _SocketAddress.address.offset
    table = _table()
    for at in range(0, len(table), ctypes.sizeof(_Row)):
        if table[at + to_at : at + to_at + 4] == to and table[at + hop_at : at + hop_at + 4] == hop:
            row = _Row.from_buffer_copy(table, at)
            if row.destination.length == prefix.prefixlen:
                yield row


def _table() -> bytes:
    """A copy, row by row."""
    table = ctypes.POINTER(_Table)()
    _get_table(_IPV4, ctypes.byref(table))
    try:
        first = ctypes.addressof(table.contents) + _Table.rows.offset
        return ctypes.string_at(first, table.contents.count * ctypes.sizeof(_Row))
    finally:
        _free_table(table)


def _destination(row: _Row) -> str:
    return f"{_text(row.destination.address)}/{row.destination.length}"


def _text(address: _SocketAddress) -> str:
    return ".".join(map(str, address.address))


def _address(text: str) -> _SocketAddress:
    return _SocketAddress(_IPV4, 0, (_BYTE * 4)(*ipaddress.IPv4Address(text).packed))
