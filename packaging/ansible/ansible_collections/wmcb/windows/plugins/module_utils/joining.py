"""A kubeadm cluster's invitation for one node: a token made for it, and removed after use."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import string
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ansible_collections.wmcb.windows.plugins.module_utils.cluster import Cluster, Unanswered

_SYSTEM = "kube-system"
# Longer than any join takes, in case that nobody is left to remove it.
_VALID = timedelta(hours=1)
# As those of `kubeadm token create`: they may ask for a node's certificate.
_GROUPS = "system:bootstrappers:kubeadm:default-node-token"
_LETTERS = string.ascii_lowercase + string.digits
_SECONDS = 30.0
_PAUSE = 0.5


@dataclass(frozen=True)
class Invitation:
    """`configuration` is kubeadm's JoinConfiguration with the token; `requestor` is who comes with that."""

    configuration: bytes
    requestor: str


@contextmanager
def invitation(cluster: Cluster, node_name: str, registration: Mapping[str, Any]) -> Iterator[Invitation]:
    """`registration` is more of the configuration's nodeRegistration."""
    token_id, secret = _word(6), _word(16)
    name = f"bootstrap-token-{token_id}"
    cluster.create(_secret(name, token_id, secret, node_name))
    try:
        discovery = {"token": f"{token_id}.{secret}", **_when_signed(cluster, token_id)}
        document = {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "JoinConfiguration",
            "discovery": {"bootstrapToken": discovery},
            "nodeRegistration": {**registration, "name": node_name},
        }
        yield Invitation(json.dumps(document).encode(), f"system:bootstrap:{token_id}")
    finally:
        cluster.delete("secret", name, _SYSTEM)


def _word(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def _secret(name: str, token_id: str, secret: str, node_name: str) -> dict[str, Any]:
    end = datetime.now(timezone.utc) + _VALID  # noqa: UP017 - Ansible runs on older Pythons, too
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": _SYSTEM},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "description": f"For the Windows node {node_name} alone, while Ansible has it join.",
            "token-id": token_id,
            "token-secret": secret,
            "expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": _GROUPS,
        },
    }


def _when_signed(cluster: Cluster, token_id: str) -> dict[str, Any]:
    """Where the cluster is and by whom it is known, as soon as it is signed with the token."""
    end = time.monotonic() + _SECONDS
    while True:
        found = cluster.find("configmap", "cluster-info", "kube-public")
        if found is None:
            raise Unanswered(
                "there is no ConfigMap cluster-info in kube-public: kubeadm did not make this cluster"
            )
        if f"jws-kubeconfig-{token_id}" in found["data"]:
            return _discovery(found["data"]["kubeconfig"])
        if time.monotonic() > end:
            raise Unanswered(
                f"cluster-info was not signed with the new token {token_id} for {_SECONDS:.0f} s"
            )
        time.sleep(_PAUSE)


def _discovery(kubeconfig: str) -> dict[str, Any]:
    cluster = yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]
    return {
        "apiServerEndpoint": re.sub("^https://", "", cluster["server"]),
        "caCertHashes": pins_of(cluster["certificate-authority-data"]),
    }


def pins_of(authorities: str) -> list[str]:
    """Of certificates, in base64 of PEM, as a kubeconfig has them."""
    return [_pin(each) for each in x509.load_pem_x509_certificates(base64.b64decode(authorities))]


def _pin(authority: x509.Certificate) -> str:
    key = authority.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(key).hexdigest()}"
