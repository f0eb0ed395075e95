"""What a kubelet writes into the folder of its certificates: keys of its own, and what its cluster issues."""

from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class Certificates(Want):
    """Nothing is done to them. Those that were not there before go when the node does, also from a folder
    that stays: a kubelet goes by a certificate of its former cluster before it asks the next for another.
    """

    kind = "certificates"

    folder: PureWindowsPath

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.folder))

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("directory", str(self.folder)),)
