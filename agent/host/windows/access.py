"""Who may do what, as Windows judges it."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from agent.host.windows.api import security
from agent.host.windows.failure import telling


class WindowsAccess:
    def is_administrator(self) -> bool:
        with telling("look into", "the token of this process"):
            return security.is_administrator()

    def caller(self) -> str:
        with telling("look into", "the token of this process"):
            return security.account_of_this_process()

    def sealed(self, secret: bytes) -> bytes:
        from agent.host.windows.api.data_protection import protected

        with telling("seal", "a secret"):
            return protected(secret)

    def unsealed(self, sealed: bytes) -> bytes:
        from agent.host.windows.api.data_protection import unprotected

        with telling("open", "a sealed secret", "only the machine that sealed it can"):
            return unprotected(sealed)
