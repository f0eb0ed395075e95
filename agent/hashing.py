"""Hashes, by OpenSSL, whose library takes longer to load than any module of ours: only when one is needed."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hashlib import _Hash


def new_sha256(data: bytes = b"") -> _Hash:
    import hashlib  # noqa: PLC0415 - OpenSSL's hashes, 3.9 MB

    return hashlib.sha256(data)


def thumbprint(certificate: bytes) -> str:
    """By which Windows knows a certificate. SHA-1: it finds one, and proves nothing."""
    import hashlib  # noqa: PLC0415 - OpenSSL's hashes, 3.9 MB

    return hashlib.sha1(certificate, usedforsecurity=False).hexdigest().upper()
