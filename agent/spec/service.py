"""A Windows service."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent.redaction import has_secret
from agent.secret_fields import registers_secrets
from agent.spec.host_name import HOST_NAME, is_named
from agent.spec.proxy import proxy_variables
from agent.spec.want import Key, NamedWant, Want


class StartType(enum.Enum):
    AUTOMATIC = "automatic"
    DELAYED = "automatic (delayed)"
    MANUAL = "manual"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Restart:
    """What Windows does when the service's process fails."""

    after_seconds: tuple[float, ...]
    """The pause before the first, the second and each later restart."""
    forgiven_after_seconds: int
    """After so long without a failure the count begins anew."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A question to the running program over loopback, answered with 200 when it is well."""

    port: int
    path: str = "/healthz"
    within_seconds: float = 60.0


@registers_secrets
@dataclass(frozen=True, slots=True)
class Service(NamedWant):
    kind = "service"

    name: str
    program: PureWindowsPath
    arguments: tuple[str, ...] = ()
    display_name: str = ""
    description: str = ""
    start: StartType = StartType.AUTOMATIC
    dependencies: tuple[str, ...] = ()
    """Names of services that Windows has to start first, whoever made them."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    restart: Restart | None = None
    preshutdown_seconds: float | None = None
    """How long Windows waits for it when it shuts down."""
    running: bool = True
    start_within_seconds: float = 60.0
    stop_within_seconds: float = 60.0
    health: HealthCheck | None = None
    makes: PureWindowsPath | None = None
    """A file that its program writes when it has got what it needs: without it, it is not well. It has as
    long for it as for its health check, or where there is none, as for its start."""
    log: PureWindowsPath | None = None
    """What it writes; the last lines are told when it does not start."""
    reads: tuple[Key, ...] = ()
    """Resources that its program reads when it starts."""
    restarts_with: tuple[str, ...] = ()
    """Services, whoever made them, that its program has told something: when one of these starts anew, it is
    to tell it again, and does so when it starts."""

    @property
    def uses(self) -> tuple[Key, ...]:
        needed = (Key(self.kind, name) for name in self.dependencies)
        return (Key("file", str(self.program)), *self.reads, *needed)

    @property
    def remark(self) -> str:
        if not has_secret(self.arguments):
            return ""
        return (
            f"every user may read the command line of service {self.name}, and there is a secret in it:"
            " give it in a variable of the service, or in a private file"
        )

    def beside(self, others: Iterable[Want]) -> Want:
        """It may make something of the machine's name, and goes by the machine's proxy."""
        others = list(others)
        reads = (*self.reads, HOST_NAME) if is_named(others) else self.reads
        variables = _of_proxy(others)
        if not variables and reads == self.reads:
            return self
        own = {name.upper() for name in self.environment}
        from_proxy = {name: value for name, value in variables.items() if name not in own}
        return replace(self, reads=reads, environment={**from_proxy, **self.environment})


def _of_proxy(others: Iterable[Want]) -> Mapping[str, str]:
    if not any(each.kind == "proxy" for each in others):
        return {}
    return proxy_variables(others)
