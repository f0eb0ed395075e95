"""The domains in which Windows looks for a name that has none."""

from __future__ import annotations

from typing import ClassVar

from agent.records import frozen
from agent.spec.want import Key, Want


@frozen
class DnsSuffixes(Want):
    """The machine's whole list: it has one."""

    kind: ClassVar[str] = "dns_suffixes"

    suffixes: tuple[str, ...]
    """In the order in which they are tried."""

    @property
    def key(self) -> Key:
        return Key(self.kind, "of this machine")
