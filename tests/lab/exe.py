"""`python -m lab exe`: builds dist/wmcb.exe, with PyInstaller's analysis under Wine.

What zig does is done on Linux: the bytes are the same wherever it compiles. So is signing, where variables
name a key (packaging/exe/exebuild/signing.py); what is packed is signed first, so there are two builds then.
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
_FINDINGS = WORK / "build" / "findings.json"
REPRODUCED = ("wmcb.exe", "wmcb.cdx.json")
LAUNCHER, LOG_RUNNER, SIGNED = "launcher.exe", "wmcb-log.exe", "signed.exe"
# How build.spec is told what it cannot find out under Wine.
_TOLD = {"WMCB_LAUNCHER": rf"build\{LAUNCHER}", "WMCB_LOG_RUNNER": rf"build\{LOG_RUNNER}"}


def build(place: str = namespace.REPOSITORY.target) -> int:
    """Leaves dist/wmcb.exe; `place` is where the root, and so Windows, sees the checkout."""
    started = time.monotonic()
    sys.path.insert(0, str(repository.ROOT / "packaging" / "exe"))
    from exebuild import signing

    if signing.wanted():
        means.ensure("osslsigncode")
    commit = _make_programs()
    _copy(cache.folder() / _FINDINGS.name, _FINDINGS)
    code = _enter(place, commit)
    if code == 0 and signing.wanted():
        code = _sign(place, commit)
    if code == 0:
        _copy(_FINDINGS, cache.folder() / _FINDINGS.name)
        exe = repository.ROOT / "dist" / "wmcb.exe"
        cache.say(
            f"built {exe.name}, {exe.stat().st_size / 1e6:.1f} MB, in {time.monotonic() - started:.1f} s"
        )
    return code


def _copy(kept: Path, to: Path) -> None:
    """What PyInstaller found, which says itself what it was found of: a new checkout need not ask it."""
    if kept.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=to.parent, delete=False) as file:
            file.write(kept.read_bytes())
        Path(file.name).replace(to)


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
        compared = [_compare(built.parent, clone / "dist", name) for name in REPRODUCED]
    return 0 if all(compared) else 1


def _compare(dist: Path, again: Path, name: str) -> bool:
    sums = [_sha256(dist / name), _sha256(again / name)]
    same = sums[0] == sums[1]
    cache.say(f"{sums[0]} {name}: built again, {'the same' if same else f'it is {sums[1]}'}")
    return same


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=repository.ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


def _make_programs() -> str:
    """Compiles what is written in C, and says for which commit."""
    from exebuild import assembly
    from exebuild.compiler import Compiler

    zig = [str(toolchains.zig())]
    commit = assembly.commit_of(repository.ROOT)
    headers = windows_python.folder() / "include"
    launcher = assembly.make_launcher(repository.ROOT, commit, headers, Compiler(WORK / "launcher", zig))
    (WORK / LAUNCHER).write_bytes(launcher)
    (WORK / LOG_RUNNER).write_bytes(assembly.make_log_runner(Compiler(WORK / "log-runner", zig)))
    return commit


def _enter(place: str, *arguments: str) -> int:
    checkout = namespace.Mount(repository.ROOT, place, writable=True)
    return machine.enter([sys.executable, "-m", "lab.exe", place, *arguments], checkout=checkout)


def _sign(place: str, commit: str) -> int:
    """Signs the program, has it packed again, and signs that."""
    from exebuild import assembly, signing

    dist = repository.ROOT / "dist"
    (WORK / SIGNED).write_bytes(signing.signed((dist / "wmcb" / assembly.PROGRAM).read_bytes()))
    code = _enter(place, commit, rf"build\{SIGNED}")
    if code == 0:
        assembly.deliver_shipped(dist, signing.signed((dist / assembly.PROGRAM).read_bytes()))
    return code


def _build_inside(place: str, commit: str, signed: str = "") -> None:
    node = "/lab/nodes/build"
    prefixes.layer(machine.prepared_prefix(), wine.outside(node))
    told = {**_TOLD, "WMCB_COMMIT": commit, "WMCB_SIGNED_PROGRAM": signed}
    environment = {**wine.environment(f"{node}/prefix"), **told}
    analyser = ["-m", "PyInstaller", "--noconfirm", "--log-level=WARN", "build.spec"]
    wine.run([wine.LOADER, windows_python.PROGRAM, *analyser], environment, folder=place)


if __name__ == "__main__":
    _build_inside(*sys.argv[1:])
