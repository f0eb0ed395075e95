"""A folder that Windows looks for programs in: one entry of the machine's Path."""

from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class PathEntry(Want):
    """After all that is there. What others have put there, and in which order, is theirs."""

    kind = "path_entry"

    folder: PureWindowsPath

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.folder))
