"""A page's commands in one shell, so that what one sets holds for the next, as for a reader."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from documentation.blocks import ROOT, Command, Written

_END = "--- the end of command"
_LEFT_OUT = frozenset((".venv", "build", "dist"))
"""Of the repository: what a page makes is to be new."""


def readers_folder(folder: Path, built: Sequence[Path] = ()) -> Path:
    """The repository as a reader has it who has built no more than this, in `dist`."""
    folder.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in _LEFT_OUT:
            (folder / entry.name).symlink_to(entry)
    # As after any target of the Makefile: setting up the environment takes too long for a test.
    (folder / ".venv").mkdir()
    for entry in (ROOT / ".venv").iterdir():
        if entry.name != "ready":
            (folder / ".venv" / entry.name).symlink_to(entry)
    (folder / ".venv" / "ready").touch()
    for file in built:
        (folder / "dist").mkdir(exist_ok=True)
        shutil.copyfile(file, folder / "dist" / file.name)
    return folder


def readers_environment() -> dict[str, str]:
    """Run by make, a page's own make would take itself for a part of it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return {**own, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


def run(steps: Sequence[Command | Written], folder: Path) -> list[tuple[int, str]]:
    """Of each command its exit code, and what it printed on both streams."""
    script = folder / "build" / "page.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_text("\n".join(_lines(steps)), "utf-8")
    try:
        done = subprocess.run(
            ["sh", str(script)],
            cwd=folder,
            env=readers_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
    finally:
        _end_what_was_left(folder)
    printed, results = "", []
    for line in done.stdout.decode(errors="replace").splitlines(keepends=True):
        if line.startswith(_END):
            results.append((int(line.removeprefix(_END)), printed))
            printed = ""
        else:
            printed += line
    return results


def _end_what_was_left(folder: Path) -> None:
    """A page that does not do what it says may leave a resident service."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(word.startswith(str(folder)) for word in process.cmdline()):
                process.kill()


def _lines(steps: Sequence[Command | Written]) -> list[str]:
    lines = []
    for step in steps:
        if isinstance(step, Written):
            if not step.is_for_windows:
                end = f"the end of {step.file}"
                lines.append(f"cat > {step.file} <<'{end}'\n{step.content}{end}")
        else:
            # The exit code stays what it was for a command that shows it.
            lines.append(f"{step.text}\n_code=$?; echo; echo '{_END}' $_code; (exit $_code)")
    return lines
