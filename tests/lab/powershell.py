"""PowerShell on a node, played by a program that prints what a test wants (standins/powershell.c)."""

from __future__ import annotations

from lab import programs, wine
from lab.node import Node
from lab.standin import Standin

PLACE = r"C:\windows\system32\WindowsPowerShell\v1.0\powershell.exe"


class PowerShell(Standin):
    """In the place of Wine's, which does nothing. A script fails until it is known what it prints."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, "powershell")
        node.copy_in(wine.outside(programs.PLACE) / "powershell.exe", PLACE)

    def prints(self, text: str) -> None:
        self._node.path(f"{self._place}.says").write_text(text)
