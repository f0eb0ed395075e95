"""A certificate that Windows believes: of an authority, in its store of roots."""

from __future__ import annotations

from typing import ClassVar

from agent import hashing
from agent.records import field, frozen
from agent.spec.want import Key, Want


@frozen
class TrustedCertificate(Want):
    """For all programs of the machine that go by Windows' roots."""

    kind: ClassVar[str] = "trusted_certificate"

    encoded: bytes = field(shown=False)
    """DER."""

    @property
    def key(self) -> Key:
        return Key(self.kind, hashing.thumbprint(self.encoded))

    @property
    def remark(self) -> str:
        return "a security decision: all programs of this machine believe whom it vouches for"
