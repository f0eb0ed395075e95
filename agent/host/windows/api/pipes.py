"""Named pipes (kernel32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from ctypes import wintypes

from agent.host.windows.api.binding import dll, succeeding

_MILLISECONDS = 1
"""The least: 0 is whatever the pipe's owner chose."""

_wait = succeeding(dll("kernel32"), "WaitNamedPipeW", wintypes.BOOL, wintypes.LPCWSTR, wintypes.DWORD)


def wait_until_free(name: str) -> None:
    """Until the pipe would take a client, but not for long. Its owner doesn't notice."""
    _wait(f"\\\\.\\pipe\\{name}", _MILLISECONDS)
