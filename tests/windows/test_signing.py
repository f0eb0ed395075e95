"""The exe with a signature: of a throw-away key, by the code that a release is signed with."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from exebuild import signing
from lab import means
from windows.exe import INSTALLED, PROGRAM, lay_out

if TYPE_CHECKING:
    from pathlib import Path

    from lab.node import Node


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Named, with its key, by the variables that signing goes by."""
    means.ensure("openssl", "osslsigncode")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=somebody",
    ]
    usage = ["-addext", "extendedKeyUsage=codeSigning"]
    subprocess.run(
        [*command, *usage, "-keyout", str(key), "-out", str(certificate)], capture_output=True, check=True
    )
    monkeypatch.setenv(signing.CERTIFICATE, str(certificate))
    monkeypatch.setenv(signing.KEY, str(key))
    return certificate


def verified(file: Path, certificate: Path) -> bool:
    command = ["osslsigncode", "verify", "-CAfile", str(certificate), "-in", str(file)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_signed_program_is_the_same_and_runs(node: Node, certificate: Path, tmp_path: Path) -> None:
    assert signing.wanted()
    program = PROGRAM.read_bytes()
    signed = signing.signed(program)
    assert signing.is_signed_copy(signed, program)

    file = tmp_path / "signed.exe"
    file.write_bytes(signed)
    assert verified(file, certificate)
    lay_out(node)
    node.copy_in(file, INSTALLED)
    result = node.run(INSTALLED, "version")
    assert (result.code, result.err) == (0, "")


def test_a_program_changed_after_signing_is_noticed(certificate: Path, tmp_path: Path) -> None:
    program = PROGRAM.read_bytes()
    changed = bytearray(signing.signed(program))
    changed[len(program) // 2] ^= 1
    assert not signing.is_signed_copy(bytes(changed), program)
    file = tmp_path / "changed.exe"
    file.write_bytes(changed)
    assert not verified(file, certificate)


@pytest.mark.usefixtures("certificate")
def test_a_key_that_is_none_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(signing.KEY, "/nothing/here.pem")
    with pytest.raises(signing.SigningError, match="osslsigncode ended with"):
        signing.signed(PROGRAM.read_bytes())
