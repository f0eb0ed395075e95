"""What may be asked of a machine's services, and by a service itself: a part of agent.host.port."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agent.host.port import Watch


class StartType(enum.Enum):
    AUTOMATIC = "automatic"
    DELAYED = "automatic (delayed)"
    MANUAL = "manual"
    DISABLED = "disabled"


class ServiceState(enum.Enum):
    """The numbers are the SCM's own."""

    STOPPED = 1
    START_PENDING = 2
    STOP_PENDING = 3
    RUNNING = 4
    CONTINUE_PENDING = 5
    PAUSE_PENDING = 6
    PAUSED = 7


class RecoveryAction(enum.Enum):
    NONE = 0
    RESTART = 1
    REBOOT = 2
    RUN_COMMAND = 3
    RESTART_ITSELF = 4
    """SC_ACTION_OWN_RESTART: the service does so, and the SCM looks on."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What the SCM does when the service's process dies without having said STOPPED."""

    actions: tuple[tuple[RecoveryAction, int], ...] = ()
    """First, second and each later failure: what to do, after how many milliseconds."""
    reset_seconds: int = 0
    """After so long without a failure the count begins anew."""
    on_error_exit: bool = False
    """The failure-actions flag: also when it says STOPPED with an exit code that isn't zero."""


class SidType(enum.Enum):
    NONE = 0
    UNRESTRICTED = 1
    RESTRICTED = 3


@dataclass(frozen=True, slots=True)
class ServiceDefinition:
    """A service as it is wanted. The host quotes `command` by CommandLineToArgvW's rules.

    What looks like a variable in the command (%NAME%) is refused with BadCommand: Windows would put its value
    in place of it, whatever the quotes.
    """

    name: str
    command: tuple[str, ...]
    display_name: str = ""
    """The name itself where empty."""
    description: str = ""
    start: StartType = StartType.AUTOMATIC
    dependencies: tuple[str, ...] = ()
    account: str = "LocalSystem"
    recovery: Recovery = Recovery()
    environment: Mapping[str, str] = field(default_factory=dict)
    preshutdown_milliseconds: int | None = None
    """How long Windows waits for it when it shuts down; None leaves what is there, in a new service Windows'
    own value. Read back it is always a number, where Windows knows the setting."""
    sid_type: SidType = SidType.NONE


@dataclass(frozen=True, slots=True)
class InstalledService:
    """A service as the SCM has it, whoever made it.

    A setting that this Windows does not know (`unsupported`) is reported as its default. All of it is plain
    data, so that it can be kept, and given back to `restore` later.
    """

    definition: ServiceDefinition
    """Its `command` is the command line as programs split it; somebody may have forgotten the quotes."""
    image_path: str
    """The command line as registered, word for word. %NAME% in it stands for a variable's value."""
    unsupported: tuple[str, ...] = ()
    """Fields of the definition that this Windows could not be asked for."""


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    state: ServiceState
    pid: int | None
    exit_code: int
    """Win32 exit code; 1066 says that `service_exit_code` counts."""
    service_exit_code: int
    checkpoint: int
    wait_hint_milliseconds: int


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """`state` is what the service changed to; None when it was deleted, or its process vanished unsaid."""

    name: str
    state: ServiceState | None


class Control(enum.Enum):
    """What the SCM asks of a running service. The numbers are its own."""

    STOP = 1
    SHUTDOWN = 5
    PARAMETERS_CHANGED = 6
    PRESHUTDOWN = 15


ENDING = frozenset({Control.STOP, Control.PRESHUTDOWN, Control.SHUTDOWN})
"""After one of these nothing else is asked."""


class ServiceControls(Protocol):
    """A service program's side of its talk with the SCM. Interrogation is answered without asking it."""

    arguments: Sequence[str]
    """What the start call passed, without the service's name."""

    def running(self) -> None:
        """Tell that the service is up."""

    def stopping(self, wait_hint_seconds: float) -> None:
        """Tell that it is on its way down, and how long until the next word."""

    def next(self, seconds: float | None = None) -> Control | None:
        """The next request; blocks. None when the time is up."""

    def hand_on(self, take: Callable[[Control], None]) -> None:
        """From now on each request goes to `take` at once, in another thread, and `next` hears of none."""

    def stopped(self, exit_code: int) -> None:
        """Tell that it has: for whoever ends the process himself, before that."""


ServiceProgram = Callable[[ServiceControls], int]
"""Runs until the service is to end, and returns its exit code (0, or service-specific)."""


class Services(Protocol):
    def list(self) -> Mapping[str, ServiceStatus]:
        """All Win32 services by name."""

    def read(self, name: str) -> InstalledService | None: ...

    def status(self, name: str) -> ServiceStatus: ...

    def create(self, definition: ServiceDefinition) -> Sequence[str]:
        """Register a service; returns the fields that this Windows does not know, to be warned of.

        When a later step than the registration itself fails, the service is deleted again.
        """

    def change(self, definition: ServiceDefinition) -> Sequence[str]:
        """Make an existing service as defined; returns the fields that this Windows does not know.

        What a definition doesn't name stays: load-order group, failure command, keys below the service's own.
        """

    def restore(self, installed: InstalledService) -> Sequence[str]:
        """Make a service as it was once read, its command line word for word. One that is gone is made anew.

        Returns as `change`; what could not be read then stays as it is. Nobody can read a password, so a
        service under an account that has one does not get back to it.
        """

    def delete(self, name: str) -> None:
        """Remove its registration, and wait until its name is free.

        A service that runs is not stopped: it is marked for deletion, and MarkedForDeletion raised at once.
        It runs on, takes no change and no other start, and is gone when it has stopped. Of a stopped one the
        same is raised when its name is not free within a limit, because a program has it open.
        """

    def start(self, name: str, arguments: Sequence[str] = ()) -> None:
        """Ask for a start; `wait` tells how it went. Raises ServiceAlreadyRunning."""

    def stop(self, name: str, seconds: float | None = None) -> None:
        """Ask for a stop; `wait` tells how it went.

        Raises ServiceNotRunning, DependentsRunning; TimedOut where its process has not heard that by then.
        """

    def tell_of_parameters(self, name: str) -> None:
        """Tell a service that what it goes by has changed. Raises ServiceNotRunning, ServiceCannotAccept."""

    def wait(self, name: str, state: ServiceState, seconds: float) -> ServiceStatus:
        """Until the service is in that state, by the SCM's word and its process' handle.

        Gives up with TimedOut after `seconds`, or sooner when the service's own checkpoint stands still for
        longer than its wait hint allows; raises ServiceFailed as soon as a service that was to run has
        stopped or its process is gone. Each names the service, its state and its exit code.
        """

    def watch(self, names: Iterable[str]) -> Watch[ServiceEvent]:
        """Told of changes of state: of the end of a process at once, of all else within a second.

        A state that is over before it could be looked at may be left out, but never the last one.
        """

    def serve(self, name: str, program: ServiceProgram) -> int:
        """Be the service `name`: called once, by a process that the SCM started. NotAService otherwise."""
