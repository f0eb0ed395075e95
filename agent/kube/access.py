"""Where an API server is, who vouches for it, and who asks it."""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.certificates import load_pem, pin_of
from agent.fetch import trust
from agent.fetch.failure import Failed as FetchFailed
from agent.fetch.trust import Trust
from agent.kube.failure import NotUsable
from agent.kube.key_files import TEMPORARY, KeyFiles
from agent.secret_fields import registers_secrets

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from agent.fetch.address import Headers

_NO_TOKEN = re.compile(r"[^\x21-\x7e]")


@registers_secrets
@dataclass(frozen=True, slots=True)
class Access:
    """All contents, and paths only for TLS to load a key from: made by `Kubeconfig.access`."""

    server: str
    """An https URL."""
    name: str = "the kubeconfig"
    """What errors call the document that this comes from."""
    authorities: bytes = field(default=b"", repr=False)
    """PEM; the only ones to trust. Empty for those of the system."""
    server_name: str = ""
    """That the server's certificate is to be for, where it is not the host's."""
    insecure: bool = False
    """Whoever answers is believed."""
    proxy: str = field(default="", repr=False)
    """The only way there, whatever proxies there are otherwise; empty for these."""
    token: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    """PEM, of the client, with those above it."""
    key: bytes = field(default=b"", repr=False)
    pair: tuple[Path, Path] | tuple[()] = ()
    """Where the two lie, if only administrators can exchange them: then they are loaded from there."""
    key_files: KeyFiles = field(default=TEMPORARY, repr=False, compare=False)
    """For a pair that lies nowhere else."""

    def headers(self) -> Headers:
        """Raises NotUsable."""
        if self.token:
            if _NO_TOKEN.search(self.token):
                raise NotUsable(f"{self.name}: its token has a character that no token can have")
            return (("Authorization", f"Bearer {self.token}"),)
        if self.user or self.password:
            told = b64encode(f"{self.user}:{self.password}".encode()).decode()
            return (("Authorization", f"Basic {told}"),)
        return ()

    def own_certificate(self) -> Certificate | None:
        """What the client shows of itself, for people."""
        try:
            return load_pem(self.certificate)[0]
        except ValueError:
            return None

    def trust(self) -> Trust:
        """Return who may vouch for the server, by contexts that also show who asks. Raises NotUsable."""
        if not self.authorities and not self.insecure:
            return lambda: (self._identified(trust.machine()),)
        context = self._identified(trust.unverified() if self.insecure else self._own())
        return lambda: (context,)

    def _identified(self, context: ssl.SSLContext) -> ssl.SSLContext:
        if self.certificate:
            self._identify(context)
        return context

    def _own(self) -> ssl.SSLContext:
        try:
            return trust.only((self.authorities,))
        except FetchFailed:
            raise NotUsable(f"{self.name}: its certificate authority is no certificate in PEM form") from None

    def _identify(self, context: ssl.SSLContext) -> None:
        why = "its client certificate and key"
        try:
            if self.pair:
                certificate, key = self.pair
                context.load_cert_chain(certificate, key, password=_no_password)
                return
            # A kubelet keeps the two in one file, and twice in it a certificate would be its own issuer's.
            one = self.certificate == self.key
            content = self.certificate if one else self.certificate + b"\n" + self.key
            with self.key_files.lent(content) as path:
                # Without a password to give, OpenSSL would ask for one at the console.
                context.load_cert_chain(path, password=_no_password)
        except (ssl.SSLError, ValueError):
            raise NotUsable(f"{self.name}: {why} are no pair in PEM form without a password") from None
        except OSError as fault:
            told = fault.strerror or f"error {fault.errno}"
            where = f"{fault.filename}: " if fault.filename else ""
            raise NotUsable(f"{self.name}: {why} cannot be loaded: {where}{told}") from None


def _no_password() -> str:
    raise ValueError("keys with a password are not taken")


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
