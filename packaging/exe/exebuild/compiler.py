"""Programs in C, compiled and linked by zig: the same source and flags, so the same bytes, on any system."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).parents[1]
LAUNCHER, LOG_RUNNER = SOURCES / "launcher", SOURCES / "log-runner"
"""Each a folder of C; `imports` lists what is used of Windows' libraries, which every process has already."""
COMMON = SOURCES / "common"

ZIG: Sequence[str] = (sys.executable, "-m", "ziglang")

# fmt: off
_COMPILE = (
    "-target", "x86_64-windows-gnu", "-std=c11", "-O2", "-ffreestanding", "-fno-stack-protector",
    "-fno-sanitize=all", "-mno-stack-arg-probe", "-mguard=cf", "-Wall", "-Wextra", "-Werror",
)
_LINK = (
    "/nologo", "/entry:start", "/subsystem:console", "/nodefaultlib", "/highentropyva", "/guard:cf",
    "/Brepro",                    # the time stamp is made from the content
)
# fmt: on


class CompileError(Exception):
    """zig failed; its own words are in the text."""


def files_of(program: Path) -> list[Path]:
    """Return all that a program's bytes depend on, but for its resources and this module."""
    return sorted(path for folder in (program, COMMON) for path in folder.rglob("*") if path.is_file())


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

    def program(self, program: Path, resources: bytes) -> bytes:
        """Return the program of a folder, without any section of its own."""
        objects = []
        for path in files_of(program):
            if path.suffix == ".c":
                objects.append(f"{path.stem}.o")
                self._run("cc", *_COMPILE, "-c", str(path), "-o", objects[-1])
            elif path.suffix == ".def":
                objects.append(f"{path.stem}.lib")
                self._run("dlltool", "-m", "i386:x86-64", "-d", str(path), "-l", objects[-1])
        (self._work / "program.res").write_bytes(resources)
        self._run("lld-link", *_LINK, "/out:program.exe", *objects, "program.res")
        return (self._work / "program.exe").read_bytes()

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
