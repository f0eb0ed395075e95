"""What winreg lacks (advapi32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from ctypes import wintypes

from agent.host.windows.api.binding import coded, dll

_NAMES_AND_VALUES = 0x1 | 0x4
_WHOEVER_ASKED = 0x1000_0000
"""REG_NOTIFY_THREAD_AGNOSTIC: the thread that asks may end, or not be the one that waits."""

_delete_tree = coded(dll("advapi32"), "RegDeleteTreeW", wintypes.HANDLE, wintypes.LPCWSTR)

_notify = coded(
    dll("advapi32"),
    "RegNotifyChangeKeyValue",
    wintypes.HANDLE,
    wintypes.BOOL,
    wintypes.DWORD,
    wintypes.HANDLE,
    wintypes.BOOL,
)


def delete_tree(root: int, key: str) -> None:
    """A key and everything below it."""
    _delete_tree(root, key)


def notify(key: int, event: int) -> None:
    """Once, when something of the key has changed."""
    _notify(key, False, _NAMES_AND_VALUES | _WHOEVER_ASKED, event, True)
