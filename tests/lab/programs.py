"""The lab's own programs, compiled from tests/lab/standins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import cache, toolchains
from lab.repository import LOCKS, STANDINS

if TYPE_CHECKING:
    from pathlib import Path


def folder() -> Path:
    """All of them in one folder; in the root it is /lab/programs."""
    sources = sorted(STANDINS.glob("*.c"))
    return cache.built("programs", cache.digest(LOCKS / "lab.txt", *sources, _compile), _compile)


def _compile(into: Path) -> None:
    toolchains.compile_c(
        [STANDINS / "noroute6.c"], into / "noroute6.so", "-shared", "-fPIC", "-ldl", target=toolchains.LINUX
    )
    toolchains.compile_c([STANDINS / "pdh.c"], into / "pdh.dll", "-shared")
