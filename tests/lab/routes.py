"""The stand-in for the part of iphlpapi.dll that changes routes (standins/routes.c), put on a node."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from lab import programs, wine
from lab.iphlpapi import LIBRARY, WINES_OWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lab.node import Node

KEY = r"HKLM\SOFTWARE\Lab\Routes"

_METRIC_AT = 84
"""In MIB_IPFORWARD_ROW2."""


def install(node: Node) -> None:
    """From now on programs that are started there can make and remove routes."""
    for name in (LIBRARY, WINES_OWN):
        node.copy_in(wine.outside(programs.PLACE) / name, rf"C:\windows\system32\{name}")
    node.prefer_files([LIBRARY])


def made(node: Node) -> Mapping[str, int]:
    """Metrics by `10.244.3.0/24 over 192.0.2.33`, of the routes in force that were made by programs."""
    key = node.registry(KEY)
    rows = key.values if key else {}
    return {
        name: struct.unpack_from("<I", value.data, _METRIC_AT)[0]
        for name, value in rows.items()
        if isinstance(value.data, bytes)
    }
