"""Whether a document is by whom it has to be, and for the place where it is found.

The text of a ConfigMap's key is signed in minisign's format:

    minisign -Sm node.yaml -t "wmcb NAMESPACE/NAME cluster=... signed=... expires=..."
    kubectl create configmap NAME --from-file=node.yaml --from-file=node.yaml.minisig

What is signed is the file's bytes: the UTF-8 of the value of its key. minisign rather than cosign: its
signature is four lines of text that need no certificate, log or registry. Its tool is in every distribution.

A signature alone says who signed; the same bytes would count in another cluster, under another name, and for
ever. So the signer writes into the trusted comment, which is signed as well, for which ConfigMap of which
cluster the document is, since when and until when:

    wmcb NAMESPACE/NAME cluster=sha256:HEX signed=2026-11-20T09:00:00Z expires=2027-01-01T00:00:00Z

The cluster is the hash of its authority's public key, as kubeadm prints it for joins, and as each node can
compute it from its own kubeconfig. During a rotation of the authority there may be several, `cluster=` before
each: one has to fit.
"""

import base64
import binascii
import enum
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from agent.redaction import in_quotes

SUFFIX = ".minisig"
"""Behind the name of the key that is signed."""

_LONGEST = 4096
_ALGORITHM = b"Ed"
_PREHASHED = b"ED"
_FIELD = 2**255 - 19
_ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER = frozenset({0, 1, _FIELD - 1, _ORDER_8, _FIELD - _ORDER_8})
"""The y coordinates of the eight points of small order."""
_UNTRUSTED = "untrusted comment:"
_TRUSTED = "trusted comment: "


class Refused(Exception):
    """It is not signed, or not by that key. The text says which, and what to do."""


class NoKey(ValueError):
    """The text is no public key of minisign's."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    key_id: bytes
    point: bytes

    def __str__(self) -> str:
        """As minisign shows it."""
        return self.key_id[::-1].hex().upper()


@dataclass(frozen=True, slots=True)
class Signed:
    contents: bytes
    """What was signed, and nothing else is to be read."""
    comment: str
    """Signed, too."""


def public_key(text: str) -> PublicKey:
    """Of a key file, or of its last line alone, as `minisign -P` takes it. Raises NoKey."""
    lines = text.strip().splitlines()
    data = _decoded(lines[-1]) if 0 < len(lines) <= 2 and len(text) <= _LONGEST else b""
    if len(data) != 42 or data[:2] != _ALGORITHM:
        raise NoKey("it is no public key of minisign's; give the file that minisign -G made, minisign.pub")
    return PublicKey(data[2:10], data[10:])


def verified(data: Mapping[str, str], name: str, key: PublicKey) -> Signed:
    """The text of the key `name` of a ConfigMap's data. Raises Refused."""
    if name not in data:
        raise Refused(f"there is no key {name} in it")
    if f"{name}{SUFFIX}" not in data:
        raise Refused(f"it is not signed: there is no key {name}{SUFFIX} in it, by key {key}")
    # What is no character was none in the file either, so no signature fits.
    contents = data[name].encode("utf-8", "surrogatepass")
    return Signed(contents, _comment(contents, data[f"{name}{SUFFIX}"], key))


def _comment(contents: bytes, signature: str, key: PublicKey) -> str:
    lines = signature.splitlines()
    if len(signature) > _LONGEST or len(lines) != 4 or not lines[0].startswith(_UNTRUSTED):
        _refuse("it is no signature of minisign's")
    if not lines[2].startswith(_TRUSTED):
        _refuse("it is no signature of minisign's")
    first, whole = _decoded(lines[1]), _decoded(lines[3])
    if len(first) != 74 or len(whole) != 64:
        _refuse("it is no signature of minisign's")
    if first[:2] != _PREHASHED:
        _refuse("it is of the old kind; sign it without -l")
    if first[2:10] != key.key_id:
        other = PublicKey(first[2:10], b"")
        _refuse(f"it is by key {other}, and key {key} is the one that is trusted here")
    comment = lines[2].removeprefix(_TRUSTED)
    if not verifies(key.point, hashlib.blake2b(contents).digest(), first[10:]):
        _refuse("it does not fit: what is signed was changed")
    if not verifies(key.point, first[10:] + comment.encode("utf-8", "surrogatepass"), whole):
        _refuse("it does not fit: its trusted comment was changed")
    return comment


def verifies(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether an Ed25519 signature (RFC 8032) is one of `message` by `public_key`.

    OpenSSL accepts public keys of small order, of which one signature fits many messages, and numbers beyond
    the field: both are refused before it is asked. All else it checks as strictly as the standard has it.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - cryptography, 11 MB
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - cryptography, 11 MB

    y = int.from_bytes(public_key, "little") % 2**255
    if y >= _FIELD or y in _SMALL_ORDER:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _decoded(line: str) -> bytes:
    try:
        return base64.b64decode(line.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _refuse(why: str) -> NoReturn:
    raise Refused(f"its signature is refused: {why}")


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
