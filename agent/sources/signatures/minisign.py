"""Whether the text of a ConfigMap's key was signed by the holder of a key, in minisign's format.

    minisign -Sm node.yaml -t "wmcb NAMESPACE/NAME cluster=... signed=... expires=..."
    kubectl create configmap NAME --from-file=node.yaml --from-file=node.yaml.minisig

What is signed is the file's bytes: the UTF-8 of the value of its key. minisign rather than cosign: its
signature is four lines of text that need no certificate, log or registry. Its tool is in every distribution.

The comment that says `trusted` is signed as well: `agent.sources.signatures.binding` reads it.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

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
