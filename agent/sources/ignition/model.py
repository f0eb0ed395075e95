"""A merged, checked Ignition configuration: the one form that all versions become.

What can matter on a Windows node is here as it is; of the rest just enough to tell that it is ignored.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.secret_fields import registers_secrets
from agent.sources.ignition.contents import PLAIN, Bytes, Packing, in_blocks
from agent.sources.report import Origin

RESPONSE_TIMEOUT = 10
"""Seconds, where a configuration names no limit."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Inline:
    """Contents that came with the configuration."""

    packed: bytes = field(repr=False)
    packing: Packing = PLAIN

    def blocks(self, limit: int) -> Iterator[Bytes]:
        """The contents, unpacked and checked, piece by piece; raises contents.Unsound."""
        return self.packing.unpack(in_blocks(self.packed), limit)

    def read(self, limit: int) -> bytes:
        """The contents at once; those that travel plainly are not copied."""
        if self.packing.plain and len(self.packed) <= limit:
            return self.packed
        return b"".join(self.blocks(limit))


@dataclass(frozen=True, slots=True)
class Remote:
    """Contents that somebody must fetch, with the configuration's `network`."""

    url: str
    headers: tuple[tuple[str, str], ...]
    packing: Packing = PLAIN


Contents = Inline | Remote


@dataclass(frozen=True, slots=True)
class Owner:
    """By number or name, where it was said."""

    user: int | str | None = None
    group: int | str | None = None


@dataclass(frozen=True, slots=True)
class File:
    path: str
    origin: Origin
    contents: Contents | None
    """None: what is there stays, or the file is empty where there was none."""
    appended: tuple[Contents, ...]
    mode: int | None
    owner: Owner
    overwrite: bool | None


@dataclass(frozen=True, slots=True)
class Directory:
    path: str
    origin: Origin
    mode: int | None
    owner: Owner
    overwrite: bool | None


@dataclass(frozen=True, slots=True)
class Link:
    path: str
    origin: Origin
    target: str
    hard: bool


@registers_secrets
@dataclass(frozen=True, slots=True)
class Dropin:
    name: str
    origin: Origin
    contents: str = field(repr=False)


@registers_secrets
@dataclass(frozen=True, slots=True)
class Unit:
    """A systemd unit. One without contents belongs to the system; this says only what is added to it."""

    name: str
    origin: Origin
    contents: str = field(repr=False)
    dropins: Mapping[str, Dropin]
    """By name, those with contents."""
    enabled: bool | None
    masked: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """Something that has no meaning on Windows."""

    kind: str
    """For a person: disk, user, kernel argument ..."""
    name: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Network:
    """How Ignition fetches what a configuration refers to."""

    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: tuple[str, ...] = ()
    """Addresses, networks, domains; `*` for all."""
    response_timeout: int = RESPONSE_TIMEOUT
    """Seconds until the headers of a response are there; 0 for no limit."""
    total_timeout: int = 0
    """Seconds for a fetch with all its repetitions; 0 for no limit."""
    authorities: tuple[bytes, ...] = ()
    """PEM, in addition to those of the system."""


@dataclass(frozen=True, slots=True)
class Request:
    """Something to fetch by http or https. Its headers are for that host: a redirect goes without them."""

    url: str
    headers: tuple[tuple[str, str], ...]
    packing: Packing
    """What the answer will be unpacked by; the fetching itself leaves the answer as it is."""
    network: Network


class FetchFailed(Exception):
    """Nothing came. The text is for a person: what failed and what to do, without the URL."""


class FetchRefused(FetchFailed):
    """Nothing was asked for, since the URL itself is at fault."""


class Fetch(Protocol):
    """Whoever can reach the network. Retries, time-outs and redirects are its own business."""

    def __call__(self, request: Request) -> Iterable[bytes]:
        """The answer's body in blocks. Raises FetchFailed, also while the blocks are taken."""


@dataclass(frozen=True, slots=True)
class Configuration:
    documents: Mapping[str, str]
    """The name and version of what was read: first what was given, then what was fetched, in this order."""
    files: Mapping[str, File]
    directories: Mapping[str, Directory]
    links: Mapping[str, Link]
    units: Mapping[str, Unit]
    ignored: tuple[Ignored, ...]
    network: Network
