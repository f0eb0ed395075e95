"""Windows' firewall on a node as its stand-in keeps it (standins/firewall.c), seen from outside."""

from __future__ import annotations

from collections.abc import Mapping

from lab.node import Node
from lab.standin import Standin

_RULES = r"HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules"
STOPPED = 0x800706D9
"""What everything is answered with when MpsSvc does not run: no end point is registered."""


class Firewall(Standin):
    def __init__(self, node: Node) -> None:
        super().__init__(node, "firewall")

    @property
    def rules(self) -> Mapping[str, frozenset[str]]:
        """What the registry has of each, by name, but for its version: Dir=In, LPort=10250, ..."""
        key = self._node.registry(_RULES)
        lines = [str(value.data).split("|")[1:-1] for value in key.values.values()] if key else []
        return {_name(words): frozenset(words) for words in lines}


def _name(words: list[str]) -> str:
    return next(word.partition("=")[2] for word in words if word.startswith("Name="))
