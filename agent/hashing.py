"""SHA-256, by OpenSSL, whose library takes longer to load than any module of ours: only when it is needed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import _Hash


def new_sha256(data: bytes = b"") -> _Hash:
    import hashlib

    return hashlib.sha256(data)
