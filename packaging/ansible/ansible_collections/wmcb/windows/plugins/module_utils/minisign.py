"""minisign's signatures, as wmcb's resident service looks at them."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection
from datetime import datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_KEY, _SIGNATURE, _OF_COMMENT = (b"Ed", 42), (b"ED", 74), (b"", 64)
"""What each begins with and how long it is; a signature by the old way, of a text that is not hashed first,
begins as a key does."""
_ID = slice(2, 10)
_COMMENT = "trusted comment: "
_BOUND = re.compile(
    r"wmcb\s+(?P<place>\S+)(?P<settings>(\s+(cluster=sha256:[0-9a-fA-F]{64}|(signed|expires)=\S+))+)\s*"
)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_TOLERANCE_SECONDS = 300


def fault_of(text: str, signature: str, public_key: str) -> str:
    """Why it does not count; nothing where it does. The key is minisign.pub, or its last line."""
    key = _decoded(public_key.split()[-1:], *_KEY)
    if key is None:
        return "this is no public key of minisign's"
    lines = signature.splitlines()
    signed, whole = _decoded(lines[1:2], *_SIGNATURE), _decoded(lines[3:4], *_OF_COMMENT)
    if signed is None or whole is None or not lines[2].startswith(_COMMENT):
        return "it is no signature of minisign's, or one of the old kind"
    if signed[_ID] != key[_ID]:
        return "it is by another key"
    hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()
    holder, own = Ed25519PublicKey.from_public_bytes(key[_ID.stop :]), signed[_ID.stop :]
    if not _fits(holder, own, hashed):
        return "it does not fit: what is signed was changed"
    comment = _comment_of(signature).encode("utf-8", "surrogatepass")
    return "" if _fits(holder, whole, own + comment) else "it does not fit: its trusted comment was changed"


def misplaced(signature: str, place: str, pins: Collection[str], now: float) -> str:
    """Why a signature that counts is for another ConfigMap, cluster or time; nothing where it is not."""
    found = _BOUND.fullmatch(_comment_of(signature))
    settings = [word.split("=") for word in found["settings"].split()] if found else []
    clusters = {value.lower() for name, value in settings if name == "cluster"}
    signed, expires = (
        [_seconds(value) for name, value in settings if name == wanted] for wanted in ("signed", "expires")
    )
    if found is None or not clusters or len(signed) != 1 or len(expires) != 1 or None in (*signed, *expires):
        return (
            "its trusted comment does not say for which ConfigMap and cluster it is, signed when, until when"
        )
    if found["place"] != place:
        return f"it is for ConfigMap {found['place']}"
    if clusters.isdisjoint(pins):
        return f"it is for another cluster, {' or '.join(sorted(clusters))}"
    if now >= (expires[0] or 0):
        return "it has expired by the clock of this machine: sign it again with a later expires="
    if (signed[0] or 0) > now + _TOLERANCE_SECONDS:
        return "it was signed later than this machine's clock says: one of the two clocks is wrong"
    return ""


def _comment_of(signature: str) -> str:
    return signature.splitlines()[2].removeprefix(_COMMENT)


def _seconds(moment: str) -> float | None:
    try:
        return datetime.fromisoformat(moment).timestamp() if _MOMENT.fullmatch(moment) else None
    except ValueError:
        return None


def _fits(holder: Ed25519PublicKey, signature: bytes, signed: bytes) -> bool:
    try:
        holder.verify(signature, signed)
    except InvalidSignature:
        return False
    return True


def _decoded(lines: list[str], beginning: bytes, length: int) -> bytes | None:
    try:
        data = base64.b64decode("".join(lines), validate=True)
    except ValueError:
        return None
    return data if data.startswith(beginning) and len(data) == length else None
