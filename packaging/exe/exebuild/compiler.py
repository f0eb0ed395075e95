"""Programs in C, compiled and linked by zig: the same source and flags, so the same bytes, on any system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCES = Path(__file__).parents[1]


class Program(NamedTuple):
    """What it is made of, by names below `SOURCES`."""

    folder: str
    sources: tuple[str, ...]
    libraries: tuple[str, ...]
    """Only such as every process has already. What is used of each stands in the folder's `imports`."""

    def files(self) -> list[Path]:
        """All that its bytes depend on, but for resources and this module."""
        own = sorted(path for path in (SOURCES / self.folder).rglob("*") if path.is_file())
        return [*own, *(path for name in self.sources if (path := SOURCES / f"{name}.c") not in own)]


LAUNCHER = Program(
    "launcher",
    (
        *(f"launcher/{name}" for name in ("start", "text", "folder", "removal", "payload", "child")),
        "common/memory",
        "common/load_config",
    ),
    ("kernel32", "ntdll"),
)  # fmt: skip
LOG_RUNNER = Program(
    "log-runner",
    (
        *(
            f"log-runner/{name}"
            for name in (
                "start", "arguments", "environment", "child", "log", "rotation", "descriptors", "text",
                "service",
            )
        ),
        "common/memory",
        "common/load_config",
    ),
    ("kernel32",),
)  # fmt: skip

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

    def program(self, program: Program, resources: bytes) -> bytes:
        """The program, without any section of its own."""
        objects = []
        for name in program.sources:
            objects.append(f"{Path(name).name}.o")
            self._run("cc", *_COMPILE, "-c", str(SOURCES / f"{name}.c"), "-o", objects[-1])
        for name in program.libraries:
            objects.append(f"{name}.lib")
            definition = SOURCES / program.folder / "imports" / f"{name}.def"
            self._run("dlltool", "-m", "i386:x86-64", "-d", str(definition), "-l", objects[-1])
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
