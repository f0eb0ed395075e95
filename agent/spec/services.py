"""What runs on a machine: Windows services, commands that run once, programs in HostProcess containers."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent.redaction import has_secret
from agent.secret_fields import registers_secrets
from agent.spec.files import Content
from agent.spec.machine import HOST_NAME, is_named, proxy_variables
from agent.spec.specification import Key, NamedWant, Want


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


class Shell(enum.Enum):
    CMD = "cmd.exe"
    POWERSHELL = "PowerShell"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Command(NamedWant):
    """A person's own commands, run once.

    Run when its turn comes, and not again unless its script becomes another.

    Nobody can know what it does, so nothing of that is taken back; and one that was cut off is run anew from
    its beginning.
    """

    kind = "command"

    name: str
    """For a person, and no other command's: preKubeadmCommands 2."""
    script: Content = field(repr=False)
    """Whole, as the shell reads it from a file: with its line ends and in its encoding."""
    shell: Shell = Shell.CMD
    may_fail: bool = False
    """An exit code that is not 0 is remembered, and no reason to take the run back."""
    within_seconds: float = 3600.0
    after: tuple[Key, ...] = ()
    """What has to be as wanted before. It is not run again when that changes."""

    @property
    def uses(self) -> tuple[Key, ...]:
        return self.after

    def beside(self, others: Iterable[Want]) -> Want:
        """It may make something of the machine's name."""
        return replace(self, after=(*self.after, HOST_NAME)) if is_named(others) else self


@dataclass(frozen=True, slots=True)
class ContainerProgram(NamedWant):
    """A program in HostProcess containers that tells Windows' Host Networking Service what that forgets.

    Others bring it. When what it told is lost its process is ended; its container starts another.
    """

    kind = "container_program"

    name: str
    """Its file's: kube-proxy.exe."""
    makes: tuple[str, ...] = ()
    """Networks that it makes when it starts."""
    needs: tuple[str, ...] = ()
    """Networks that have to be there when it starts."""


@dataclass(frozen=True, slots=True)
class EventSource(NamedWant):
    """A name under which programs write to Windows' Application log."""

    kind = "event_source"

    name: str
    message_file: PureWindowsPath
    """A program that carries the texts of its events, so that Event Viewer can show them."""

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("file", str(self.message_file)),)


W32TIME = "W32Time"


@dataclass(frozen=True, slots=True)
class TimeService(Want):
    """Windows' own service that keeps the clock right.

    Started with Windows, and running. Where it takes the time from is not said here.
    """

    kind = "time_service"

    @property
    def key(self) -> Key:
        return Key(self.kind, W32TIME)
