"""A variable of the machine's environment."""

from dataclasses import dataclass, field

from agent.secret_fields import registers_secrets
from agent.spec.want import NamedWant


@registers_secrets
@dataclass(frozen=True, slots=True)
class EnvironmentVariable(NamedWant):
    kind = "environment_variable"

    name: str
    value: str | None = field(repr=False)
    """None for one that the machine is not to have."""
    secret: bool = False
    """Never shown: a proxy's password, say."""
