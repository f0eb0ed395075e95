"""Signs as minisign does; that we read what the real one signs is shown by tests/unit/sources/signatures."""

from __future__ import annotations

import base64
import hashlib

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
        """What stands in the .minisig file; minisign's own comment begins with `timestamp:SECONDS`."""
        first = self._key.sign(hashlib.blake2b(contents.encode()).digest())
        whole = self._key.sign(first + comment.encode())
        lines = (
            "untrusted comment: signature from minisign secret key",
            _base64(b"ED" + _KEY_ID + first),
            f"trusted comment: {comment}",
            _base64(whole),
        )
        return "\n".join(lines) + "\n"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
