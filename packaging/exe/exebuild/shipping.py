"""From the program's folder, as PyInstaller leaves it, to what is shipped."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
from pathlib import Path

from agent.release import RELEASE
from exebuild import image, parts, payload, resources
from exebuild.compiler import LAUNCHER, LOG_RUNNER, Compiler, files_of
from releasing import signing

PROGRAM = "wmcb.exe"
LOG_PROGRAM = "wmcb-log.exe"
INTERNAL = "_internal"  # by PyInstaller's name: all that the program loads, beside it
FOLDER_ONLY = "WMCB_FOLDER_ONLY"  # set where zig cannot run, and `ship` is called elsewhere
_SIGNED_LOG_RUNNER = "WMCB_SIGNED_LOG_RUNNER"  # of the last release
_COMMIT = "WMCB_COMMIT"  # for where git cannot be asked
PARTS = "parts.json"  # in PyInstaller's work folder: what only the Python that freezes can tell


def commit_of(repository: Path) -> str:
    """Return the commit that is checked out, marked when the checkout has been changed since."""
    if commit := os.environ.get(_COMMIT):
        return commit

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(repository), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "HEAD") + ("-modified" if changed else "")


def make_launcher(commit: str, compiler: Compiler) -> bytes:
    """Return the launcher for this commit, without a payload."""
    return compiler.program(LAUNCHER, resources.build(RELEASE, commit))


def make_log_runner(compiler: Compiler) -> bytes:
    """Return wmcb-log.exe: the same for as long as its sources are; signed where there is a key."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files_of(LOG_RUNNER))).hexdigest()
    program = compiler.program(LOG_RUNNER, resources.build_for_log_runner(digest[:16]))
    before = os.environ.get(_SIGNED_LOG_RUNNER)
    if before and signing.is_signed_copy(Path(before).read_bytes(), program):
        return Path(before).read_bytes()
    return signing.signed(program) if signing.wanted() else program


def ship(work: Path, target: Path, commit: str, launcher: bytes) -> None:
    """Leave in `target`, beside the folder wmcb, the one file, its checksum, its bill and its licences."""
    from exebuild import materials  # noqa: PLC0415 - cyclonedx, which no job installs that takes but names from here

    folder = target / "wmcb"
    if signing.wanted():
        for file in signing.unsigned_programs(folder):
            signing.sign(file)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    section = payload.build(PROGRAM, files, _packed)
    shipped = image.add_section(launcher, payload.SECTION, section)
    if signing.wanted():
        shipped = signing.signed(shipped)
    carried = [parts.Part(*each) for each in json.loads((work / PARTS).read_text("utf-8"))]
    (target / parts.BILL_FILE).write_bytes(materials.bill(carried, commit, files))
    for name in (LOG_PROGRAM, parts.LICENSES_FILE):  # the next release takes the first again, as it is signed
        (target / name).write_bytes(files[f"{INTERNAL}/{name}"])
    (target / PROGRAM).write_bytes(shipped)
    checksum = f"{hashlib.sha256(shipped).hexdigest()} *{PROGRAM}\n"
    (target / f"{PROGRAM}.sha256").write_bytes(checksum.encode())


def _packed(content: bytes) -> bytes:
    block = importlib.import_module("lz4.block")  # it has no types
    packed: bytes = block.compress(content, mode="high_compression", compression=12, store_size=False)
    return packed
