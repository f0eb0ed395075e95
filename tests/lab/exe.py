"""`python -m lab exe`: builds dist/wmcb.exe, with PyInstaller under Wine.

What zig does is done on Linux: the bytes are the same wherever it compiles. So are packing and signing, where
variables name a key (packaging/release/releasing/signing.py).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab import cache, machine, means, namespace, repository, toolchains, windows_python, wine
from lab import prefix as prefixes

WORK = repository.ROOT / "build"
FREEZING = WORK / "build"
"""PyInstaller's own work folder."""
REPRODUCED = ("wmcb.exe", "wmcb.cdx.json")
LAUNCHER, LOG_RUNNER = "launcher.exe", "wmcb-log.exe"


def build(place: str = namespace.REPOSITORY.target) -> int:
    """Leave dist/wmcb.exe; `place` is where the root, and so Windows, sees the checkout."""
    started = time.monotonic()
    sys.path[:0] = [str(repository.ROOT / "packaging" / name) for name in ("exe", "release")]
    from exebuild import shipping  # noqa: PLC0415 - found since the line before
    from releasing import signing  # noqa: PLC0415 - found since the line before

    if signing.wanted():
        means.ensure("osslsigncode")
    commit, launcher = _make_programs()
    checkout = namespace.Mount(repository.ROOT, place, writable=True)
    code = machine.enter([sys.executable, "-m", "lab.exe", place, commit], checkout=checkout)
    if code == 0:
        shipping.ship(FREEZING, repository.ROOT / "dist", commit, launcher)
        exe = repository.ROOT / "dist" / "wmcb.exe"
        cache.say(
            f"built {exe.name}, {exe.stat().st_size / 1e6:.1f} MB, in {time.monotonic() - started:.1f} s"
        )
    return code


def build_again() -> int:
    """Whether another clone of the commit, in another place, gives the bytes of what is in dist."""
    commit, built = _git("rev-parse", "HEAD"), repository.ROOT / "dist" / "wmcb.exe"
    if _git("status", "--porcelain", "--untracked-files=no") or not built.exists():
        raise means.Missing("there is nothing to compare with: commit what has changed, then make exe")
    with tempfile.TemporaryDirectory(prefix="wmcb-again-") as folder:
        clone = Path(folder) / "another place"
        _git("clone", "--quiet", "--no-checkout", str(repository.ROOT), str(clone))
        _git("-C", str(clone), "checkout", "--quiet", "--detach", commit)
        program = "import sys; from lab import exe; sys.exit(exe.build('/lab/elsewhere'))"
        environment = {**os.environ, "PYTHONPATH": str(clone / "tests")}
        done = subprocess.run([sys.executable, "-c", program], cwd=clone, env=environment, check=False)
        if done.returncode != 0:
            return done.returncode
        files = sorted(path for path in built.parent.joinpath("wmcb").rglob("*") if path.is_file())
        names = [*REPRODUCED, *(str(path.relative_to(built.parent)) for path in files)]
        compared = [_compare(built.parent, clone / "dist", name) for name in names]
    return 0 if all(compared) else 1


def _compare(dist: Path, again: Path, name: str) -> bool:
    sums = [_sha256(dist / name), _sha256(again / name)]
    same = sums[0] == sums[1]
    if not same or name in REPRODUCED:
        cache.say(f"{sums[0]} {name}: built again, {'the same' if same else f'it is {sums[1]}'}")
    return same


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=repository.ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


def _make_programs() -> tuple[str, bytes]:
    """Compile what is written in C; return the commit, and the launcher for it."""
    from exebuild import shipping  # noqa: PLC0415 - found since `build`
    from exebuild.compiler import Compiler  # noqa: PLC0415 - found since `build`

    zig = [str(toolchains.zig())]
    commit = shipping.commit_of(repository.ROOT)
    launcher = shipping.make_launcher(commit, Compiler(WORK / "launcher", zig))
    (WORK / LAUNCHER).write_bytes(launcher)
    log_runner = shipping.make_log_runner(Compiler(WORK / "log-runner", zig))
    FREEZING.mkdir(exist_ok=True)
    for file in (WORK / LOG_RUNNER, FREEZING / LOG_RUNNER):
        file.write_bytes(log_runner)
    return commit, launcher


def _build_inside(place: str, commit: str) -> None:
    node = "/lab/nodes/build"
    prefixes.layer(machine.prepared_prefix(), wine.outside(node))
    told = {"WMCB_FOLDER_ONLY": "1", "WMCB_COMMIT": commit, "PYTHONHASHSEED": "0"}
    environment = {**wine.environment(f"{node}/prefix"), **told}
    freezing = ["-m", "PyInstaller", "--noconfirm", "--log-level=WARN", "build.spec"]
    wine.run([wine.LOADER, windows_python.PROGRAM, *freezing], environment, folder=place)


if __name__ == "__main__":
    _build_inside(*sys.argv[1:])
