"""A variable of the machine's environment."""

from __future__ import annotations

from typing import ClassVar

from agent.records import field, frozen
from agent.spec.want import Key, Want


@frozen
class EnvironmentVariable(Want):
    kind: ClassVar[str] = "environment_variable"

    name: str
    value: str | None = field(shown=False)
    """None for one that the machine is not to have."""
    secret: bool = False
    """Never shown: a proxy's password, say."""

    @property
    def key(self) -> Key:
        return Key(self.kind, self.name)
