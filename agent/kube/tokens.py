"""Bootstrap tokens, and what the cluster signs with them."""

from __future__ import annotations

import hmac
import json
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field

from agent.kube.failure import NotUsable
from agent.secret_fields import registers_secrets

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")


@registers_secrets
@dataclass(frozen=True, slots=True)
class BootstrapToken:
    id: str
    """Not secret."""
    secret: str = field(repr=False)

    @property
    def text(self) -> str:
        return f"{self.id}.{self.secret}"

    def vouches_for(self, content: str, signature: str) -> bool:
        """Whether the content was signed by whoever knows the secret: a detached JWS, HS256.

        It is compared whole with what the cluster's own signer writes. A signature that could be written in
        another way, by another algorithm or under another name is none.
        """
        header = json.dumps({"alg": "HS256", "kid": self.id}, separators=(",", ":")).encode()
        signed = f"{_encoded(header)}.{_encoded(content.encode('utf-8', 'surrogatepass'))}".encode()
        expected = _encoded(hmac.digest(self.secret.encode(), signed, "sha256"))
        whole = f"{_encoded(header)}..{expected}"
        return hmac.compare_digest(whole.encode(), signature.encode("utf-8", "surrogatepass"))


def parse(text: str) -> BootstrapToken:
    """Raises NotUsable, which does not quote it."""
    found = _TOKEN.fullmatch(text)
    if not found:
        raise NotUsable(
            "the bootstrap token is none: it is 6 characters, a dot and 16 characters, lower-case letters "
            "and digits alone, as 'kubeadm token create' prints it"
        )
    return BootstrapToken(found[1], found[2])


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
