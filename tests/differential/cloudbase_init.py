"""The real cloudbase-init's parsers, in a process with what it needs (packaging/locks/cloudbase-init.txt)."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import cache, toolchains
from lab.repository import LOCKS

_LOCK = LOCKS / "cloudbase-init.txt"
_PROGRAM = Path(__file__).with_name("cloudbase_init_answers.py")


class Failed(Exception):
    """What it raised, by type and text."""


def packages() -> Path:
    """The folder with cloudbase-init in it, installed if it isn't there yet."""

    def install(into: Path) -> None:
        toolchains.pip(
            "install",
            "--require-hashes",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--target",
            str(into),
            "-r",
            str(_LOCK),
        )

    return cache.built("cloudbase-init", cache.digest(_LOCK, sys.version), install)


def ask(about: str, questions: Sequence[Any]) -> list[Any]:
    """Of each question its answer, or Failed."""
    given = "".join(json.dumps({"about": about, "question": question}) + "\n" for question in questions)
    done = subprocess.run(
        [sys.executable, "-I", "-c", _START, str(packages()), str(_PROGRAM)],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [Failed(answer["error"]) if "error" in answer else answer["answer"] for answer in answers]


# Alone with its own packages: none of ours is to be seen there.
_START = (
    "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2], run_name='__main__')"
)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
