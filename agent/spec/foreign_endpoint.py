"""The machine's own endpoint in a container network that another program makes."""

from dataclasses import dataclass

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class ForeignEndpoint(Want):
    """Not to be made, but out of the way when its network is lost: the program makes no other beside it."""

    kind = "foreign_endpoint"

    name: str
    program: str
    """The file name of who makes it."""

    @property
    def key(self) -> Key:
        return Key(self.kind, f"{self.name} of {self.program}")
