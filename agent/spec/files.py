"""Folders and files: their contents, what they are made of, and what the node's programs write themselves."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PureWindowsPath
from typing import Protocol

from agent.hashing import new_sha256
from agent.redaction import register_document
from agent.secret_fields import registers_secrets
from agent.spec.specification import Key, NamedWant, Protection, Want


class Content(Protocol):
    """What a file holds, known by its hash, so that it need not be held itself."""

    @property
    def sha256(self) -> str:
        """In hexadecimal, lower case."""

    @property
    def size(self) -> int: ...

    def blocks(self) -> Iterable[bytes]:
        """From the beginning, at each call."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Lying:
    """A content that lies on the machine, or will when it is needed: hashed there, and flushed."""

    sha256: str
    place: PureWindowsPath
    read: Callable[[PureWindowsPath], Iterable[bytes]] = field(compare=False, repr=False)
    size: int = 0
    is_to_go: bool = True
    """Nobody else needs it there: a file may have it by being that file."""

    def blocks(self) -> Iterable[bytes]:
        return self.read(self.place)


class Inline:
    """Content that came with a document. Not shown by `repr`: it may be a key."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        register_document(data)

    @cached_property
    def sha256(self) -> str:
        return new_sha256(self._data).hexdigest()

    @property
    def size(self) -> int:
        return len(self._data)

    def blocks(self) -> Iterable[bytes]:
        return (self._data,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inline) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self.sha256)


class PathWant(Want):
    """A resource that is known by its path, in a folder that has to be there."""

    __slots__ = ()

    path: PureWindowsPath

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.path))

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("directory", str(self.path.parent)),)


@dataclass(frozen=True, slots=True)
class Directory(PathWant):
    kind = "directory"

    path: PureWindowsPath
    protection: Protection = Protection.PRIVATE
    belongs_to_node: bool = False
    """What the node's programs put into it (certificates, logs) is the node's too, and goes with it."""
    shared: bool = False
    """Others use it too, as C:\\etc or C:\\var: one that is there stays as it is, or is closed to users."""
    apart: tuple[str, ...] = ()
    """Folders of volumes below it, from here: what is in these belongs to pods. Known once all is."""

    @property
    def uses(self) -> tuple[Key, ...]:
        parent = self.path.parent
        return (Key(self.kind, str(parent)),) if parent != self.path else ()

    def beside(self, others: Iterable[Want]) -> Want:
        if self.shared or self.protection is not Protection.PRIVATE:
            return self
        volumes = [
            each.path for each in others if isinstance(each, Directory) and each.protection is Protection.PODS
        ]
        below = tuple(str(each.relative_to(self.path)) for each in volumes if self.path in each.parents)
        return replace(self, apart=below) if below else self


@registers_secrets
@dataclass(frozen=True, slots=True)
class File(PathWant):
    kind = "file"

    path: PureWindowsPath
    content: Content | None = field(repr=False)
    """None for a file that has to be there already, and whose protection alone is ours."""
    protection: Protection = Protection.PRIVATE
    until: PureWindowsPath | None = None
    """Wanted until a run ends well with this other file there; then it goes: a credential for one use."""

    below: tuple[Protection, ...] = ()
    """Of the closed folders that it lies in: the strictest of these and its own counts. Known once all is."""

    @property
    def file(self) -> PureWindowsPath | None:
        return self.path


SIZE_LIMIT = 1 << 30
"""Bytes of an artifact that says nothing of its size."""

_WEAKER = (
    "its digest is fetched from beside it, and whoever can change the one there can change the other;"
    " a sha256 in the document rules that out"
)
_UNKNOWN = "what is in it is known once it has been fetched"


@dataclass(frozen=True, slots=True)
class Signer:
    """Whose Authenticode signature a program has to have. What is empty is not asked for."""

    common_name: str = ""
    """Of the certificate that it is signed with."""
    thumbprint: str = ""
    """Of that certificate: its SHA-1 in hexadecimal, as Windows shows it, or its SHA-256."""


@dataclass(frozen=True, slots=True)
class Unpacking:
    """What of an archive is wanted, and where."""

    into: PureWindowsPath
    strip: int = 0
    """So many folders are left out at the beginning of each name, and what lies in no more."""
    members: Mapping[str, str] = field(default_factory=dict)
    """By the name in the archive, the name below `into`; all where there is none."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Artifact(NamedWant):
    """Something from elsewhere that files are made of: a program, or an archive of them.

    What is known of it. The files themselves are wanted beside it, each by its hash.
    """

    kind = "artifact"

    name: str
    source: str = field(repr=False)
    """A URL, or a path. A URL's query is a signature, more often than not."""
    place: PureWindowsPath | Unpacking
    """Where it goes: as one file, or unpacked."""
    digest: str = ""
    """sha256:... or sha512:..., in lower case; empty where `checksums` says it."""
    checksums: str = field(default="", repr=False)
    """A URL where the digest is told."""
    signer: Signer | None = None
    protection: Protection = Protection.PRIVATE
    size_limit: int = SIZE_LIMIT
    """Bytes, as it is fetched: what a server sends beyond is refused."""
    files: Mapping[str, str] | None = None
    """Each path with its content's sha256; None while that is not known, since it has not been fetched."""

    @property
    def remark(self) -> str:
        remarks = [_WEAKER] if self.checksums else []
        return "; ".join([*remarks, _UNKNOWN] if self.files is None else remarks)


@dataclass(frozen=True, slots=True)
class Certificates(Want):
    """What a kubelet writes into the folder of its certificates: its own keys, and what its cluster issues.

    Nothing is done to them. Those that were not there before go when the node does, also from a folder
    that stays: a kubelet goes by a certificate of its former cluster before it asks the next for another.
    """

    kind = "certificates"

    folder: PureWindowsPath

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.folder))

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("directory", str(self.folder)),)


@dataclass(frozen=True, slots=True)
class Credentials(PathWant):
    """A file that a node's program writes for itself when it is admitted to its cluster.

    Nothing is done to it. One that was not there before goes when the node does: by a leftover the next
    join would take the machine for a node of that cluster.
    """

    kind = "credentials"

    path: PureWindowsPath


@dataclass(frozen=True, slots=True)
class ContainerdConfiguration(PathWant):
    """What containerd's configuration file has to say. All else in it is others'.

    Where nothing is given, what the file says stays as it is.
    """

    kind = "containerd_configuration"

    path: PureWindowsPath
    version: int
    """Of its schema, where there is no file yet: 2 or 3."""
    cni_programs: str = ""
    """The folder that CNI plug-ins lie in."""
    cni_configurations: str = ""
    """The folder that says which of them make a pod's network."""
    sandbox_image: str = ""
    registries: str = ""
    """The folder with a hosts.toml for each registry that has mirrors."""
    address: str = ""
    r"""The pipe that it serves: \\.\pipe\NAME."""
    without_systemd_cgroup: bool = False
    """No runtime is told of systemd: its configuration was copied from Linux."""

    @property
    def file(self) -> PureWindowsPath | None:
        return self.path
