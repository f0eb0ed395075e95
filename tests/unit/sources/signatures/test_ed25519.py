from __future__ import annotations

import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.signatures import verifies

ORDER = 2**252 + 27742317777372353535851937790883648493


def _signed(seed: bytes, message: bytes) -> tuple[bytes, bytes]:
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed).digest())
    key = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return key, private.sign(message)


# RFC 8032, section 7.1.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_vectors_of_the_standard(key: str, message: str, signature: str) -> None:
    assert verifies(*map(bytes.fromhex, (key, message, signature)))


@given(st.binary(max_size=8), st.binary(max_size=200))
def test_what_another_library_signs(seed: bytes, message: bytes) -> None:
    key, signature = _signed(seed, message)
    assert verifies(key, message, signature)


@given(st.integers(0, 96 * 8 - 1))
def test_no_bit_of_key_or_signature_is_free(bit: int) -> None:
    key, signature = _signed(b"", b"message")
    changed = bytearray(key + signature)
    changed[bit // 8] ^= 1 << (bit % 8)
    assert not verifies(bytes(changed[:32]), b"message", bytes(changed[32:]))


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=8), st.binary(min_size=64, max_size=64))
def test_no_bytes_are_taken_that_another_library_refuses(
    key: bytes, message: bytes, signature: bytes
) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        theirs = True
    except InvalidSignature:
        theirs = False
    assert theirs or not verifies(key, message, signature)


SMALL = [
    "01" + "00" * 31,
    "00" * 32,
    "ec" + "ff" * 30 + "7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
]


@pytest.mark.parametrize("key", SMALL)
def test_a_key_that_any_message_fits_is_refused(key: str) -> None:
    """With scalar 0 and the neutral point, each of them would verify some message, or every one."""
    signature = bytes.fromhex("01" + "00" * 63)
    assert not any(verifies(bytes.fromhex(key), b"%d" % number, signature) for number in range(9))


def test_a_signature_has_no_second_form() -> None:
    key, signature = _signed(b"", b"message")
    again = int.from_bytes(signature[32:], "little") + ORDER
    assert not verifies(key, b"message", signature[:32] + again.to_bytes(32, "little"))


@pytest.mark.parametrize(("key", "signature"), [(31, 64), (33, 64), (32, 63), (32, 65), (0, 0)])
def test_another_length_is_none(key: int, signature: int) -> None:
    assert not verifies(bytes(key), b"", bytes(signature))


def test_numbers_beyond_the_field_are_no_points() -> None:
    key, signature = _signed(b"", b"message")
    beyond = (2**255 - 19).to_bytes(32, "little")
    assert not verifies(beyond, b"message", signature)
    assert not verifies(key, b"message", beyond + signature[32:])
