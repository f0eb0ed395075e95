"""The proxy by which a machine reaches what is outside of its site."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.secret_fields import registers_secrets
from agent.spec.want import Key, Want


@registers_secrets
@dataclass(frozen=True, slots=True)
class Proxy(Want):
    """WinHTTP's default, which Windows' own services go by. A machine has one.

    What programs go by stands in variables of the machine, which are resources of their own.
    """

    kind = "proxy"

    server: str
    """Without a password: WinHTTP keeps none."""
    bypass: str
    """What is reached without it, between semicolons."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """For services that are wanted beside this: Windows starts one with the machine's variables as they were
    when Windows itself was started."""

    @property
    def key(self) -> Key:
        return Key(self.kind, "of this machine")


def proxy_variables(wants: Iterable[Want]) -> Mapping[str, str]:
    """By which a program knows of the proxy, if there is to be one."""
    return next((want.variables for want in wants if isinstance(want, Proxy)), {})
