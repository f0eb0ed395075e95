"""How much room there is on the disks of the lab's machines, which are all in one memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from lab import wine

_MEMORY = "/lab"


@contextmanager
def room(size: int) -> Iterator[None]:
    """So many bytes for all that is written meanwhile, and no more."""
    there = os.statvfs(wine.outside(_MEMORY))
    used = (there.f_blocks - there.f_bfree) * there.f_frsize
    _limit(used + size)
    try:
        yield
    finally:
        _limit(there.f_blocks * there.f_frsize)


def _limit(size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(wine.outside(_MEMORY))], check=True)
