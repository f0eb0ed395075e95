"""Whether a request for a certificate is a node's own: by who asks, for which name and which addresses."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtensionOID, NameOID

API = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
_USER = "system:node:"
_GROUP = "system:nodes"
_MAY_ENCIPHER = "key encipherment"
_USAGES = {CLIENT: "client auth", SERVING: "server auth"}
_UNREADABLE = (ValueError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
"""Who asks may write what he likes, and it is taken apart only where it is looked at."""


@dataclass(frozen=True)
class Expected:
    """What the inventory says of a node. `requestors`: patterns of who may ask for its first certificate."""

    node_name: str
    addresses: Collection[str]
    names: Collection[str]
    requestors: Collection[str]


def is_pending(request: Mapping[str, Any]) -> bool:
    return not request.get("status", {}).get("conditions")


def is_about(request: Mapping[str, Any], node_name: str) -> bool:
    """Whether it asks for a certificate of this node's, whoever asks."""
    if request["spec"]["signerName"] not in _USAGES:
        return False
    try:
        return _common_name(_asked(request)) == _USER + node_name
    except _UNREADABLE:
        return False


def fault_of(request: Mapping[str, Any], expected: Expected, *, is_ready: bool) -> str:
    """Why it must not be approved; nothing where it is the node's own.

    `is_ready`: the Node is there and well, and so has a certificate: another first one is somebody else's.
    """
    try:
        return _fault_of(request["spec"], _asked(request), expected, is_ready=is_ready)
    except _UNREADABLE:
        return "it cannot be read"


def _fault_of(
    spec: Mapping[str, Any], asked: x509.CertificateSigningRequest, expected: Expected, *, is_ready: bool
) -> str:
    if not asked.is_signature_valid:
        return "it cannot be read"
    signer = spec["signerName"]
    if _subject(asked) != [("O", _GROUP), ("CN", _USER + expected.node_name)]:
        return f"its subject is {asked.subject.rfc4514_string()}"
    usages = {*spec["usages"]} - {_MAY_ENCIPHER}
    if usages != {"digital signature", _USAGES[signer]}:
        return f"it is to be used for {', '.join(sorted(usages))}"
    if signer == CLIENT:
        return _fault_of_client(spec, asked, expected, is_ready=is_ready)
    return _fault_of_serving(spec, asked, expected)


def approved(request: Mapping[str, Any]) -> dict[str, Any]:
    """As it was read: where it has been exchanged meanwhile the cluster refuses this."""
    condition = {
        "type": "Approved",
        "status": "True",
        "reason": "MatchesInventory",
        "message": "Requestor, node name and addresses are those of Ansible's inventory.",
    }
    return {**request, "status": {**request.get("status", {}), "conditions": [condition]}}


def _fault_of_client(
    spec: Mapping[str, Any], asked: x509.CertificateSigningRequest, expected: Expected, *, is_ready: bool
) -> str:
    user = spec["username"]
    if not any(re.fullmatch(pattern, user) for pattern in expected.requestors):
        return f"{user} asks for it, who is none of wmcb_requestors"
    if list(asked.extensions):
        return "it has extensions, which a kubelet's request for a client certificate has not"
    if is_ready:
        return "the Node is Ready, and so has its certificate"
    return ""


def _fault_of_serving(
    spec: Mapping[str, Any], asked: x509.CertificateSigningRequest, expected: Expected
) -> str:
    if spec["username"] != _USER + expected.node_name or _GROUP not in spec.get("groups", ()):
        return f"{spec['username']} asks for it, who is not the node"
    for extension in asked.extensions:
        if extension.oid != ExtensionOID.SUBJECT_ALTERNATIVE_NAME:
            return f"it has the extension {extension.oid.dotted_string}"
    alternatives = _alternatives(asked)
    allowed: set[object] = {name.lower() for name in (expected.node_name, *expected.names)}
    allowed |= {_address(address) for address in expected.addresses}
    foreign = [str(each) for each in alternatives if each not in allowed]
    if foreign:
        return f"it is for {', '.join(foreign)} too, which the inventory does not give this node"
    return "" if alternatives else "it is for no name and no address"


def _address(text: str) -> object:
    """By default it is where Ansible reaches the node, which may be a name."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return text.lower()


def _asked(request: Mapping[str, Any]) -> x509.CertificateSigningRequest:
    """Raises ValueError."""
    return x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"], validate=True))


def _subject(asked: x509.CertificateSigningRequest) -> list[tuple[str, object]]:
    known = {NameOID.ORGANIZATION_NAME: "O", NameOID.COMMON_NAME: "CN"}
    return [(known.get(each.oid, each.oid.dotted_string), each.value) for each in asked.subject]


def _common_name(asked: x509.CertificateSigningRequest) -> object:
    names = asked.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return names[0].value if len(names) == 1 else None


def _alternatives(asked: x509.CertificateSigningRequest) -> list[object]:
    """Names in small letters and addresses; of another kind what tells it."""
    try:
        given = asked.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [_plain(each) for each in given]


def _plain(name: x509.GeneralName) -> object:
    if isinstance(name, x509.DNSName):
        return name.value.lower()
    return name.value if isinstance(name, x509.IPAddress) else repr(name)
