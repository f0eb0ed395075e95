"""Microsoft Defender's exclusions on a node as its stand-in keeps them (standins/defender.c)."""

from __future__ import annotations

from lab.node import Node
from lab.standin import Standin

_EXCLUSIONS = r"HKLM\SOFTWARE\Microsoft\Windows Defender\Exclusions"
ABSENT = 0x8004100E
"""What its namespace is answered with where there is no Defender: WBEM_E_INVALID_NAMESPACE."""


class Defender(Standin):
    def __init__(self, node: Node) -> None:
        super().__init__(node, "defender")

    def excluded(self, what: str) -> list[str]:
        """Of Paths or Processes."""
        key = self._node.registry(rf"{_EXCLUSIONS}\{what}")
        return sorted(key.values) if key else []
