"""What is read of a certificate, for people."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.fetch import certificates
from unit.fetch.authority import issue

ISSUED = issue("name", issue("root", authority=True, unit="Größe"), names=["a.example", "*.b", "fd00::1"])
DER = ISSUED.der


def test_what_is_read() -> None:
    found = certificates.read(DER)
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
        certificates.read(longer)
    with pytest.raises(ValueError, match=r"^no certificate$"):
        certificates.read(b"\x30\x80" + DER[4:] + b"\0\0")


def test_nothing_comes_after_it() -> None:
    with pytest.raises(ValueError, match=r"^no certificate$"):
        certificates.read(DER + DER)


def test_an_authority_is_found_by_its_name() -> None:
    root = certificates.read(issue("root", authority=True, unit="Größe").der)
    assert root.subject_name == root.issuer_name == certificates.read(DER).issuer_name


def test_years_after_2049_are_written_otherwise() -> None:
    assert certificates.read(issue("far", days=(0, 20_000)).der).last.year > 2049


@settings(deadline=None)
@given(st.integers(0, len(DER) - 1), st.binary(max_size=4), st.integers(0, 4))
def test_a_damaged_one_is_read_or_refused(place: int, instead: bytes, taken: int) -> None:
    damaged = DER[:place] + instead + DER[place + taken :]
    try:
        found = certificates.read(damaged)
    except ValueError:
        return
    assert found.subject.isprintable()
    assert all(name.isprintable() for name in found.names)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^no certificate$"):
        certificates.read(data)
