"""Ignition's own parsers, as a program that answers questions (tests/lab/standins/ignition-oracle)."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab import cache, toolchains
from lab.repository import LOCKS, STANDINS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

_SOURCES = STANDINS / "ignition-oracle"
_NAME = "ignition-oracle"


def program() -> Path:
    """The program, built if it isn't there yet."""

    def build(into: Path) -> None:
        toolchains.build_go(_SOURCES, into / _NAME, goos="linux")

    return cache.built(_NAME, cache.digest(LOCKS / "lab.txt", _SOURCES, build), build) / _NAME


@dataclass(frozen=True, slots=True)
class Answer:
    accepted: tuple[bool, ...]
    """Of each document, whether Ignition takes it."""
    reasons: tuple[str, ...]
    paths: frozenset[tuple[str, str]]
    """Severity and path of what is reported; version 2 has no paths."""
    sound: bool
    """Whether what was merged is a valid configuration."""
    config: Any


class Oracle:
    """One process for any number of questions; close it, or use it in a `with`."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, major: int, documents: Sequence[bytes]) -> Answer:
        question = {"major": major, "documents": [base64.b64encode(item).decode() for item in documents]}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the oracle ended with {self._process.wait()} over {documents!r}")
        answer = json.loads(line)
        entries = [entry for entries in answer["entries"] for entry in entries or ()]
        return Answer(
            tuple(answer["accepted"]),
            (answer.get("error", ""), *(entry["message"] for entry in entries)),
            frozenset(
                (entry["kind"], entry["path"])
                for entry in entries
                # A null where an object could be puzzles the part that looks for lines and columns only.
                if "path" in entry and not entry["message"].startswith("context tree does not match")
            ),
            answer["sound"],
            answer.get("config"),
        )

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
