"""A certificate that Windows believes: of an authority, in its store of roots."""

from dataclasses import dataclass, field

from agent import hashing
from agent.secret_fields import registers_secrets
from agent.spec.want import Key, Want


@registers_secrets
@dataclass(frozen=True, slots=True)
class TrustedCertificate(Want):
    """For all programs of the machine that go by Windows' roots."""

    kind = "trusted_certificate"

    encoded: bytes = field(repr=False)
    """DER."""

    @property
    def key(self) -> Key:
        return Key(self.kind, hashing.thumbprint(self.encoded))

    @property
    def remark(self) -> str:
        return "a security decision: all programs of this machine believe whom it vouches for"
