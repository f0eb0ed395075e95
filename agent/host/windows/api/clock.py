"""Time since the start of Windows (kernel32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes

from agent.host.windows.api.binding import dll, judged

_tick_count = judged(dll("kernel32"), "GetTickCount64", ctypes.c_uint64)


def uptime_seconds() -> float:
    milliseconds: int = _tick_count()
    return milliseconds / 1000
