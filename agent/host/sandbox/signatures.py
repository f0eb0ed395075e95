"""In a sandbox there is no Windows that could judge a signature."""

from __future__ import annotations

from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Files
from agent.host.sandbox.places import FILE_NOT_FOUND


class SandboxSignatures:
    def __init__(self, files: Files) -> None:
        self._files = files

    def signer(self, path: PureWindowsPath) -> None:
        if self._files.observe(path) is None:
            raise NotFound("verify", str(path), FILE_NOT_FOUND)
