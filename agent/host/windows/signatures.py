"""Authenticode signatures, as Windows judges them."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.hashing import new_sha256
from agent.host.port import Clock, FileKind, SigningCertificate
from agent.host.replacing import patiently
from agent.host.windows.api import files
from agent.host.windows.failure import telling
from agent.host.windows.walking import expect, opened

if TYPE_CHECKING:
    from agent.host.windows.api.trust import Signing


_SHARE = files.SHARE_READ | files.SHARE_DELETE
"""Nobody writes to what is judged."""


class WindowsSignatures:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def signer(self, path: PureWindowsPath) -> SigningCertificate:
        found = patiently(self._clock, lambda: _signing(path))
        return SigningCertificate(found.common_name, found.sha1, new_sha256(found.encoded).hexdigest())


def _signing(path: PureWindowsPath) -> Signing:
    from agent.host.windows.api.trust import signing  # noqa: PLC0415 - loads wintrust.dll and crypt32.dll

    with telling("verify", str(path)), opened(path, files.READ_DATA, share=_SHARE) as handle:
        expect(handle, FileKind.FILE)
        return signing(str(path), handle)
