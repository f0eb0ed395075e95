"""The port to the machine: all that the engine, the daemon and the command line may ask of it.

Two implementations answer it alike, `agent.host.windows` and `agent.host.sandbox`; tests/contract holds
both to this text. Every method raises a class of `agent.host.errors` when the machine says no. Paths are
absolute Windows paths on any operating system.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:  # 0.4 MB of a service without a node
    from pathlib import Path, PureWindowsPath

    from agent.host.networks import Networks, Routes
    from agent.host.sddl import SecurityDescriptor

T_co = TypeVar("T_co", covariant=True)


class Watch(Protocol[T_co]):
    """A subscription. Closing it, or leaving its `with` block, ends it."""

    def wait(self, seconds: float) -> Sequence[T_co]:
        """What happened since the last call; blocks until something does. Empty when the time is up."""

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Files and folders

Content = bytes | Iterable[bytes]
"""Of a file: as a whole, or piece by piece."""
PATIENCE_SECONDS = 2.0
"""How long a virus scanner may hold a file: it looks into each new one, mostly for less than a second."""


class FileKind(enum.Enum):
    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    """Any reparse point: symbolic link, junction, mount point."""


@dataclass(frozen=True, slots=True)
class FileState:
    kind: FileKind
    size: int
    modified: float
    """Seconds since 1970, UTC."""
    read_only: bool


@dataclass(frozen=True, slots=True)
class FileChange:
    """Something below a watched folder changed; `path` is None when Windows lost count: look at it all."""

    path: PureWindowsPath | None


@dataclass(frozen=True, slots=True)
class KeyChange:
    """Something in a watched key of the registry changed, or it is gone."""

    key: str


@dataclass(frozen=True, slots=True)
class RoutingChange:
    """Windows' routes are others than before, or what its interfaces do with packets."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What lies somewhere, seen in one look: all of it is true of the same file."""

    state: FileState
    descriptor: SecurityDescriptor | None
    """None of a link."""
    sha256: str | None = None
    """In hexadecimal; of a file's content, if it was asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Of a folder."""

    name: str
    kind: FileKind
    descriptor: SecurityDescriptor | None
    """None of a link."""


class Reading(Protocol):
    """A file that is open, and read here and there."""

    size: int

    def read(self, size: int) -> bytes:
        """Up to so many bytes from where it is; none at the end."""

    def seek(self, offset: int) -> None: ...


MOST_WATCHED = 60
"""Folders: Windows waits for no more than 64 things at once."""


