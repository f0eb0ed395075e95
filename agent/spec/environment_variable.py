"""A variable of the machine's environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class EnvironmentVariable(Want):
    kind: ClassVar[str] = "environment_variable"

    name: str
    value: str = field(repr=False)
    secret: bool = False
    """Never shown: a proxy's password, say."""

    @property
    def key(self) -> Key:
        return Key(self.kind, self.name)
