"""Something from elsewhere that files are made of: a program, or an archive of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent.secret_fields import registers_secrets
from agent.spec.want import NamedWant, Protection

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
    """What is known of it. The files themselves are wanted beside it, each by its hash."""

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
