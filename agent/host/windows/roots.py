"""Windows' own store of root certificates, of the whole machine."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from agent.hashing import thumbprint
from agent.host.windows.failure import telling


class WindowsRoots:
    def read(self, thumbprint: str) -> bytes | None:
        from agent.host.windows.api import certificate_store

        with telling("read", f"root certificate {thumbprint}"):
            return certificate_store.read(thumbprint)

    def add(self, encoded: bytes) -> None:
        from agent.host.windows.api import certificate_store

        with telling("add", f"root certificate {thumbprint(encoded)}"):
            certificate_store.add(encoded)

    def remove(self, thumbprint: str) -> None:
        from agent.host.windows.api import certificate_store

        with telling("remove", f"root certificate {thumbprint}"):
            certificate_store.remove(thumbprint)
