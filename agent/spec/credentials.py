"""A file that a node's program writes for itself when it is admitted to its cluster."""

from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class Credentials(Want):
    """Nothing is done to it. One that was not there before goes when the node does: by a leftover the next
    join would take the machine for a node of that cluster.
    """

    kind = "credentials"

    path: PureWindowsPath

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.path))

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("directory", str(self.path.parent)),)
