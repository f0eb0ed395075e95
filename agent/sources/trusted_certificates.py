"""A PEM text, as the certificates that a machine is to believe."""

from agent.certificates import der_of, load_pem_strictly
from agent.spec.machine import TrustedCertificate


def trusted(text: str) -> tuple[TrustedCertificate, ...]:
    """Each once. Raises ValueError, in a line that quotes nothing."""
    return tuple(map(TrustedCertificate, dict.fromkeys(map(der_of, load_pem_strictly(text)))))
