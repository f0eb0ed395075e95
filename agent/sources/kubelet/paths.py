"""A path in a flag or in the configuration, on Linux and on Windows."""

from __future__ import annotations

import re

from agent.records import frozen
from agent.sources.windows_paths import NotOnWindows, on_windows

_ON_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class UnusablePath(Exception):
    """The text says why."""

    def __init__(self, text: str, unquoted: str) -> None:
        """`unquoted` says the same without a word of the path."""
        super().__init__(text)
        self.unquoted = unquoted


@frozen
class Reference:
    """A file or folder that the kubelet is told of."""

    linux: str
    windows: str
    by: str
    """The flag, the field of the configuration, or that of a kubeconfig."""
    folder: bool = False


def path_on_windows(path: str, folder: str = "/") -> str:
    """A Linux path mapped; one that is made for Windows, or none at all, as it is. Raises UnusablePath.

    A path that does not start at / begins in `folder`.
    """
    if not path or _ON_A_DRIVE.match(path):
        return path
    try:
        return on_windows(absolute(path, folder))
    except NotOnWindows as fault:
        raise UnusablePath(str(fault), fault.unquoted) from None


def absolute(path: str, folder: str) -> str:
    """As Linux would find it from `folder`; one that is made for Windows as it is."""
    return path if path.startswith("/") or _ON_A_DRIVE.match(path) else f"{folder}/{path}"
