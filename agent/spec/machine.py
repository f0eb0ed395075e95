"""What a machine itself is set up with: name and environment, registry, features, trusted certificates."""

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent import hashing
from agent.secret_fields import registers_secrets
from agent.spec.specification import Key, NamedWant, Want

HOST_NAME = Key("host_name", "of this machine")


class SingleWant(Want):
    """A resource of which a machine has one."""

    __slots__ = ()

    @property
    def key(self) -> Key:
        return Key(self.kind, "of this machine")


@dataclass(frozen=True, slots=True)
class HostName(SingleWant):
    """Its DNS host name, which it has from its next start on. A machine has one."""

    kind = "host_name"

    name: str


def is_named(wants: Iterable[Want]) -> bool:
    """Whether the machine's name is among what is wanted."""
    return any(want.kind == HostName.kind for want in wants)


@registers_secrets
@dataclass(frozen=True, slots=True)
class EnvironmentVariable(NamedWant):
    """A variable of the machine's environment."""

    kind = "environment_variable"

    name: str
    value: str | None = field(repr=False)
    """None for one that the machine is not to have."""
    secret: bool = False
    """Never shown: a proxy's password, say."""


@dataclass(frozen=True, slots=True)
class PathEntry(Want):
    """A folder that Windows looks for programs in: one entry of the machine's Path.

    After all that is there. What others have put there, and in which order, is theirs.
    """

    kind = "path_entry"

    folder: PureWindowsPath

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.folder))


@dataclass(frozen=True, slots=True)
class DnsSuffixes(SingleWant):
    """The domains in which Windows looks for a name that has none.

    The machine's whole list: it has one.
    """

    kind = "dns_suffixes"

    suffixes: tuple[str, ...]
    """In the order in which they are tried."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Proxy(SingleWant):
    """The proxy by which a machine reaches what is outside of its site.

    WinHTTP's default, which Windows' own services go by. A machine has one.

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


def proxy_variables(wants: Iterable[Want]) -> Mapping[str, str]:
    """By which a program knows of the proxy, if there is to be one."""
    return next((want.variables for want in wants if isinstance(want, Proxy)), {})


ROOT = "HKLM"
_ALWAYS_THERE = frozenset({
    "HARDWARE", "SAM", "SECURITY", "SOFTWARE", r"SOFTWARE\CLASSES", r"SOFTWARE\MICROSOFT",
    r"SOFTWARE\MICROSOFT\WINDOWS", r"SOFTWARE\MICROSOFT\WINDOWS\CURRENTVERSION",
    r"SOFTWARE\MICROSOFT\WINDOWS NT", r"SOFTWARE\MICROSOFT\WINDOWS NT\CURRENTVERSION", r"SOFTWARE\POLICIES",
    r"SOFTWARE\POLICIES\MICROSOFT", "SYSTEM", r"SYSTEM\CURRENTCONTROLSET",
    r"SYSTEM\CURRENTCONTROLSET\CONTROL", r"SYSTEM\CURRENTCONTROLSET\SERVICES",
})  # fmt: skip
"""Nobody makes these, and nobody is to be asked whether they are there."""


@dataclass(frozen=True, slots=True)
class RegistryKey(Want):
    """A key below HKEY_LOCAL_MACHINE.

    There, whatever is in it. It goes again where wmcb made it and nobody has put anything into it.
    """

    kind = "registry_key"

    path: str
    r"""Without its root: SOFTWARE\Contoso."""

    @property
    def key(self) -> Key:
        return Key(self.kind, rf"{ROOT}\{self.path}")

    @property
    def uses(self) -> tuple[Key, ...]:
        above, _, _ = self.path.rpartition("\\")
        return (Key(self.kind, rf"{ROOT}\{above}"),) if above else ()


def keys_to(path: str) -> Iterator[RegistryKey]:
    """A key and those above it, but for what every Windows has."""
    parts = path.split("\\")
    for length in range(1, len(parts) + 1):
        want = RegistryKey("\\".join(parts[:length]))
        if want.path.upper() not in _ALWAYS_THERE:
            yield want


class RegistryType(enum.Enum):
    """By the names that Windows' own tools have for them."""

    STRING = "REG_SZ"
    EXPANDABLE = "REG_EXPAND_SZ"
    BINARY = "REG_BINARY"
    NUMBER = "REG_DWORD"
    STRINGS = "REG_MULTI_SZ"
    LONG_NUMBER = "REG_QWORD"


@registers_secrets
@dataclass(frozen=True, slots=True)
class RegistryValue(Want):
    """A value below HKEY_LOCAL_MACHINE."""

    kind = "registry_value"

    path: str
    r"""Of its key, without the root: SOFTWARE\Contoso."""
    name: str
    """Empty for the value that a key has without a name."""
    type: RegistryType | None
    """None for a value that is not to be there."""
    data: str | int | bytes | tuple[str, ...] | None = field(repr=False)
    secret: bool = False
    """Never shown."""

    @property
    def key(self) -> Key:
        # A name can hold backslashes, and no key is called nothing: the first two in a row end the path.
        return Key(self.kind, rf"{ROOT}\{self.path}\\{self.name}")

    @property
    def on_the_way(self) -> tuple[Want, ...]:
        return () if self.type is None else tuple(keys_to(self.path))

    @property
    def uses(self) -> tuple[Key, ...]:
        return () if self.type is None else (RegistryKey(self.path).key,)


def place_of(name: str) -> tuple[str, str]:
    """Of a resource's name: the key's path without its root, and the value's name."""
    path, _, value = name.partition("\\\\")
    return path.removeprefix(f"{ROOT}\\"), value


POD_NETWORK = Key("registry_value", "HKLM\\SOFTWARE\\wmcb\\\\PodNetwork")
"""Where a machine says that its pods' network and the routes to others' come of the Nodes: a JSON object.

What its own network and the others' are the cluster knows, and no document: so the document's word is kept
on the machine as it stands, a value of the registry, and the resident service goes by it.
"""


@dataclass(frozen=True, slots=True)
class WindowsFeature(NamedWant):
    """A part of Windows that can be switched on.

    Switched on; a reset leaves it so unless somebody asks for more.
    """

    kind = "windows_feature"

    name: str
    """As DISM knows it: Containers, Microsoft-Hyper-V."""
    with_parents: bool = False
    """Those that it is part of are switched on, too."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class TrustedCertificate(Want):
    """A certificate that Windows believes: of an authority, in its store of roots.

    For all programs of the machine that go by Windows' roots.
    """

    kind = "trusted_certificate"

    encoded: bytes = field(repr=False)
    """DER."""

    @property
    def key(self) -> Key:
        return Key(self.kind, hashing.thumbprint(self.encoded))

    @property
    def remark(self) -> str:
        return "a security decision: all programs of this machine believe whom it vouches for"


@dataclass(frozen=True, slots=True)
class DefenderExclusion(Want):
    """What Microsoft Defender does not look at.

    Never wanted but where a document says so: whoever can write there is not watched.
    """

    kind = "defender_exclusion"

    what: str
    """path, and all below it; or process, and all files that it opens."""
    path: str

    @property
    def key(self) -> Key:
        return Key(self.kind, f"{self.what} {self.path}")

    @property
    def remark(self) -> str:
        seen = "what lies there" if self.what == "path" else "any file that this program opens"
        return f"a security decision: Microsoft Defender does not look at {seen}, whoever has put it there"
