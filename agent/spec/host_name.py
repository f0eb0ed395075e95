"""What the machine is called."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.spec.want import Key, Want

HOST_NAME = Key("host_name", "of this machine")


@dataclass(frozen=True, slots=True)
class HostName(Want):
    """Its DNS host name, which it has from its next start on. A machine has one."""

    kind = "host_name"

    name: str

    @property
    def key(self) -> Key:
        return HOST_NAME


def is_named(wants: Iterable[Want]) -> bool:
    """Whether the machine's name is among what is wanted."""
    return any(want.kind == HostName.kind for want in wants)
