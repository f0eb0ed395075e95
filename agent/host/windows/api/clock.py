"""When Windows was started (ntdll)."""

import ctypes
from ctypes import wintypes

from agent.host.windows.api.binding import coded, dll

_TIME_OF_DAY = 3


class _TimeOfDay(ctypes.Structure):
    # fmt: off
    _fields_ = (
        ("boot_time", ctypes.c_int64), ("current_time", ctypes.c_int64), ("time_zone_bias", ctypes.c_int64),
        ("time_zone", wintypes.ULONG), ("reserved", wintypes.ULONG), ("boot_time_bias", ctypes.c_uint64),
        ("sleep_time_bias", ctypes.c_uint64),
    )
    # fmt: on


# fmt: off
_query = coded(
    dll("ntdll"), "NtQuerySystemInformation", ctypes.c_int, ctypes.POINTER(_TimeOfDay), wintypes.ULONG,
    wintypes.PULONG,
)
# fmt: on


def started_at() -> int:
    """In intervals of 100 ns since 1601, exactly the same at each call.

    Now less the time that it has been up would be another each time, and hours off once the clock is set, as
    many a machine's is in its first minutes. The kernel moves its own note of the start along with the clock,
    by as much as it adds to the bias: without that it is what it noted when it started.
    """
    found = _TimeOfDay()
    _query(_TIME_OF_DAY, found, ctypes.sizeof(found), None)
    return int(found.boot_time - found.boot_time_bias)
