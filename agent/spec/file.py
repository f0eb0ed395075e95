"""A file."""

from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent.secret_fields import registers_secrets
from agent.spec.contents import Content
from agent.spec.want import Key, Protection, Want


@registers_secrets
@dataclass(frozen=True, slots=True)
class File(Want):
    kind = "file"

    path: PureWindowsPath
    content: Content | None = field(repr=False)
    """None for a file that has to be there already, and whose protection alone is ours."""
    protection: Protection = Protection.PRIVATE
    until: PureWindowsPath | None = None
    """Wanted until a run ends well with this other file there; then it goes: a credential for one use."""

    below: tuple[Protection, ...] = ()
    """Of the closed folders that it lies in: the strictest of these and its own counts. Known once all is."""

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.path))

    @property
    def file(self) -> PureWindowsPath | None:
        return self.path

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("directory", str(self.path.parent)),)
