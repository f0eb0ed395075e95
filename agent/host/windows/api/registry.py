"""What winreg lacks (advapi32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from ctypes import wintypes

from agent.host.windows.api.binding import coded, dll

_delete_tree = coded(dll("advapi32"), "RegDeleteTreeW", wintypes.HANDLE, wintypes.LPCWSTR)


def delete_tree(root: int, key: str) -> None:
    """A key and everything below it."""
    _delete_tree(root, key)