class Files(Protocol):
    """Nothing here follows a reparse point: one on the way, or at the end, raises ReparsePoint."""

    def observe(self, path: PureWindowsPath) -> FileState | None:
        """What is there, or None. The last element may be a reparse point and is then told as LINK."""

    def examine(self, path: PureWindowsPath, *, content: bool = False) -> Examined | None:
        """`observe`, `descriptor` and the content's hash in one: a fraction of their time.

        With `content` as `blocks`: InUse while somebody has the file open for writing.
        """

    def entries(self, path: PureWindowsPath) -> Iterator[Entry]:
        """What is in a folder. What is removed meanwhile may be left out."""

    def link_target(self, path: PureWindowsPath) -> PureWindowsPath:
        """Where the symbolic link that lies there leads, as it says itself: perhaps from its own folder on,
        perhaps to nothing.
        """

    def read(self, path: PureWindowsPath, limit: int | None = None) -> bytes:
        """The whole content, or its first `limit` bytes."""

    def blocks(self, path: PureWindowsPath) -> Iterator[bytes]:
        """The content piece by piece, for files too large to hold. Others may read, and rename, meanwhile."""

    def reading(self, path: PureWindowsPath) -> AbstractContextManager[Reading]:
        """The same for what is not read from its beginning to its end."""

    def tail(self, path: PureWindowsPath, limit: int) -> bytes:
        """The last `limit` bytes of a file that another program may be writing to."""

    def native_path(self, path: PureWindowsPath) -> Path:
        """The path of a file for a library of this process that opens files itself, and follows links.

        Nothing holds what lies there: only for what administrators alone can exchange.
        """

    def list(self, path: PureWindowsPath) -> Sequence[str]:
        """Names in a folder, sorted without regard to case."""

    def make_directory(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        """One folder, born with its descriptor. Its parent must exist, it must not."""

    def write(
        self, path: PureWindowsPath, content: Content, descriptor: SecurityDescriptor
    ) -> PureWindowsPath | None:
        """Put a whole file in place: new content and descriptor, or the old ones, and nothing in between.

        Written under a temporary name in the same folder that is born with the descriptor, flushed, moved
        over with write-through. A target that is held open is tried again within a limit; a program that is
        running is renamed aside, and where it then lies is returned (to be removed once nothing runs it).
        A mark as read-only doesn't hinder, and isn't taken over. No more than one piece is held in memory.
        """

    def put(
        self, path: PureWindowsPath, lying: PureWindowsPath, descriptor: SecurityDescriptor
    ) -> PureWindowsPath | None:
        """The same by moving a file of the same volume, however large, that is flushed and nobody's yet."""

    def append(
        self, path: PureWindowsPath, content: Content, descriptor: SecurityDescriptor, *, flushed: bool = True
    ) -> None:
        """Add to a file, flushed before this returns; a new one is born with the descriptor. For journals.

        Piece by piece: what had come stays, flushed, when the rest does not come. Not `flushed` it outlives
        this process, and not a power cut: enough for what is told a person, which others may be adding to.
        """

    def move(
        self, path: PureWindowsPath, target: PureWindowsPath, *, patience: float = PATIENCE_SECONDS
    ) -> None:
        """Rename within a volume, write-through. The target must not exist.

        A file held open, or a folder in which anything is, is tried again for so many seconds.
        """

    def set_aside(
        self,
        path: PureWindowsPath,
        target: PureWindowsPath,
        owners: Collection[str],
        descriptor: SecurityDescriptor,
    ) -> bool:
        """Move what lies there unless one of `owners` (SIDs) owns it, and return whether it was moved.

        A folder then gets the descriptor. The owner is read, and the rest done, through one handle: what
        another program puts in its place meanwhile stays. A link is moved itself. The target must not exist.
        Something held open, also in a folder, is tried again within a limit.
        """

    def remove(self, path: PureWindowsPath) -> None:
        """Remove a file, marked as read-only or not, or a reparse point itself, of a folder too.

        One held open is tried again within a limit. Of one that a program runs from ProgramRunning, an InUse,
        says so at once.
        """

    def remove_directory(self, path: PureWindowsPath) -> None:
        """Remove an empty folder. One held open is tried again within a limit."""

    def remove_at_reboot(self, path: PureWindowsPath) -> None:
        """For what is still running: Windows removes it when it starts next."""

    def keep_at_reboot(self, path: PureWindowsPath) -> None:
        """Takes that back; for what is gone meanwhile, too. Nothing happens where nobody asked for it."""

    def descriptor(self, path: PureWindowsPath) -> SecurityDescriptor:
        """Owner, group and DACL as they are."""

    def set_descriptor(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        """Owner and DACL of an existing file or folder, for drift. New ones are born with theirs."""

    def watch(self, path: PureWindowsPath, *, recursive: bool) -> Watch[FileChange]:
        """Told of changes below a folder: names, content, descriptors."""

    def watch_all(
        self, paths: Sequence[PureWindowsPath], keys: Sequence[str] = (), *, routing: bool = False
    ) -> Watch[FileChange | KeyChange | RoutingChange]:
        """The same of up to MOST_WATCHED folders, in one wait and without what is in folders below.

        Of one that goes away its own path is told, and nothing further. `keys` are of the registry, and count
        among the folders: their values are watched, and the names of the keys below. So does `routing`, that
        of IPv4.
        """


# Who may do what


class Principal(enum.Enum):
    """For whom access is judged. Each stands for its usual groups."""

    SYSTEM = "SYSTEM"
    ADMINISTRATOR = "an administrator"
    USER = "a plain user"
    """Logged on, in Users, not an administrator."""


class Access(Protocol):
    def is_administrator(self) -> bool:
        """Whether this process may change the machine (an elevated administrator, or SYSTEM)."""

    def caller(self) -> str:
        """The SID of the account that this process runs under."""

    def sealed(self, secret: bytes) -> bytes:
        """What nobody can make `secret` of again but a program of this machine."""

    def unsealed(self, sealed: bytes) -> bytes:
        """Raises HostError for what was not sealed on this machine."""


# Signatures


@dataclass(frozen=True, slots=True)
class SigningCertificate:
    """What a program is signed with."""

    common_name: str
    sha1: str
    """In hexadecimal, lower case: what Windows calls its thumbprint."""
    sha256: str


class Signatures(Protocol):
    """Authenticode, of what is signed itself: catalogues of signatures are not looked into."""

    def signer(self, path: PureWindowsPath) -> SigningCertificate | None:
        """Whose signature Windows vouches for. Nobody is asked over the network: not whether it was revoked.

        Raises NotSigned, and BadSignature for one that it does not vouch for. None where there is no Windows
        that could judge it.
        """


# Services


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


# Machine environment and registry


class Environment(Protocol):
    """The machine's variables, as every process that starts later gets them."""

    def list(self) -> Mapping[str, str]: ...
    def get(self, name: str) -> str | None:
        """As it is stored, with %NAME% in it; so `list` tells it too. None also for what is no text."""

    def kind(self, name: str) -> RegistryKind | None:
        """As what it is stored: STRING, EXPANDABLE, or what Windows would not take for a variable's value."""

    def set(self, name: str, value: str, kind: RegistryKind | None = None) -> None:
        """Without `kind` a value that has %NAME% in it is stored so that Windows expands it.

        Running programs are told.
        """

    def remove(self, name: str) -> None: ...
    def expand(self, text: str) -> str:
        """As a program that starts now would: with the values of variables in the place of their names."""


class RegistryKind(enum.Enum):
    NONE = 0
    """Bytes of which nobody has said what they are."""
    STRING = 1
    EXPANDABLE = 2
    BINARY = 3
    NUMBER = 4
    STRINGS = 7
    LONG_NUMBER = 11


@dataclass(frozen=True, slots=True)
class RegistryValue:
    kind: RegistryKind
    data: str | int | bytes | tuple[str, ...]


class Registry(Protocol):
    r"""HKEY_LOCAL_MACHINE, its 64-bit view. Keys are given without it: `SYSTEM\CurrentControlSet\...`."""

    def read(self, key: str, name: str) -> RegistryValue | None: ...
    def values(self, key: str) -> Mapping[str, RegistryValue]:
        """All values of a key; NotFound when there is no such key."""

    def keys(self, key: str) -> Sequence[str]:
        """Names of the keys below."""

    def write(self, key: str, name: str, value: RegistryValue) -> None:
        """Keys on the way are made."""

    def make_key(self, key: str) -> None:
        """Keys on the way are made; nothing happens to one that is there."""

    def remove(self, key: str, name: str) -> None: ...
    def remove_empty_key(self, key: str) -> None:
        """Raises NotEmpty for one that holds a value, or has a key below."""

    def remove_key(self, key: str) -> None:
        """The key and everything below it."""

    def flush(self) -> None:
        """What was changed survives a power cut from now on; by itself it does so some seconds later."""


# Firewall


@dataclass(frozen=True, slots=True)
class FirewallRuleDefinition:
    """A rule as Windows has it. Lists are in the spelling of agent.host.firewall_lists; empty for any."""

    name: str
    group: str = ""
    description: str = ""
    direction: str = "in"
    """Or out."""
    action: str = "allow"
    """Or block."""
    protocol: str = "any"
    """tcp, udp, icmpv4, icmpv6, or a number."""
    local_ports: tuple[str, ...] = ()
    remote_ports: tuple[str, ...] = ()
    local_addresses: tuple[str, ...] = ()
    remote_addresses: tuple[str, ...] = ()
    program: str = ""
    service: str = ""
    profiles: tuple[str, ...] = ("domain", "private", "public")
    enabled: bool = True


class Firewall(Protocol):
    """Windows' firewall. Several rules may have one name, so ours are known by their group as well.

    Without the service MpsSvc nothing can be asked: ServiceNotRunning.
    """

    def rules(self, name: str) -> Sequence[FirewallRuleDefinition]:
        """All of that name."""

    def add(self, rule: FirewallRuleDefinition) -> None: ...
    def change(self, rule: FirewallRuleDefinition, group: str) -> None:
        """Makes the rule of its name that is in `group` as given. NotFound where there is none."""

    def remove(self, name: str, group: str) -> None:
        """NotFound where there is none. Another's of the same name stays."""


@dataclass(frozen=True, slots=True)
class DefaultProxy:
    """As WinHTTP keeps it: it knows no password."""

    server: str
    """One for all, as proxy:3128, or one a scheme: http=proxy:3128;https=other:3129."""
    bypass: str
    """What is reached without it, between semicolons; an asterisk stands for anything."""


class Proxies(Protocol):
    """What WinHTTP, and with it Windows' own services, goes by."""

    def default(self) -> DefaultProxy | None: ...
    def set_default(self, proxy: DefaultProxy | None) -> None: ...


class Defender(Protocol):
    """What Microsoft Defender does not look at. NotInstalled where this Windows has none.

    `what` is `path`, and all below it, or `process`, and all files that it opens.
    """

    def exclusions(self, what: str) -> Sequence[str]: ...
    def exclude(self, what: str, path: str) -> None:
        """Defender says that it has, also where a policy or tamper protection has kept it from that."""

    def include(self, what: str, path: str) -> None:
        """Takes an exclusion back. NotFound where there is none."""


ROOT_CERTIFICATES = r"SOFTWARE\Microsoft\SystemCertificates\ROOT\Certificates"
"""The key of the registry in which Windows has those that were added to its store of roots."""


class Roots(Protocol):
    """Certificates that all programs of the machine believe: Windows' store ROOT of the local machine.

    One is known by its thumbprint, and given in DER.
    """

    def read(self, thumbprint: str) -> bytes | None:
        """Wherever Windows has it from: it was added, comes with Windows, or by a policy."""

    def add(self, encoded: bytes) -> None:
        """In the place of the same, if that is there."""

    def remove(self, thumbprint: str) -> None:
        """NotFound where there is none."""


class FeatureState(enum.Enum):
    ENABLED = "enabled"
    DISABLED = "disabled"
    ENABLE_PENDING = "enabled at the next start"
    DISABLE_PENDING = "disabled at the next start"
    REMOVED = "disabled, and its files removed"


class Features(Protocol):
    """Parts of Windows that can be switched on, by the names that DISM knows them by. For administrators."""

    def state(self, name: str) -> FeatureState | None:
        """None where this Windows does not know it. Takes a second or more, unless it was asked just now:
        then it is as it was, or as it has become by a change of ours.
        """

    def enable(self, name: str, *, with_parents: bool) -> bool:
        """Whether it is so only after a restart. Takes minutes, perhaps."""

    def disable(self, name: str) -> bool:
        """The same; its files stay."""


# Facts


@dataclass(frozen=True, slots=True)
class WindowsVersion:
    major: int
    minor: int
    build: int
    revision: int
    product: str
    """As Windows calls itself: 'Windows Server 2022 Datacenter'."""
    edition: str
    """The registry's EditionID: ServerDatacenter, ServerStandardCore, ..."""
    server: bool


@dataclass(frozen=True, slots=True)
class DiskSpace:
    total: int
    free: int


@dataclass(frozen=True, slots=True)
class NetworkAddress:
    interface: str
    address: str
    prefix_length: int
    mac: str


@dataclass(frozen=True, slots=True)
class ListeningPort:
    address: str
    port: int
    pid: int


class Facts(Protocol):
    """What the machine is. Asked anew at each call."""

    def windows_version(self) -> WindowsVersion: ...
    def architecture(self) -> str:
        """Of the machine, not of this program: 'amd64' or 'arm64'."""

    def memory(self) -> int:
        """Physical, in bytes."""

    def disk(self, path: PureWindowsPath) -> DiskSpace:
        """Of the volume that the path is, or would be, on."""

    def addresses(self) -> Sequence[NetworkAddress]:
        """Of the interfaces that are up, loopback left out."""

    def listening_ports(self) -> Sequence[ListeningPort]:
        """TCP, with the process that listens."""

    def pipe_exists(self, name: str) -> bool:
        r"""Whether a program serves the named pipe; given without `\\.\pipe\`, as `containerd-containerd`."""

    def host_name(self) -> str:
        """The DNS host name, not the 15 characters of NetBIOS."""

    def containers_feature(self) -> bool | None:
        """Whether the Containers feature is installed; None where that cannot be told."""

    def system_directory(self) -> PureWindowsPath:
        """The Windows folder, by the API and not by a variable."""

    def program_files(self) -> PureWindowsPath: ...
    def program_data(self) -> PureWindowsPath: ...
    def profiles(self) -> PureWindowsPath:
        """Where each account has a folder of its own: C:\\Users."""


# Event log, power, processes, time


class EventLevel(enum.Enum):
    """The numbers are ReportEvent's."""

    ERROR = 1
    WARNING = 2
    INFORMATION = 4


class EventLog(Protocol):
    """The Application log."""

    def register(self, source: str, message_file: PureWindowsPath) -> None:
        """So that Event Viewer finds the texts; `message_file` carries the message table."""

    def unregister(self, source: str) -> None: ...
    def write(self, source: str, level: EventLevel, event_id: int, text: str) -> None: ...


class Power(Protocol):
    def reboot_pending(self) -> Sequence[str]:
        """Why Windows wants a reboot, a line for each reason; empty when it doesn't."""

    def reboot(self, reason: str, seconds: int) -> None:
        """Announce a reboot, planned, that other programs cannot hold up."""

    def rename(self, name: str) -> None:
        """Another DNS host name from the next start on. NetBIOS gets the first 15 of its characters."""


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    pid: int
    parent: int
    program: PureWindowsPath | None
    """None where the caller may not know."""


@dataclass(frozen=True, slots=True)
class Completed:
    exit_code: int
    output: bytes
    errors: bytes


class Processes(Protocol):
    def list(self) -> Sequence[ProcessInfo]: ...

    def run(
        self,
        command: Sequence[str],
        *,
        seconds: float,
        environment: Mapping[str, str] | None = None,
        directory: PureWindowsPath | None = None,
        limit: int = 1 << 20,
        console: bool = False,
    ) -> Completed:
        """Run a program to its end, with all its children; its output is kept up to `limit` bytes each.

        For what is asked and answers: there is no shell for it, and a console, which nobody sees, only where
        it is said. Without one PowerShell ends at once, with 0, and has done nothing of its script. TimedOut
        when it doesn't end in time, and then it and its children are ended.
        """

    def run_logged(
        self,
        command: Sequence[str],
        log: PureWindowsPath,
        *,
        seconds: float,
        directory: PureWindowsPath | None = None,
    ) -> int:
        """Run what somebody else wrote to its end; its exit code. What it says is added to `log` as it comes.

        The log has to be there. Children that outlive the program go on: who wrote it may have meant that.
        TimedOut when it doesn't end in time, and then it and its children are ended, as they are when the
        process that asked for them dies. A sandbox, which has no Windows, only notes what it was asked for.
        """

    def wait(self, pid: int, seconds: float) -> int:
        """Until a process ends; its exit code."""

    def end(self, pid: int) -> None:
        """TerminateProcess."""

    def started_at(self, pid: int) -> float:
        """Seconds since 1970, UTC, by what the machine's clock said then."""

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """A lock for the whole machine, held inside the `with` block; False when another process has it.

        Freed by Windows when the process dies, however it dies.
        """

    def is_held(self, name: str) -> bool:
        """Whether some process has that lock. To take it to see would be in the way of whoever wants it."""

    def holder(self, name: str) -> int | None:
        """Return the process that has that lock; None where none has it, or the caller may not know."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, UTC; jumps when the machine's time is set."""

    def monotonic(self) -> float: ...
    def boot(self) -> int:
        """Names this start of Windows: the same for as long as it runs, whatever its clock is set to."""

    def sleep(self, seconds: float) -> None: ...


class Loopback(Protocol):
    """Programs of this machine that answer HTTP, such as the kubelet's health port. Never by a proxy."""

    def get(self, port: int, path: str, seconds: float) -> int:
        """The status that is answered; a redirection is not followed.

        Raises NoAnswer, a NotFound, when nobody listens there or speaks HTTP, and TimedOut.
        """


@dataclass(frozen=True, slots=True)
class Host:
    """A machine. The command line opens one and hands it inward."""

    files: Files
    access: Access
    signatures: Signatures
    services: Services
    environment: Environment
    registry: Registry
    proxies: Proxies
    firewall: Firewall
    defender: Defender
    roots: Roots
    features: Features
    facts: Facts
    events: EventLog
    power: Power
    processes: Processes
    clock: Clock
    loopback: Loopback
    networks: Networks
    routes: Routes
    called: str = "wmcb"
    """What stands before a command about it, as people are told one."""
