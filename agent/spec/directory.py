"""A folder."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

from agent.spec.want import Key, Protection, Want


@dataclass(frozen=True, slots=True)
class Directory(Want):
    kind = "directory"

    path: PureWindowsPath
    protection: Protection = Protection.PRIVATE
    belongs_to_node: bool = False
    """What the node's programs put into it (certificates, logs) is the node's too, and goes with it."""
    shared: bool = False
    """Others use it too, as C:\\etc or C:\\var: one that is there stays as it is, or is closed to users."""
    apart: tuple[str, ...] = ()
    """Folders of volumes below it, from here: what is in these belongs to pods. Known once all is."""

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.path))

    @property
    def uses(self) -> tuple[Key, ...]:
        parent = self.path.parent
        return (Key(self.kind, str(parent)),) if parent != self.path else ()

    def beside(self, others: Iterable[Want]) -> Want:
        if self.shared or self.protection is not Protection.PRIVATE:
            return self
        volumes = [
            each.path for each in others if isinstance(each, Directory) and each.protection is Protection.PODS
        ]
        below = tuple(str(each.relative_to(self.path)) for each in volumes if self.path in each.parents)
        return replace(self, apart=below) if below else self
