"""minisign's signatures, as wmcb's resident service looks at them."""

from __future__ import annotations

import base64
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_KEY, _SIGNATURE = (b"Ed", 42), (b"ED", 74)
"""What each begins with and how long it is; a signature by the old way, of a text that is not hashed first,
begins as a key does."""
_ID = slice(2, 10)


def fault_of(text: str, signature: str, public_key: str) -> str:
    """Why it does not count; nothing where it does. The key is minisign.pub, or its last line."""
    key = _decoded(public_key.split()[-1:], *_KEY)
    if key is None:
        return "this is no public key of minisign's"
    lines = signature.splitlines()
    signed = _decoded(lines[1:2], *_SIGNATURE)
    if signed is None:
        return "it is no signature of minisign's, or one of the old kind"
    if signed[_ID] != key[_ID]:
        return "it is by another key"
    hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()
    try:
        Ed25519PublicKey.from_public_bytes(key[_ID.stop :]).verify(signed[_ID.stop :], hashed)
    except InvalidSignature:
        return "it does not fit: what is signed was changed"
    return ""


def _decoded(lines: list[str], beginning: bytes, length: int) -> bytes | None:
    try:
        data = base64.b64decode("".join(lines), validate=True)
    except ValueError:
        return None
    return data if data.startswith(beginning) and len(data) == length else None
