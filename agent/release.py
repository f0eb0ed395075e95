"""The release that this source tree is, and what a built exe was made from."""

from __future__ import annotations

import sys

RELEASE = "0.1.0"
NOT_BEFORE = 1_793_491_200
"""2026-11-01, in seconds since 1970: no clock that is right shows an earlier time to this release."""


class Build:
    """Where a program came from. The exe carries it; a source tree knows less."""

    __slots__ = ("commit", "openssl")

    def __init__(self, commit: str | None, openssl: str | None) -> None:
        self.commit = commit
        self.openssl = openssl
        """What `ssl.OPENSSL_VERSION` was at build: to import ssl takes longer than all of `wmcb version`."""


def build() -> Build:
    """What build.spec wrote down, or what can be told of a source tree."""
    facts = sys.modules.get("wmcb_built")
    if facts is not None:
        return Build(commit=facts.COMMIT, openssl=facts.OPENSSL)
    import ssl

    return Build(commit=None, openssl=ssl.OPENSSL_VERSION)


def licenses() -> str | None:
    """Of all that the exe carries; None where this is Python from source, which carries nothing."""
    try:
        import wmcb_licenses
    except ModuleNotFoundError:
        return None
    return wmcb_licenses.TEXT
