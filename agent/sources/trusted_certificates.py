"""A PEM text, as the certificates that a machine is to believe."""

from __future__ import annotations

from agent import x509
from agent.spec.trusted_certificate import TrustedCertificate


def trusted(text: str) -> tuple[TrustedCertificate, ...]:
    """Each once. Raises ValueError, in a line that quotes nothing."""
    return tuple(TrustedCertificate(encoded) for encoded in dict.fromkeys(x509.in_pem(text)))
