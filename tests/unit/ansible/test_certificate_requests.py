"""Which requests for certificates are a node's own, by what the inventory says of it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from ansible_collections.wmcb.windows.plugins.module_utils.certificate_requests import (
    Expected,
    approved,
    fault_of,
    is_about,
    is_pending,
)
from unit.ansible.requests import CLIENT, SERVING, address, altered, dns, request_for

NAME = "system:node:win1"
BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
EXPECTED = Expected("win1", ["10.0.1.11", "fd00::11"], ["Win1.example.com"], [BOOTSTRAPPER])
NODES: tuple[str, ...] = ("system:nodes", "system:authenticated")


@dataclass(frozen=True)
class Case:
    """`fault` is a part of the reason; empty for one that is approved."""

    spec: dict[str, Any]
    user: str
    fault: str = ""
    groups: Sequence[str] = NODES
    is_ready: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def request(self) -> dict[str, Any]:
        spec = {**self.spec, "username": self.user, "groups": [*self.groups], **self.more}
        return {"metadata": {"name": "csr-1", "resourceVersion": "7"}, "spec": spec, "status": {}}


def serving(*alternatives: Any, name: str = NAME, **more: Any) -> dict[str, Any]:
    return request_for(name, signer=SERVING, alternatives=alternatives, **more)


def malformed() -> dict[str, Any]:
    names = x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"?")
    return request_for(NAME, signer=SERVING, extensions=[names])


KEY_OF_CURVES, OF_NOBODY = bytes.fromhex("06072a8648ce3d0201"), bytes.fromhex("06072a8648ce3d0277")

CASES = {
    "a node's first": Case(request_for(NAME), BOOTSTRAPPER),
    "with an RSA key": Case(
        request_for(NAME, usages=["digital signature", "key encipherment", "client auth"]), BOOTSTRAPPER
    ),
    "its serving certificate": Case(serving(dns("win1"), address("10.0.1.11")), NAME),
    "for a name in other letters, and IPv6": Case(
        serving(dns("WIN1.example.COM"), address("fd00:0:0::11")), NAME
    ),
    "somebody else asks": Case(request_for(NAME), "system:serviceaccount:default:pod", "pod asks for it"),
    "who only begins like it": Case(request_for(NAME), f"{BOOTSTRAPPER}-2", "bootstrapper-2 asks for it"),
    "a first one where the Node is well": Case(request_for(NAME), BOOTSTRAPPER, "is Ready", is_ready=True),
    "another organization": Case(
        request_for(NAME, organization="system:masters"), BOOTSTRAPPER, "its subject is"
    ),
    "to serve with": Case(
        request_for(NAME, usages=["digital signature", "client auth", "server auth"]),
        BOOTSTRAPPER,
        "to be used for",
    ),
    "a client with names": Case(request_for(NAME, alternatives=[dns("api")]), BOOTSTRAPPER, "has extensions"),
    "a serving one that the bootstrapper asks for": Case(
        serving(address("10.0.1.11")), BOOTSTRAPPER, "who is not the node"
    ),
    "a serving one that a node's namesake asks for": Case(
        serving(address("10.0.1.11")), NAME, "who is not the node", groups=["system:authenticated"]
    ),
    "a serving one that another node asks for": Case(
        serving(address("10.0.1.11")), "system:node:win2", "who is not the node"
    ),
    "for another address": Case(
        serving(dns("win1"), address("10.0.1.11"), address("10.0.1.1")), NAME, "it is for 10.0.1.1 too"
    ),
    "for another name": Case(serving(dns("kubernetes"), address("10.0.1.11")), NAME, "for kubernetes too"),
    "for nothing": Case(serving(), NAME, "no name and no address"),
    "with a key of a kind that nobody knows": Case(
        altered(request_for(NAME), KEY_OF_CURVES, OF_NOBODY), BOOTSTRAPPER, "cannot be read"
    ),
    "for names that are none": Case(
        request_for(NAME, signer=SERVING, alternatives=[x509.UniformResourceIdentifier("x:y")]),
        NAME,
        "it is for <UniformResourceIdentifier",
    ),
    "with an extension that is malformed": Case(malformed(), NAME, "cannot be read"),
    "not base64": Case(request_for(NAME), BOOTSTRAPPER, "cannot be read", more={"request": "?"}),
    "no request": Case(
        request_for(NAME),
        BOOTSTRAPPER,
        "cannot be read",
        more={"request": base64.b64encode(b"nothing").decode()},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_approved(case: Case) -> None:
    fault = fault_of(case.request, EXPECTED, is_ready=case.is_ready)
    assert (case.fault in fault) if case.fault else not fault


def test_whom_a_request_is_about() -> None:
    about = Case(request_for(NAME), BOOTSTRAPPER).request
    assert is_about(about, "win1")
    assert not is_about(about, "win10")
    assert not is_about(Case(request_for(NAME), BOOTSTRAPPER, more={"signerName": "x/y"}).request, "win1")
    assert not is_about(Case(request_for(NAME), BOOTSTRAPPER, more={"request": ""}).request, "win1")
    unnamed = altered(request_for(NAME), b"system:nodes", b"system:node\xff")
    assert not is_about(Case(unnamed, BOOTSTRAPPER).request, "win1"), "which anybody may have made"


def test_a_node_that_is_reached_by_name_may_have_that_name() -> None:
    expected = Expected("win1", ["Win1.example.com"], [], [])
    request = Case(serving(dns("win1.example.com")), NAME).request
    assert not fault_of(request, expected, is_ready=False)
    request = Case(serving(dns("win1.example.com"), address("10.0.1.11")), NAME).request
    assert "it is for 10.0.1.11 too" in fault_of(request, expected, is_ready=False)


def test_an_approval_is_of_what_was_looked_at() -> None:
    request = Case(request_for(NAME, signer=CLIENT), BOOTSTRAPPER).request
    assert is_pending(request)
    answer = approved(request)
    assert answer["metadata"] == request["metadata"]
    assert answer["spec"] == request["spec"]
    assert not is_pending(answer)
