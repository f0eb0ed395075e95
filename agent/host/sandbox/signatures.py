"""In a sandbox there is no Windows that could judge a signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.host.errors import NotFound
from agent.host.sandbox.places import FILE_NOT_FOUND

if TYPE_CHECKING:
    from pathlib import PureWindowsPath

    from agent.host.port import Files


class SandboxSignatures:
    def __init__(self, files: Files) -> None:
        self._files = files

    def signer(self, path: PureWindowsPath) -> None:
        if self._files.observe(path) is None:
            raise NotFound("verify", str(path), FILE_NOT_FOUND)
