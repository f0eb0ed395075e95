"""When the cluster's certificates are valid, as far as a document tells."""

from __future__ import annotations

import base64
from pathlib import PureWindowsPath
from typing import NamedTuple

import pytest

from agent.cli.checking import validities
from agent.release import NOT_BEFORE
from agent.spec import File, Inline, Service, Specification
from unit.fetch.authority import DAY, Issued, issue

FOLDER = PureWindowsPath(r"C:\etc\kubernetes")
NO_CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
OLD, NEW = issue("old", authority=True, days=(-30, 30)), issue("new", authority=True, days=(-1, 300))


def inline(*authorities: Issued, damage: bytes = b"") -> str:
    text = damage + b"".join(each.pem for each in authorities)
    return f"certificate-authority-data: {base64.b64encode(text).decode()}"


class Case(NamedTuple):
    name: str
    cluster: str
    spans: Issued | None
    """Whose span it is, at both ends; None where nothing can be told."""


BY_PATH = "certificate-authority: " + str(FOLDER / "ca.crt")
CASES = [
    Case("carried in it", inline(NEW), NEW),
    Case("carried beside it", BY_PATH, OLD),
    Case("a document that is none", "]", None),
    Case("no authority", "server: https://api.example.com:6443", None),
    Case("no certificate", inline(damage=NO_CERTIFICATE), None),
    Case("no base64", "certificate-authority-data: '%'", None),
    Case("a file that is not carried", r"certificate-authority: C:\elsewhere.crt", None),
]  # fmt: skip


def node(cluster: str) -> Specification:
    kubeconfig = f"clusters:\n- cluster:\n    {cluster}\n"
    return Specification.of(
        [
            File(FOLDER / "kubeconfig", Inline(kubeconfig.encode())),
            File(FOLDER / "ca.crt", Inline(OLD.pem)),
            Service("kubelet", FOLDER, (f"--bootstrap-kubeconfig={FOLDER / 'kubeconfig'}",)),
        ]
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_span_of_the_authorities_is_found(case: Case) -> None:
    first, *others = validities(node(case.cluster))
    assert (first.first, first.last) == (NOT_BEFORE, None)
    if case.spans is None:
        assert others == []
        return
    (authority,) = others
    certificate = case.spans.certificate
    assert authority.first == certificate.not_valid_before_utc.timestamp()
    assert authority.last == certificate.not_valid_after_utc.timestamp()


def test_of_several_the_whole_span_counts() -> None:
    """While one takes over from another, both are there."""
    _, authority = validities(node(inline(NEW, OLD)))
    assert authority.first == OLD.certificate.not_valid_before_utc.timestamp()
    assert authority.last == NEW.certificate.not_valid_after_utc.timestamp()
    assert authority.last - authority.first > (300 * DAY).total_seconds()
