"""Which certificates are loaded, and what of them is compared and printed."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent import certificates
from unit.fetch.authority import issue

ISSUED = issue("name", issue("root", authority=True, unit="Größe"), names=["a.example", "*.b", "fd00::1"])
DER = ISSUED.der


def test_what_is_read() -> None:
    found = certificates.load_der(DER)
    assert certificates.printable_name(found.subject) == "CN=name,OU=test"
    assert certificates.printable_name(found.issuer) == "CN=root,OU=Größe"
    assert certificates.common_name(found) == "name"
    assert certificates.host_names(found) == ["a.example", "*.b", "fd00::1"]
    assert certificates.host_names(certificates.load_der(issue("root", authority=True).der)) == []
    assert certificates.is_valid_at(found, datetime.now(UTC))
    assert certificates.der_of(found) == DER
    assert certificates.pem_of(found) == ISSUED.pem


def test_the_pin_is_kubeadms() -> None:
    key = ISSUED.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert certificates.pin_of(ISSUED.certificate) == f"sha256:{sha256(key).hexdigest()}"


HOSTILE = "a\x1b[2J\nb"


def test_a_strangers_name_is_fit_for_a_console() -> None:
    found = certificates.load_der(issue(HOSTILE, names=["a.example"], unit="u" * 64).der)
    assert certificates.printable_name(found.subject) == f"CN=a?[2J?b,OU={'u' * 64}"


LENGTHS = {
    "in more bytes than it needs": b"\x30\x83\x00" + DER[2:],
    "none": b"\x30\x80" + DER[4:] + b"\0\0",
    "of less than there is": DER + DER,
}


@pytest.mark.parametrize("der", LENGTHS.values(), ids=LENGTHS)
def test_a_length_has_one_form(der: bytes) -> None:
    assert DER[:2] == b"\x30\x82"
    with pytest.raises(ValueError, match=r"^no certificate$"):
        certificates.load_der(der)


@settings(deadline=None)
@given(st.integers(0, len(DER) - 1), st.binary(max_size=4), st.integers(0, 4))
@example(0, b"\x10", 1)
def test_a_damaged_one_is_loaded_as_by_openssl_or_refused(place: int, instead: bytes, taken: int) -> None:
    damaged = DER[:place] + instead + DER[place + taken :]
    try:
        found = certificates.load_der(damaged)
    except ValueError as fault:
        assert str(fault) == "no certificate"
        return
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=damaged)
    assert certificates.printable_name(found.subject).isprintable()
    assert all(name.isprintable() for name in certificates.host_names(found))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^no certificate$"):
        certificates.load_der(data)


PEM = ISSUED.pem.decode()
OTHER = issue("other")


def test_a_text_of_several() -> None:
    text = f"# name\r\n{PEM}\n# other\n{OTHER.pem.decode()}\nthe end"
    lines_of_windows = text.replace("\n", "\r\n")
    assert certificates.load_pem_strictly(lines_of_windows) == [ISSUED.certificate, OTHER.certificate]
    assert certificates.load_pem(lines_of_windows.encode()) == [ISSUED.certificate, OTHER.certificate]
    assert certificates.load_pem_strictly("") == []
    with pytest.raises(ValueError, match=r"PEM"):
        certificates.load_pem(b"")


TEXTS = {
    "cut off": (PEM + PEM[:-20], "what begins there does not end, as if it were cut off"),
    "one within another": (PEM[:-20] + PEM, "what begins there does not end, as if it were cut off"),
    "with its key": (
        PEM + "-----BEGIN PRIVATE KEY-----\nc3dvcmRmaXNo\n-----END PRIVATE KEY-----\n",
        "there is something else than certificates in it",
    ),
    "no base64": (PEM + PEM.replace("MII", "M-I"), "the second of what it calls certificates is none"),
    "something else": (
        "-----BEGIN CERTIFICATE-----\nc3dvcmRmaXNo\n-----END CERTIFICATE-----\n",
        "the first of what it calls certificates is none",
    ),
}


@pytest.mark.parametrize(("text", "why"), TEXTS.values(), ids=TEXTS)
def test_a_text_that_is_not_to_be_believed(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=rf"^{why}$"):
        certificates.load_pem_strictly(text)
