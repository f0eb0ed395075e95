"""The lab's own programs, compiled from tests/lab/standins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import cache, toolchains
from lab.repository import LOCKS, STANDINS

if TYPE_CHECKING:
    from pathlib import Path

# Where they are in the root, and how Windows programs see that.
PLACE = "/lab/programs"
ON_WINDOWS = r"Z:\lab\programs"

KUBELET = STANDINS / "kubelet"


def folder() -> Path:
    """All of them in one folder."""
    key = cache.digest(LOCKS / "lab.txt", *sorted(STANDINS.glob("*.c")), KUBELET, _compile)
    return cache.built("programs", key, _compile)


def _compile(into: Path) -> None:
    for source, output, *options in (
        ("access.c", "access.exe", "-ladvapi32", "-lntdll"),
        ("pdh.c", "pdh.dll", "-shared"),
        ("planted.c", "planted.dll", "-shared"),
        ("run.c", "run.exe", "-municode", "-ladvapi32"),
        ("scm.c", "scm.exe", "-municode", "-ladvapi32"),
    ):
        toolchains.compile_c([STANDINS / source], into / output, *options)
    preloaded = ("-shared", "-fPIC", "-ldl")
    toolchains.compile_c([STANDINS / "noroute6.c"], into / "noroute6.so", *preloaded, target=toolchains.LINUX)
    toolchains.build_go(KUBELET, into / "kubelet.exe", options=["-ldflags=-s -w"])
