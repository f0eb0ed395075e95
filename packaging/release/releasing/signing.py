"""Programs and installers signed for Windows (Authenticode), where whoever builds has the means.

Either a key in a file, read by osslsigncode alone, or a command that signs by a key which lies elsewhere: in
a cloud, or on a token.
"""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

CERTIFICATE, KEY = "WMCB_SIGN_CERTIFICATE", "WMCB_SIGN_KEY"
PASSWORD_FILE = "WMCB_SIGN_PASSWORD_FILE"  # noqa: S105 - a variable's name
TIMESTAMP = "WMCB_SIGN_TIMESTAMP"
"""The address of a time-stamping authority; without one a signature ends with its certificate."""
COMMAND = "WMCB_SIGN_COMMAND"
"""A command line that signs the file whose name is put behind it, in its place."""

# From the start of the optional header (PE32+): what signing changes in a program's own bytes.
_CHECKSUM = 64
_CERTIFICATE_TABLE = 144


class SigningError(Exception):
    """Could not be signed; the text says why."""


def wanted() -> bool:
    """Whether a key or a command is named."""
    named = [variable for variable in (CERTIFICATE, KEY) if os.environ.get(variable)]
    if len(named) == 1:
        raise SigningError(f"{named[0]} is set alone; signing needs {CERTIFICATE} and {KEY}")
    if named and os.environ.get(COMMAND):
        raise SigningError(f"both {COMMAND} and {KEY} are set; one of them signs")
    return bool(named or os.environ.get(COMMAND))


def signed(program: bytes) -> bytes:
    """The program with a signature."""
    with tempfile.TemporaryDirectory(prefix="wmcb-signing-") as folder:
        file = Path(folder, "program.exe")
        file.write_bytes(program)
        sign(file)
        copy = file.read_bytes()
    if not is_signed_copy(copy, program):
        raise SigningError("what signs made something else than the same program with a signature")
    return copy


def sign(file: Path) -> None:
    """Puts a signature into a program or an installer."""
    if line := os.environ.get(COMMAND):
        # Windows' programs take a line; what is in it is theirs to read.
        by_line = f"{line} {subprocess.list2cmdline([str(file)])}"
        _run(line, by_line if os.name == "nt" else [*shlex.split(line), str(file)])
        return
    options = ["-certs", os.environ[CERTIFICATE], "-key", os.environ[KEY]]
    for option, variable in (("-readpass", PASSWORD_FILE), ("-ts", TIMESTAMP)):
        if value := os.environ.get(variable):
            options += [option, value]
    after = file.with_name(f"{file.name}.signed")
    command = ["osslsigncode", "sign", "-h", "sha256", "-n", "wmcb", *options]
    _run("osslsigncode", [*command, "-in", str(file), "-out", str(after)])
    after.replace(file)


def _run(name: str, command: str | Sequence[str]) -> None:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise SigningError(f"{name} ended with {done.returncode}: {done.stdout.strip()}")


def unsigned_programs(folder: Path) -> list[Path]:
    """Return the programs and libraries in a folder and below it that have no signature."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if _has_no_signature(path.read_bytes())]


def _has_no_signature(content: bytes) -> bool:
    return content.startswith(b"MZ") and struct.unpack_from(
        "<II", content, _optional(content) + _CERTIFICATE_TABLE
    ) == (0, 0)


def is_signed_copy(copy: bytes, program: bytes) -> bool:
    """Whether `copy` is `program` and a signature, and nothing else in it differs."""
    return len(copy) > len(program) and _without_signature(copy[: len(program)]) == _without_signature(
        program
    )


def _optional(program: bytes) -> int:
    """Return where the optional header begins."""
    return int(struct.unpack_from("<I", program, 0x3C)[0]) + 24


def _without_signature(program: bytes) -> bytes:
    image = bytearray(program)
    optional = _optional(program)
    struct.pack_into("<I", image, optional + _CHECKSUM, 0)
    struct.pack_into("<II", image, optional + _CERTIFICATE_TABLE, 0, 0)
    return bytes(image)
