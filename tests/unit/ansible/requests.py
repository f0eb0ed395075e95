"""Requests for certificates, as kubelets and others make them."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
_USAGES = {CLIENT: ["digital signature", "client auth"], SERVING: ["digital signature", "server auth"]}


def request_for(
    name: str,
    *,
    signer: str = CLIENT,
    organization: str = "system:nodes",
    alternatives: Sequence[x509.GeneralName] = (),
    extensions: Sequence[x509.ExtensionType] = (),
    usages: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The spec of one, without what the API server writes into it: who has asked."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization),
        x509.NameAttribute(NameOID.COMMON_NAME, name),
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    if alternatives:
        extensions = [x509.SubjectAlternativeName(alternatives), *extensions]
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return {
        "signerName": signer,
        "request": base64.b64encode(pem).decode(),
        "usages": [*(_USAGES[signer] if usages is None else usages)],
    }


def altered(spec: Mapping[str, Any], old: bytes, new: bytes) -> dict[str, Any]:
    """The same with other bytes in what is asked for, which no library makes."""
    der = x509.load_pem_x509_csr(base64.b64decode(spec["request"])).public_bytes(serialization.Encoding.DER)
    assert old in der
    body = base64.encodebytes(der.replace(old, new)).decode()
    pem = f"-----BEGIN CERTIFICATE REQUEST-----\n{body}-----END CERTIFICATE REQUEST-----\n"
    return {**spec, "request": base64.b64encode(pem.encode()).decode()}


def address(text: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(text))


def dns(text: str) -> x509.GeneralName:
    return x509.DNSName(text)
