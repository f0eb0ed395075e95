"""Compilers from the package index, pinned by hash: C for Windows and Linux (zig), and Go.

No compiler of the machine is used, so that the same sources give the same programs everywhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import cache, steps
from lab.means import Missing
from lab.repository import LOCKS

WINDOWS = "x86_64-windows-gnu"
# The glibc of Debian 12, the oldest that a program of ours has to run on.
LINUX = "x86_64-linux-gnu.2.36"

_WAY_TO_MODULES = frozenset(
    ("GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOAUTH", "GOVCS")
)


def folder() -> Path:
    lock = LOCKS / "lab.txt"

    def install(into: Path) -> None:
        pip("install", "--require-hashes", "--no-deps", "--target", str(into), "-r", str(lock))

    return cache.built("toolchains", cache.digest(lock), install)


def go() -> Path:
    return folder() / "go" / "bin" / "go"


def zig() -> Path:
    return folder() / "ziglang" / "zig"


def compile_c(sources: Sequence[Path], output: Path, *options: str, target: str = WINDOWS) -> None:
    """Compiles C to a program, or with -shared to a library, for Windows unless another target is named."""
    command = [str(zig()), "cc", "-target", target, "-O2", "-s", "-Wall", "-Wextra", "-Werror", *options]
    run(
        [*command, "-o", str(output), *map(str, sources)],
        {"ZIG_GLOBAL_CACHE_DIR": str(cache.folder() / "zig")},
    )
    # Zig leaves debug information and import libraries beside a Windows library.
    for extra in (output.with_suffix(".pdb"), output.with_suffix(".lib")):
        extra.unlink(missing_ok=True)


def build_go(module: Path, output: Path, *, goos: str = "windows", options: Sequence[str] = ()) -> None:
    """Builds the Go command in the folder of a module, for Windows unless told otherwise."""
    run(
        [str(go()), "build", "-trimpath", *options, "-o", str(output), "."],
        {"GOOS": goos, "GOARCH": "amd64", "CGO_ENABLED": "0"},
        directory=module,
    )


def build_commands(
    module: Path, packages: Sequence[str], into: Path, *, goos: str = "linux", options: Sequence[str] = ()
) -> None:
    """Builds commands of modules that the one in the folder requires."""
    run(
        [str(go()), "build", "-trimpath", *options, "-o", f"{into}/", *packages],
        {"GOOS": goos, "GOARCH": "amd64", "CGO_ENABLED": "0"},
        directory=module,
    )


def go_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What Go runs with: caches in the lab's own, this toolchain and no other; of the user's settings only
    the way to modules, which changes nothing of what comes out.
    """
    user = {n: value for n, value in os.environ.items() if not n.startswith("GO") or n in _WAY_TO_MODULES}
    return {
        **user,
        "GOTOOLCHAIN": "local",
        "GOENV": "off",
        "GOWORK": "off",
        "GOFLAGS": "-buildvcs=false",
        "GOCACHE": str(cache.folder() / "go" / "build"),
        "GOMODCACHE": str(cache.folder() / "go" / "modules"),
        **extra,
    }


def pip(*arguments: str) -> None:
    run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", *arguments])


def run(
    command: Sequence[str], extra: Mapping[str, str] | None = None, directory: Path | None = None
) -> None:
    """Runs a step of a build; its output is shown only where it fails."""
    done = steps.run(command, environment=go_environment(extra or {}), folder=directory)
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise Missing(f"{Path(command[0]).name} ended with {done.returncode}: {' '.join(command)[:200]}")
