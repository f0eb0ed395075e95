"""What a NodeConfiguration says."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PureWindowsPath
from typing import Protocol

from agent import log_runner
from agent.secret_fields import registers_secrets
from agent.sources.report import Origin
from agent.spec import Artifact, Content, Protection, Signer, Want
from agent.spec.files import SIZE_LIMIT

LOG_RUNNER = PureWindowsPath(r"C:\k") / log_runner.NAME
"""What writes the output of services. It comes with a release of Kubernetes, and not with a document."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """For which nodes a document is."""

    names: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str, labels: Mapping[str, str]) -> bool:
        named = not self.names or name in self.names
        return named and all(labels.get(label) == value for label, value in self.labels.items())


@dataclass(frozen=True, slots=True)
class Rollout:
    start: float | None = None
    """Seconds since 1970, UTC."""
    window: float = 0.0
    percentage: float = 100.0


@dataclass(frozen=True, slots=True)
class Maintenance:
    paused: bool = False
    reason: str = ""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Source:
    """A content that has to be fetched."""

    url: str = field(repr=False)
    """Its query is a signature, more often than not."""
    sha256: str
    size_limit: int = SIZE_LIMIT


class Unobtainable(Exception):
    """Raised by whoever fetches. The text says why, on one line, without what is secret in a URL."""


class Obtain(Protocol):
    """What is known of contents that are elsewhere. Nothing is fetched by asking."""

    def resolved(self, artifact: Artifact) -> Artifact | None:
        """With its digest and its files; None while what is in it is not known. Raises Unobtainable."""

    def content(self, sha256: str) -> Content:
        """Of one of these files; there by the time that it is read."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file whose content is elsewhere."""

    path: PureWindowsPath
    source: Source
    protection: Protection
    until: PureWindowsPath | None = None

    @property
    def artifact(self) -> Artifact:
        """To be fetched as one."""
        source = self.source
        digest = f"sha256:{source.sha256}"
        return Artifact(str(self.path), source.url, self.path, digest, size_limit=source.size_limit)


@dataclass(frozen=True, slots=True)
class Item:
    wanted: Want | RemoteFile
    origin: Origin


@registers_secrets
@dataclass(frozen=True, slots=True)
class OwnProgram:
    """The wmcb.exe that is to keep the node."""

    source: str = field(repr=False)
    sha256: str
    signer: Signer | None
    within_seconds: float
    """Until it is well."""
    origin: Origin


@dataclass(frozen=True, slots=True)
class NodeConfiguration:
    """One document, checked by itself."""

    origin: Origin
    digest: str
    """Of what it wants of a node, and of nothing else: not for whom, and not when."""
    nodes: Nodes = field(default_factory=Nodes)
    rollout: Rollout | None = None
    maintenance: Maintenance = field(default_factory=Maintenance)
    items: tuple[Item, ...] = ()
    program: OwnProgram | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    has_come: bool
    at: float | None = None
    """When it comes, or came, in seconds since 1970; None for a node that does not take part, and where no
    time is given."""


def turn(node: str, rollout: Rollout | None, now: float) -> Turn:
    """Of a change. The same for a node's name at each call, on each machine and in each release.

    A node that has nothing yet has nothing to wait with: its daemon does not ask.
    """
    if rollout is None:
        return Turn(has_come=True)
    # Two points: when more nodes take part, those that did so before keep their time.
    if _point("member", node) * 100 >= rollout.percentage:
        return Turn(has_come=False)
    if rollout.start is None:
        return Turn(has_come=True)
    at = rollout.start + rollout.window * _point("time", node)
    return Turn(has_come=now >= at, at=at)


def _point(what: str, node: str) -> float:
    """From 0 to 1, without it: nodes lie evenly."""
    digest = hashlib.sha256(f"{what} {node.lower()}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53
