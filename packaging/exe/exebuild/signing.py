"""Programs signed for Windows (Authenticode), where whoever builds has a key.

The key itself is read by osslsigncode alone, from the file that a variable names.
"""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from pathlib import Path

CERTIFICATE, KEY = "WMCB_SIGN_CERTIFICATE", "WMCB_SIGN_KEY"
PASSWORD_FILE = "WMCB_SIGN_PASSWORD_FILE"  # noqa: S105 - a variable's name
TIMESTAMP = "WMCB_SIGN_TIMESTAMP"
"""The address of a time-stamping authority; without one a signature ends with its certificate."""

# From the start of the optional header (PE32+): what signing changes in a program's own bytes.
_CHECKSUM = 64
_CERTIFICATE_TABLE = 144


class SigningError(Exception):
    """Could not be signed; the text says why."""


def wanted() -> bool:
    """Whether a key is named."""
    named = [variable for variable in (CERTIFICATE, KEY) if os.environ.get(variable)]
    if len(named) == 1:
        raise SigningError(f"{named[0]} is set alone; signing needs {CERTIFICATE} and {KEY}")
    return bool(named)


def signed(program: bytes) -> bytes:
    """The program with a signature."""
    options = ["-certs", os.environ[CERTIFICATE], "-key", os.environ[KEY]]
    for option, variable in (("-readpass", PASSWORD_FILE), ("-ts", TIMESTAMP)):
        if value := os.environ.get(variable):
            options += [option, value]
    with tempfile.TemporaryDirectory(prefix="wmcb-signing-") as folder:
        before, after = Path(folder, "before.exe"), Path(folder, "after.exe")
        before.write_bytes(program)
        command = ["osslsigncode", "sign", "-h", "sha256", "-n", "wmcb", *options]
        done = subprocess.run(
            [*command, "-in", str(before), "-out", str(after)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            raise SigningError(f"osslsigncode ended with {done.returncode}: {done.stdout.strip()}")
        return after.read_bytes()


def is_signed_copy(copy: bytes, program: bytes) -> bool:
    """Whether `copy` is `program` and a signature, and nothing else in it differs."""
    return len(copy) > len(program) and _without_signature(copy[: len(program)]) == _without_signature(
        program
    )


def _without_signature(program: bytes) -> bytes:
    image = bytearray(program)
    optional = int(struct.unpack_from("<I", image, 0x3C)[0]) + 24
    struct.pack_into("<I", image, optional + _CHECKSUM, 0)
    struct.pack_into("<II", image, optional + _CERTIFICATE_TABLE, 0, 0)
    return bytes(image)
