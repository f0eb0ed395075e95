"""Hashes of the public keys of the authorities that a cluster may have."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.certificates import load_pem, pin_of
from agent.kube.failure import NotUsable

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


_PIN = re.compile(r"(?i:sha256):([0-9a-fA-F]{64})")
_SHOWN = 80
HOW = (
    "openssl x509 -pubkey -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform der | sha256sum, "
    "on a control-plane node"
)


def given_pins(hashes: Iterable[str]) -> frozenset[str]:
    """Return them as `pin_of` does; each is given as kubeadm prints it: sha256:<hex>. Raises NotUsable."""
    return frozenset(map(_hash, hashes))


def authorities_in(pem: bytes, name: str) -> list[Certificate]:
    """Return the certificates of a kubeconfig's authorities in PEM form; none where it names none.

    `name` is what errors call the kubeconfig. Raises NotUsable, also for what TLS alone could use.
    """
    try:
        return load_pem(pem) if pem else []
    except ValueError:
        raise NotUsable(
            f"{name}: cluster.certificate-authority: the public key of a certificate there cannot be read, "
            "by which the cluster is known; put one there with an RSA, ECDSA or Ed25519 key"
        ) from None


def pins_in(pem: bytes, name: str) -> frozenset[str]:
    """Return the pin of each of these authorities. Raises NotUsable."""
    return frozenset(map(pin_of, authorities_in(pem, name)))


def _hash(text: str) -> str:
    found = _PIN.fullmatch(text)
    if not found:
        shown = ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
        raise NotUsable(
            f"the CA certificate hash {shown} is none: it is sha256: and 64 hexadecimal digits; {HOW}"
        )
    return f"sha256:{found[1].lower()}"
