"""What became of the ConfigMap that is followed, as it is kept over restarts and shown."""

import enum
import json
from contextlib import suppress
from dataclasses import asdict, dataclass

from agent.engine.state_folder import StateFolder
from agent.host.errors import NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.redaction import redacted

_FORMAT = 1
_TEXTS = ("error", "unheard", "failed_by", "paused_by_node", "paused_by_document")
"""What is read by people alone. All else is compared with what the cluster says, and stays as it is."""


class State(enum.StrEnum):
    WAITING = "waiting"
    """Nothing of it has been seen yet."""
    APPLIED = "applied"
    """The node is as it wants it."""
    PENDING = "pending"
    """It is not this node's turn yet, or something is still being fetched."""
    REFUSED = "refused"
    """It cannot be used as it is. What it made before stays."""
    FAILED = "failed"
    """It was tried, and taken back; not tried again before it is another."""
    MISSING = "missing"
    """There is none. What it made stays."""


@dataclass(frozen=True, slots=True)
class Standing:
    followed: str = ""
    """Its namespace and name."""
    state: State = State.WAITING
    error: str = ""
    """Why it was refused, or has failed: a line for a person, without a secret."""
    unheard: str = ""
    """Why nothing is heard of it just now, and what to do; or was when there was a service to hear it."""
    applied: str = ""
    """A hash of what it wants of this node, as that was made last."""
    version: str = ""
    """The resourceVersion that this was first seen in."""
    documents: tuple[str, ...] = ()
    """Hashes of the documents that it was made of."""
    turn: float | None = None
    """When it is this node's turn, in seconds since 1970."""
    failed: str = ""
    """A hash of the content that was tried last, where that failed."""
    failed_by: str = ""
    """Why it did."""
    cut_off: str = ""
    """A hash of the content that was begun again after a run that never came to its end."""
    times: int = 0
    """After how many of them."""
    signed_at: int | None = None
    """When the last one that was believed had been signed: an older one is not believed any more."""
    signed_by: str = ""
    paused_by_node: str | None = None
    """The reason that its Node gives for a pause; None for no pause."""
    paused_by_document: str | None = None

    @property
    def pause(self) -> str | None:
        return self.paused_by_node if self.paused_by_node is not None else self.paused_by_document


def read(host: Host) -> Standing | None:
    """None where nothing has been followed yet. Raises CannotBeSo for a folder that nobody may believe."""
    folder = StateFolder.of(host)
    folder.check()
    content = folder.read(folder.following)
    if content is None:
        return None
    try:
        document = json.loads(content)
        known = {name: document[name] for name in Standing.__match_args__ if name in document}
        known["state"] = State(known["state"])
        known["documents"] = tuple(known["documents"])
    except (ValueError, KeyError, TypeError):
        return None  # it is seen anew
    return Standing(**known)


def write(host: Host, standing: Standing) -> None:
    document = {**asdict(standing), "format": _FORMAT}
    document |= {name: redacted(text) for name in _TEXTS if isinstance(text := document[name], str)}
    folder = StateFolder.of(host)
    text = json.dumps(document, indent=1)
    host.files.write(folder.following, text.encode(), PRIVATE_FILE)


def forget(host: Host) -> None:
    folder = StateFolder.of(host)
    with suppress(NotFound):
        host.files.remove(folder.following)
