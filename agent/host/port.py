"""The port to the machine: all that the engine, the daemon and the command line may ask of it.

Two implementations answer it alike, `agent.host.windows` and `agent.host.sandbox`; tests/contract holds
both to this text. Every method raises a class of `agent.host.errors` when the machine says no. Paths are
absolute Windows paths on any operating system.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:  # 0.4 MB of a service without a node
    from pathlib import PureWindowsPath

    from agent.host.files import Files
    from agent.host.networks import Networks, Routes
    from agent.host.services import Services

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
