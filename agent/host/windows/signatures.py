"""Authenticode signatures, as Windows judges them."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from typing import TYPE_CHECKING

from agent.hashing import new_sha256
from agent.host.names import check_path
from agent.host.port import SigningCertificate
from agent.host.windows.failure import telling

if TYPE_CHECKING:
    from pathlib import PureWindowsPath


class WindowsSignatures:
    def signer(self, path: PureWindowsPath) -> SigningCertificate:
        check_path("verify", path)
        from agent.host.windows.api.trust import signing

        with telling("verify", str(path)):
            found = signing(str(path))
        return SigningCertificate(found.common_name, found.sha1, new_sha256(found.encoded).hexdigest())
