"""When a build signs, and what it takes for a signed copy; tests/windows has real signatures."""

from __future__ import annotations

import struct

import pytest

from exebuild import signing

_BODY = 200  # from where on nothing is a header


def _program(*, checksum: int = 0, certificates: tuple[int, int] = (0, 0), body: bytes = b"code") -> bytes:
    image = bytearray(0x40 + 24 + _BODY)
    struct.pack_into("<I", image, 0x3C, 0x40)
    struct.pack_into("<I", image, 0x40 + 24 + 64, checksum)
    struct.pack_into("<II", image, 0x40 + 24 + 144, *certificates)
    return bytes(image) + body


PLAIN = _program()


@pytest.mark.parametrize(
    ("copy", "taken"),
    [
        (_program(checksum=7, certificates=(300, 8)) + b"table", True),
        (_program(checksum=7, certificates=(300, 8), body=b"evil") + b"table", False),
        (PLAIN, False),
        (PLAIN[:-1], False),
        (b"", False),
    ],
    ids=["signed", "other code", "not signed", "cut off", "empty"],
)
def test_a_signed_copy(copy: bytes, taken: bool) -> None:
    assert signing.is_signed_copy(copy, PLAIN) is taken


def test_it_signs_where_certificate_and_key_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (signing.CERTIFICATE, signing.KEY):
        monkeypatch.delenv(variable, raising=False)
    assert not signing.wanted()
    monkeypatch.setenv(signing.KEY, "key.pem")
    with pytest.raises(signing.SigningError, match=f"{signing.KEY} is set alone"):
        signing.wanted()
    monkeypatch.setenv(signing.CERTIFICATE, "certificate.pem")
    assert signing.wanted()
