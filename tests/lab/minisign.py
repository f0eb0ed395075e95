"""Signs as minisign does; that the real one's signatures count the same is shown by tests/judges."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_KEY_ID = b"wmcbtest"


class Signer:
    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()

    @property
    def public_key(self) -> str:
        """In one line, as `minisign -P` takes it."""
        return _base64(b"Ed" + _KEY_ID + self._key.public_key().public_bytes_raw())

    def signature(self, contents: str, comment: str) -> str:
        """What stands in the .minisig file; `comment` is the trusted one, of `minisign -t`."""
        first = self._key.sign(hashlib.blake2b(contents.encode()).digest())
        whole = self._key.sign(first + comment.encode())
        lines = (
            "untrusted comment: signature from minisign secret key",
            _base64(b"ED" + _KEY_ID + first),
            f"trusted comment: {comment}",
            _base64(whole),
        )
        return "\n".join(lines) + "\n"


def trusted_comment(place: str, *pins: str, signed: float, expires: float) -> str:
    """What binds a document to a ConfigMap and a cluster, between two moments in seconds since 1970."""
    clusters = " ".join(f"cluster={pin}" for pin in pins)
    return f"wmcb {place} {clusters} signed={written(signed)} expires={written(expires)}"


def written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
