"""Routes: in force by IP Helper (iphlpapi.dll), and kept for the next start where `route -p` keeps them."""

import ctypes
import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import wintypes
from dataclasses import replace

import win32event
import win32file

from agent.host import winerror
from agent.host.errors import NotFound, Unsupported
from agent.host.networks import Route
from agent.host.persistent_routes import forget, persist, persistent_route, persistent_routes, together
from agent.host.port import Registry
from agent.host.windows.api.binding import coded, dll, judged
from agent.host.windows.api.network import addresses_by_index, index_of
from agent.host.windows.api.processes import is_signalled
from agent.host.windows.failure import telling

_IPV4 = 2
_MANAGED = 3
"""MIB_IPPROTO_NETMGMT: somebody made it, and no routing protocol."""
_FOR_EVER = 0xFFFF_FFFF
_SCOPE_LEVELS = 16
_NOW = False
"""Whether a change is told once at the beginning, too."""

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


class _Interface(ctypes.Structure):
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
_TABLE = ctypes.POINTER(ctypes.POINTER(_Table))
_get_table = coded(_iphlpapi, "GetIpForwardTable2", wintypes.USHORT, _TABLE)
_free_table = judged(_iphlpapi, "FreeMibTable", None, ctypes.c_void_p)
_best_interface = coded(_iphlpapi, "GetBestInterface", _DWORD, ctypes.POINTER(_DWORD))
_set_event = ctypes.cast(
    judged(dll("kernel32"), "SetEvent", wintypes.BOOL, wintypes.HANDLE),  # type: ignore[arg-type]
    ctypes.c_void_p,
)
"""Windows calls back in a thread of its own, which had better run no Python. The context comes first and is
all that this function looks at; what it answers nobody does.
"""
# fmt: off
_NOTIFICATIONS = [
    coded(
        _iphlpapi, name, wintypes.USHORT, ctypes.c_void_p, wintypes.HANDLE, wintypes.BOOLEAN,
        ctypes.POINTER(wintypes.HANDLE),
    )
    for name in ("NotifyRouteChange2", "NotifyIpInterfaceChange")
]
# fmt: on
_cancel = coded(_iphlpapi, "CancelMibChangeNotify2", wintypes.HANDLE)


class WindowsRoutes:
    """What it needs is loaded when it is asked: most machines' documents name no route."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def list(self) -> Sequence[Route]:
        with telling("list", "the routes"):
            interfaces = addresses_by_index()
            active = [
                Route(
                    f"{_text(row.destination.address)}/{row.destination.length}",
                    _text(row.next_hop),
                    int(row.metric),
                    interface=interfaces.get(row.interface_index),
                )
                for row in _rows()
            ]
        return list(together(active, persistent_routes(self._registry)))

    def find(self, destination: str, gateway: str) -> Route | None:
        with telling("find", f"the route to {destination} over {gateway}"):
            row = next(_rows_of(destination, gateway), None)
        route = Route(destination, gateway, int(row.metric) if row else 0)
        kept = persistent_route(self._registry, route)
        return kept if row is None else replace(route, persistent=kept is not None)

    def add(self, route: Route) -> None:
        with _telling("add", f"the route to {route.destination} over {route.gateway}"):
            _change("CreateIpForwardEntry2", _row(route))
        forget(self._registry, route)
        if route.persistent:
            persist(self._registry, route)

    def remove(self, route: Route) -> None:
        subject = f"the route to {route.destination} over {route.gateway}"
        was_kept = forget(self._registry, route)
        with telling("remove", subject):
            there = list(_rows_of(route.destination, route.gateway))
            for row in there:
                _change("DeleteIpForwardEntry2", row)
        if not there and not was_kept:
            raise NotFound("remove", subject, winerror.ERROR_NOT_FOUND)

    def forwards(self, address: str) -> bool:
        with _telling("ask for", f"the forwarding of the interface with address {address}"):
            return bool(_interface(_index_of(address)).forwarding)

    def set_forwarding(self, address: str, *, forwards: bool) -> None:
        with _telling("set", f"the forwarding of the interface with address {address}"):
            interface = _interface(_index_of(address))
            interface.forwarding = forwards
            interface.site_prefix_length = 0  # it is told as one of IPv6, and then not taken back for IPv4
            _change("SetIpInterfaceEntry", interface)


@contextmanager
def _telling(action: str, subject: str) -> Iterator[None]:
    with telling(action, subject):
        try:
            yield
        except AttributeError:
            # Wine has no such function; every Windows since 2008 has.
            raise Unsupported(action, subject, winerror.ERROR_PROC_NOT_FOUND) from None


def _index_of(address: str) -> int:
    index = index_of(address)
    if index is None:
        raise NotFound("find", f"the interface with address {address}", winerror.ERROR_NOT_FOUND)
    return index


def _interface(index: int) -> _Interface:
    interface = _Interface(family=_IPV4, interface_index=index)
    _change("GetIpInterfaceEntry", interface)
    return interface


def _change(name: str, row: _Row | _Interface) -> None:
    coded(_iphlpapi, name, ctypes.POINTER(type(row)))(ctypes.byref(row))


def _row(route: Route) -> _Row:
    row = _Row(valid_lifetime=_FOR_EVER, preferred_lifetime=_FOR_EVER, protocol=_MANAGED)
    prefix = ipaddress.IPv4Network(route.destination)
    if route.interface is None:
        row.interface_index = _best_interface_to(route.gateway)
    else:
        row.interface_index = _index_of(route.interface)
    row.metric = route.metric
    row.destination = _Prefix(_address(str(prefix.network_address)), prefix.prefixlen)
    row.site_prefix_length = prefix.prefixlen
    row.next_hop = _address(route.gateway)
    return row


def _best_interface_to(gateway: str) -> int:
    index = _DWORD()
    _best_interface(int.from_bytes(ipaddress.IPv4Address(gateway).packed, "little"), ctypes.byref(index))
    return index.value


def _rows() -> Iterator[_Row]:
    table = _table()
    for at in range(0, len(table), ctypes.sizeof(_Row)):
        yield _Row.from_buffer_copy(table, at)


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


def _text(address: _SocketAddress) -> str:
    return ".".join(map(str, address.address))


def _address(text: str) -> _SocketAddress:
    return _SocketAddress(_IPV4, 0, (_BYTE * 4)(*ipaddress.IPv4Address(text).packed))


class RoutingChanges:
    """Changes of routes, and of what interfaces do with packets, told by an event."""

    def __init__(self) -> None:
        self.event = win32event.CreateEvent(None, True, False, None)
        self._asked: list[int] = []
        try:
            for notify in _NOTIFICATIONS:
                handle = wintypes.HANDLE()
                notify(_IPV4, _set_event, int(self.event), _NOW, ctypes.byref(handle))
                if handle.value is not None:  # as Wine does, which never tells
                    self._asked.append(handle.value)
        except BaseException:
            self.close()
            raise

    def any(self) -> bool:
        """Since it was asked last."""
        if not is_signalled(self.event):
            return False
        win32event.ResetEvent(self.event)
        return True

    def close(self) -> None:
        while self._asked:
            _cancel(self._asked.pop())  # nothing is called back any more when it returns
        win32file.CloseHandle(self.event)
