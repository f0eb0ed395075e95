"""The release that this source tree is, and what a built exe was made from."""

import os
import sys
from typing import NamedTuple

RELEASE = "0.1.0"
LICENSES_FILE = "wmcb.licenses.txt"
NOT_BEFORE = 1_793_491_200
"""2026-11-01, in seconds since 1970: no clock that is right shows an earlier time to this release."""


class Build(NamedTuple):
    """Where a program came from. The exe carries it; a source tree knows less."""

    commit: str | None
    openssl: str | None
    """What `ssl.OPENSSL_VERSION` was at build: to import ssl takes longer than all of `wmcb version`."""


def build() -> Build:
    """What build.spec wrote down, or what can be told of a source tree."""
    try:
        import wmcb_built  # noqa: PLC0415 - build.spec writes it: from source there is none
    except ModuleNotFoundError:
        import ssl  # noqa: PLC0415 - ssl, 5.4 MB of the resident service

        return Build(commit=None, openssl=ssl.OPENSSL_VERSION)
    return Build(commit=wmcb_built.COMMIT, openssl=wmcb_built.OPENSSL)


def licenses() -> str | None:
    """Of all that the exe carries; None where this is Python from source, which carries nothing."""
    text = bundled_file(LICENSES_FILE)
    return None if text is None else text.decode()


def bundled_file(name: str) -> bytes | None:
    """Return a file that build.spec put into the program's folder; None where this is Python from source."""
    folder = getattr(sys, "_MEIPASS", None)  # set by PyInstaller's loader
    if folder is None:
        return None
    with open(os.path.join(folder, name), "rb") as file:  # noqa: PTH118, PTH123 - `wmcb version` does without pathlib
        return file.read()
