"""What is read of a certificate, for people."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from agent import x509
from unit.fetch.authority import issue

ISSUED = issue("name", issue("root", authority=True, unit="Größe"), names=["a.example", "*.b", "fd00::1"])
DER = ISSUED.der


def test_what_is_read() -> None:
    found = x509.read(DER)
    assert (found.subject, found.issuer) == ("CN=name, OU=test", "CN=root, OU=Größe")
    assert found.names == ("a.example", "*.b", "fd00::1")
    assert found.first == ISSUED.certificate.not_valid_before_utc
    assert found.last == ISSUED.certificate.not_valid_after_utc
    assert found.covers(datetime.now(UTC))
    assert found.subject_name != found.issuer_name
    key = ISSUED.key.public_key()
    assert found.public_key == key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def test_a_length_has_one_form() -> None:
    assert DER[:2] == b"\x30\x82"
    longer = b"\x30\x83\x00" + DER[2:]
    with pytest.raises(ValueError, match=r"^no certificate$"):
        x509.read(longer)
    with pytest.raises(ValueError, match=r"^no certificate$"):
        x509.read(b"\x30\x80" + DER[4:] + b"\0\0")


def test_nothing_comes_after_it() -> None:
    with pytest.raises(ValueError, match=r"^no certificate$"):
        x509.read(DER + DER)


def test_an_authority_is_found_by_its_name() -> None:
    root = x509.read(issue("root", authority=True, unit="Größe").der)
    assert root.subject_name == root.issuer_name == x509.read(DER).issuer_name


def test_years_after_2049_are_written_otherwise() -> None:
    assert x509.read(issue("far", days=(0, 20_000)).der).last.year > 2049


@settings(deadline=None)
@given(st.integers(0, len(DER) - 1), st.binary(max_size=4), st.integers(0, 4))
def test_a_damaged_one_is_read_or_refused(place: int, instead: bytes, taken: int) -> None:
    damaged = DER[:place] + instead + DER[place + taken :]
    try:
        found = x509.read(damaged)
    except ValueError:
        return
    assert found.subject.isprintable()
    assert all(name.isprintable() for name in found.names)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^no certificate$"):
        x509.read(data)


PEM = ISSUED.pem.decode()
OTHER = issue("other")


def test_a_text_of_several() -> None:
    text = f"# name\r\n{PEM}\n# other\n{OTHER.pem.decode()}\nthe end"
    assert x509.in_pem(text.replace("\n", "\r\n")) == [DER, OTHER.der]
    assert x509.in_pem("") == []


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
        x509.in_pem(text)
