"""A folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agent.records import frozen
from agent.spec.want import Key, Protection, Want

if TYPE_CHECKING:
    from pathlib import PureWindowsPath


@frozen
class Directory(Want):
    kind: ClassVar[str] = "directory"

    path: PureWindowsPath
    protection: Protection = Protection.PRIVATE
    belongs_to_node: bool = False
    """What the node's programs put into it (certificates, logs) is the node's too, and goes with it."""
    shared: bool = False
    """Others use it too, as C:\\etc or C:\\var: one that is there stays as it is, or is closed to users."""
    apart: tuple[str, ...] = ()
    """Folders below it, from here, that are wanted with other rights: users may change what is in these."""

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.path))

    @property
    def uses(self) -> tuple[Key, ...]:
        parent = self.path.parent
        return (Key(self.kind, str(parent)),) if parent != self.path else ()
