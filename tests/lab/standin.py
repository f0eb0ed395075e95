"""What the stand-ins for parts of Windows have in common: what they were asked, what they are to refuse."""

from __future__ import annotations

from collections.abc import Sequence

from lab.node import Node


class Standin:
    """Of one name below C:\\standins on a node (standins/automation.h)."""

    def __init__(self, node: Node, name: str) -> None:
        self._node = node
        self._place = rf"C:\standins\{name}"

    @property
    def asked(self) -> Sequence[str]:
        """What changes something, a line each, since the machine was new."""
        log = self._node.path(f"{self._place}.asked")
        return log.read_text().splitlines() if log.exists() else []

    def refuse(self, **codes: int) -> None:
        """From now on these are answered with these HRESULTs, and nothing else is refused."""
        lines = [f"{name.replace('_', '.', 1)} {code:x}\n" for name, code in codes.items()]
        self._node.path(f"{self._place}.fails").write_text("".join(lines))
