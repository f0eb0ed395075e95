"""Who may do what, as Windows judges it."""

from agent.host.windows.api import security
from agent.host.windows.failure import telling

_HOW = 0x1 | 0x4
"""CRYPTPROTECT_UI_FORBIDDEN, CRYPTPROTECT_LOCAL_MACHINE. Not for one account: an administrator bootstraps,
and SYSTEM keeps the node."""


class WindowsAccess:
    def is_administrator(self) -> bool:
        with telling("look into", "the token of this process"):
            return security.is_administrator()

    def caller(self) -> str:
        with telling("look into", "the token of this process"):
            return security.account_of_this_process()

    def sealed(self, secret: bytes) -> bytes:
        import win32crypt  # noqa: PLC0415 - loads crypt32.dll, for secrets in documents

        with telling("seal", "a secret"):
            return win32crypt.CryptProtectData(secret, "", None, None, None, _HOW)

    def unsealed(self, sealed: bytes) -> bytes:
        import win32crypt  # noqa: PLC0415 - loads crypt32.dll, for secrets in documents

        with telling("open", "a sealed secret", "only the machine that sealed it can"):
            _, secret = win32crypt.CryptUnprotectData(sealed, None, None, None, _HOW)
            return secret
