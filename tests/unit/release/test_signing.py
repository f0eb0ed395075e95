"""When a build signs, and what it takes for a signed copy; tests/windows has real signatures."""

from __future__ import annotations

import shlex
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from releasing import signing

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


@pytest.fixture(autouse=True)
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever means of signing this machine has."""
    for variable in (signing.CERTIFICATE, signing.KEY, signing.COMMAND):
        monkeypatch.delenv(variable, raising=False)


def test_it_signs_where_certificate_and_key_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not signing.wanted()
    monkeypatch.setenv(signing.KEY, "key.pem")
    with pytest.raises(signing.SigningError, match=f"{signing.KEY} is set alone"):
        signing.wanted()
    monkeypatch.setenv(signing.CERTIFICATE, "certificate.pem")
    assert signing.wanted()
    monkeypatch.setenv(signing.COMMAND, "signtool sign")
    with pytest.raises(signing.SigningError, match=f"both {signing.COMMAND} and {signing.KEY}"):
        signing.wanted()


_SIGNS = f"""
import struct, sys
image = bytearray(open(sys.argv[-1], "rb").read())
struct.pack_into("<II", image, {0x40 + 24 + 144}, 300, 8)
image[-1] ^= "other" in sys.argv
open(sys.argv[-1], "wb").write(image + b"table")
sys.exit("no key there" if "refused" in sys.argv else 0)
"""


def _command(script: Path, *words: str) -> str:
    script.write_text(_SIGNS)
    line = [sys.executable, str(script), *words]
    return subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line)


def test_a_command_signs_in_the_place_of_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(signing.COMMAND, _command(tmp_path / "a provider's.py"))
    assert signing.wanted()
    assert signing.is_signed_copy(signing.signed(PLAIN), PLAIN)


@pytest.mark.parametrize(
    ("word", "told"),
    [("refused", "ended with 1: no key there"), ("other", "something else than the same program")],
)
def test_a_command_that_does_not_sign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, word: str, told: str
) -> None:
    monkeypatch.setenv(signing.COMMAND, _command(tmp_path / "signs.py", word))
    with pytest.raises(signing.SigningError, match=told):
        signing.signed(PLAIN)
