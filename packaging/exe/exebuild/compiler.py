"""The launcher, compiled and linked by zig: the same source and flags, so the same bytes, on any system."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SOURCES = ("start", "text", "library", "folder", "removal", "payload", "child", "interpreter")
LIBRARIES = ("kernel32", "ntdll")
"""Which every process has already. What is used of each stands in launcher/imports."""

ZIG: Sequence[str] = (sys.executable, "-m", "ziglang")

# fmt: off
_COMPILE = (
    "-target", "x86_64-windows-gnu", "-std=c11", "-O2", "-ffreestanding", "-fno-stack-protector",
    "-fno-sanitize=all", "-mno-stack-arg-probe", "-Wall", "-Wextra", "-Werror",
)
_LINK = (
    "/nologo", "/entry:start", "/subsystem:console", "/nodefaultlib", "/highentropyva",
    "/Brepro",                    # the time stamp is made from the content
    "/stack:4000000",             # what python.exe reserves: CPython's limits for recursion go by it
)
# fmt: on


class CompileError(Exception):
    """zig said no; its own words are in the text."""


class Compiler:
    """zig, working in a folder, where it also keeps what it need not compile again.

    Names are given to it relative to that folder, so that no path of this machine gets into the program.
    """

    def __init__(self, work: Path, zig: Sequence[str] = ZIG) -> None:
        self._work = work
        self._zig = zig
        caches = ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")
        self._environment = {**os.environ, **dict.fromkeys(caches, str(work / "zig-cache"))}
        work.mkdir(parents=True, exist_ok=True)

    def launcher(self, sources: Path, python_headers: Path, resources: bytes) -> bytes:
        """The program without any section of its own."""
        for name in SOURCES:
            source = str(sources / f"{name}.c")
            self._run("cc", *_COMPILE, "-I", str(python_headers), "-c", source, "-o", f"{name}.o")
        for name in LIBRARIES:
            definition = str(sources / "imports" / f"{name}.def")
            self._run("dlltool", "-m", "i386:x86-64", "-d", definition, "-l", f"{name}.lib")
        (self._work / "launcher.res").write_bytes(resources)
        objects = [*(f"{name}.o" for name in SOURCES), *(f"{name}.lib" for name in LIBRARIES)]
        self._run("lld-link", *_LINK, "/out:launcher.exe", *objects, "launcher.res")
        return (self._work / "launcher.exe").read_bytes()

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [*self._zig, *arguments],
            cwd=self._work,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            raise CompileError(f"zig {arguments[0]} failed:\n{done.stdout}")
