"""What the machine is called."""

from __future__ import annotations

from typing import ClassVar

from agent.records import frozen
from agent.spec.want import Key, Want


@frozen
class HostName(Want):
    """Its DNS host name, which it has from its next start on. A machine has one."""

    kind: ClassVar[str] = "host_name"

    name: str

    @property
    def key(self) -> Key:
        return Key(self.kind, "of this machine")
