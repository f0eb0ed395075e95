"""What the machine is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from agent.spec.want import Key, Want

if TYPE_CHECKING:
    from collections.abc import Iterable

HOST_NAME = Key("host_name", "of this machine")


@dataclass(frozen=True, slots=True)
class HostName(Want):
    """Its DNS host name, which it has from its next start on. A machine has one."""

    kind: ClassVar[str] = "host_name"

    name: str

    @property
    def key(self) -> Key:
        return HOST_NAME


def is_named(wants: Iterable[Want]) -> bool:
    """Whether the machine's name is among what is wanted."""
    return any(want.kind == HostName.kind for want in wants)
