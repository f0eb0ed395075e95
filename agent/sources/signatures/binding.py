"""What a signed document is for: which ConfigMap of which cluster, since when and until when.

A signature alone says who signed; the same bytes would count in another cluster, under another name, and for
ever. So the signer writes into minisign's trusted comment, which is signed as well:

    wmcb NAMESPACE/NAME cluster=sha256:HEX signed=2026-11-20T09:00:00Z expires=2027-01-01T00:00:00Z

The cluster is the hash of its authority's public key, as kubeadm prints it for joins, and as each node can
compute it from its own kubeconfig. During a rotation of the authority there may be several, `cluster=` before
each: one has to fit.
"""

import enum
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.redaction import in_quotes
from agent.sources.signatures.minisign import Refused

_BEGINNING = "wmcb"
_CLUSTER, _SIGNED, _EXPIRES = "cluster", "signed", "expires"
_PIN = re.compile("sha256:[0-9a-f]{64}")
_WRITTEN = "%Y-%m-%dT%H:%M:%SZ"
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)
_TOLERANCE_SECONDS = 300
"""By which the signer's clock may be ahead of a node's, as much as Kerberos allows."""


class Phase(enum.Enum):
    NOT_YET = "not yet"
    """It was signed later than it is now."""
    VALID = "valid"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Binding:
    place: str
    """Of the ConfigMap: its namespace and name."""
    clusters: frozenset[str]
    signed: int
    """In seconds since 1970, as the next."""
    expires: int

    def phase(self, now: float) -> Phase:
        if now >= self.expires:
            return Phase.EXPIRED
        return Phase.NOT_YET if self.signed > now + _TOLERANCE_SECONDS else Phase.VALID

    def check_time(self, now: float) -> None:
        """Raises Refused; the clock that is wrong may be the machine's."""
        phase, clock = self.phase(now), f"this machine's clock says {_written(now)}"
        if phase is Phase.EXPIRED:
            raise Refused(
                f"its signature expired at {_written(self.expires)}, and {clock}: if that is right, sign it "
                "again with a later expires="
            )
        if phase is Phase.NOT_YET:
            raise Refused(
                f"it was signed at {_written(self.signed)}, and {clock}: one of the two clocks is wrong; set "
                "this machine's, or sign it again on a machine whose clock is right"
            )

    def check_order(self, last: int) -> None:
        """Raises Refused for one that was signed before that: it may be what the later one put an end to."""
        if self.signed < last:
            raise Refused(
                f"it was signed {last - self.signed} seconds before one that was seen already; to go back to "
                "what it says, sign it again"
            )


def bound(comment: str, place: str, clusters: frozenset[str]) -> Binding:
    """Return what a trusted comment says. Raises Refused where it does not say all of it, or another place
    or cluster. `clusters` are the pins of the authorities that this node knows its cluster by.
    """
    binding = _read(comment)
    if binding.place != place:
        raise Refused(f"it is signed for ConfigMap {in_quotes(binding.place)}")
    if binding.clusters.isdisjoint(clusters):
        raise Refused(f"it is signed for another cluster, {' or '.join(sorted(binding.clusters))}")
    return binding


def signing_command(name: str, place: str, clusters: frozenset[str]) -> str:
    """Return what makes a signature that counts for the ConfigMap at `place`, on a node of these clusters."""
    named = " ".join(f"{_CLUSTER}={pin}" for pin in sorted(clusters))
    times = f"{_SIGNED}=YYYY-MM-DDTHH:MM:SSZ {_EXPIRES}=YYYY-MM-DDTHH:MM:SSZ"
    return f'minisign -Sm {name} -t "{_BEGINNING} {place} {named} {times}"'


def _read(comment: str) -> Binding:
    """An unknown word is refused: it may be a limit that a later release knows."""
    words = comment.split()
    settings = [word.partition("=")[::2] for word in words[2:]]
    names = [name for name, _ in settings]
    pins = frozenset(value.lower() for name, value in settings if name == _CLUSTER)
    signed, expires = (_moment(dict(settings).get(name, "")) for name in (_SIGNED, _EXPIRES))
    is_known = words[:1] == [_BEGINNING] and sorted({*names}) == [_CLUSTER, _EXPIRES, _SIGNED]
    is_once = names.count(_SIGNED) == names.count(_EXPIRES) == 1
    if signed is None or expires is None or not (is_known and is_once and all(map(_PIN.fullmatch, pins))):
        raise Refused(
            "its trusted comment does not say for which ConfigMap it is, of which cluster, when it was "
            "signed and when it expires"
        )
    return Binding(words[1], pins, signed, expires)


def _moment(text: str) -> int | None:
    if not _MOMENT.fullmatch(text):
        return None
    try:
        # By fromisoformat, since strptime first learns the names of days in this machine's language.
        return int(datetime.fromisoformat(text).timestamp())
    except ValueError:
        return None


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(_WRITTEN)
