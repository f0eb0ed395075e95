"""Hashes of the public keys of the authorities that a cluster may have."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from agent import x509
from agent.fetch import authorities
from agent.kube.failure import NotUsable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.x509 import Certificate

_PIN = re.compile(r"(?i:sha256):([0-9a-fA-F]{64})")
_SHOWN = 80
HOW = (
    "openssl x509 -pubkey -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform der | sha256sum, "
    "on a control-plane node"
)


class Pins:
    def __init__(self, hashes: Iterable[str]) -> None:
        """Each as kubeadm prints it: sha256:<hex>. Raises NotUsable."""
        self._hashes = frozenset(_hash(text) for text in hashes)

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def __contains__(self, certificate: Certificate) -> bool:
        return sha256(certificate.public_key).hexdigest() in self._hashes


def pin(certificate: Certificate) -> str:
    """What kubeadm prints for it."""
    return f"sha256:{sha256(certificate.public_key).hexdigest()}"


def pins_in(pem: bytes) -> frozenset[str]:
    """Return the pin of each certificate of a PEM text; none for an empty one.

    Raises agent.fetch's Failed, and ValueError, for what is no certificate.
    """
    if not pem:
        return frozenset()
    return frozenset(pin(x509.read(der)) for der in authorities.certificates_in(pem))


def _hash(text: str) -> str:
    found = _PIN.fullmatch(text)
    if not found:
        shown = ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
        raise NotUsable(
            f"the CA certificate hash {shown} is none: it is sha256: and 64 hexadecimal digits; {HOW}"
        )
    return found[1].lower()
