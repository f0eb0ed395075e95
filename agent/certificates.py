"""X.509 certificates: `cryptography` parses them, this module names and compares them.

`cryptography` and `ssl` are imported by the functions that need them: the first takes 52 ms under Wine and
keeps 11 MB, the second takes more memory than all else of a service that follows nothing.
"""

from __future__ import annotations

import binascii
import re
import warnings
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, Name


_BLOCK = re.compile("-----BEGIN ([A-Z0-9 ]+)-----((?:(?!-----BEGIN ).)*?)-----END \\1-----", re.DOTALL)
_BEGINNING = "-----BEGIN "
_CERTIFICATE = "CERTIFICATE"
_MAX_NAME = 300
"""Characters of a name that are printed: a stranger chose it."""


def load_der(der: bytes) -> Certificate:
    """Parse a certificate. Raises ValueError for what `cryptography` or OpenSSL cannot load."""
    import ssl  # noqa: PLC0415 - ssl, 5.4 MB of the resident service

    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - cryptography, 11 MB
    from cryptography.x509 import InvalidVersion, load_der_x509_certificate  # noqa: PLC0415 - cryptography, 11 MB

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
        with warnings.catch_warnings():
            # About serial numbers below zero and the like, which OpenSSL takes from old authorities.
            warnings.simplefilter("ignore")
            certificate = load_der_x509_certificate(der)
            # These are parsed when they are first asked for.
            _ = certificate.subject, certificate.issuer, certificate.public_key()
    except (ssl.SSLError, ValueError, InvalidVersion, UnsupportedAlgorithm) as fault:
        raise ValueError("no certificate") from fault
    return certificate


def load_pem(text: bytes) -> list[Certificate]:
    """Parse the certificates of a PEM text. What stands around them is skipped, as TLS libraries do.

    Raises ValueError for one that cannot be parsed, and where there is none.
    """
    from cryptography.x509 import load_pem_x509_certificates  # noqa: PLC0415 - cryptography, 11 MB

    return [load_der(der_of(each)) for each in load_pem_x509_certificates(text)]


def load_pem_strictly(text: str) -> list[Certificate]:
    """Parse a PEM text that may hold certificates alone, and comments.

    Raises ValueError, in a line that quotes nothing: what was put there by mistake may be a key.
    """
    found = _BLOCK.findall(text)
    if len(found) != text.count(_BEGINNING):
        raise ValueError("what begins there does not end, as if it were cut off")
    if any(label != _CERTIFICATE for label, _ in found):
        raise ValueError("there is something else than certificates in it")
    return [_load_block(number, block) for number, (_, block) in enumerate(found, 1)]


def _load_block(number: int, block: str) -> Certificate:
    try:
        return load_der(binascii.a2b_base64("".join(block.split()), strict_mode=True))
    except ValueError:
        raise ValueError(f"the {_ordinal(number)} of what it calls certificates is none") from None


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def der_of(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - cryptography, 11 MB

    return certificate.public_bytes(Encoding.DER)


def pem_of(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - cryptography, 11 MB

    return certificate.public_bytes(Encoding.PEM)


def pin_of(certificate: Certificate) -> str:
    """Return the hash of its public key, as kubeadm prints it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415 - cryptography, 11 MB

    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{sha256(key).hexdigest()}"


def printable_name(name: Name) -> str:
    """Return a subject or an issuer as `openssl x509 -nameopt RFC2253` prints it, fit for a console."""
    return _printable(name.rfc4514_string())[:_MAX_NAME] or "without a name"


def common_name(certificate: Certificate) -> str:
    """Return the subject's common name; empty where it has none, or several."""
    from cryptography.x509 import NameOID  # noqa: PLC0415 - cryptography, 11 MB

    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else ""


def host_names(certificate: Certificate) -> list[str]:
    """Return the DNS names and addresses that a server's certificate is for."""
    from cryptography.x509 import DNSName, ExtensionNotFound, IPAddress, SubjectAlternativeName  # noqa: PLC0415 - cryptography, 11 MB

    try:
        names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    except (ExtensionNotFound, ValueError):
        return []
    return [_printable(str(name.value)) for name in names if isinstance(name, DNSName | IPAddress)]


def is_valid_at(certificate: Certificate, moment: datetime) -> bool:
    return certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
